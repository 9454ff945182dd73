"""The approximate index never hides a row: what it leaves short is asked exactly, and small sets never ask it."""

import asyncio
from uuid import uuid4

import numpy as np
import pytest

from app.assembly.installation import ALEMBIC, migrate_database
from app.domain.errors import MunimentError
from app.domain.temporal import AsOf
from app.providers.embedder.hashing import HashingEmbedder
from app.settings import Settings
from app.storage import search_vector
from app.storage.engine import Database, Plans
from app.storage.migration import migrate
from app.storage.scope import Scope
from app.storage.vector_index import MOST_DIMENSIONS, ensure_index, index_name
from tests.benchmarks.recall import BORN, NOW, Recall, recalls
from tests.fixtures.explain import Explained
from tests.fixtures.owner import connection, database_beside

MODEL = "three"
NEAR, OTHERS = (1.0, 0.0, 0.0), 12_000
VECTORS = """
    INSERT INTO embeddings (organisation_id, live, chunk_id, model, space_id, source_id, vector, system_from)
    SELECT $1::uuid, true, gen_random_uuid(), $2, $1::uuid, $1::uuid, {vector}::halfvec, $3
    FROM generate_series(1, $4) AS n
"""


class Crowd:
    """One organisation with many rows near the question, one with 200 and one with 2,500 far from it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.crowd, self.small, self.large = uuid4(), uuid4(), uuid4()

    def scope(self, organisation):
        return Scope(organisation, AsOf(NOW, NOW), True)

    def wanted(self, organisation, limit):
        query = np.asarray(NEAR, dtype=np.float32)
        return {"sources": [organisation], "query": query, "model": MODEL, "limit": limit}

    async def by_index(self, organisation, limit):
        async with self.database.snapshot(organisation) as session:
            scope = self.scope(organisation)
            await search_vector.prepare(session, scope, sources=[organisation], model=MODEL, dimensions=3, limit=limit)
            return await search_vector.nearest(session, scope, **self.wanted(organisation, limit))

    async def exactly(self, organisation, limit):
        async with self.database.snapshot(organisation) as session:
            return await search_vector.search(session, self.scope(organisation), **self.wanted(organisation, limit))

    async def planned(self, organisation, limit):
        async with self.database.snapshot(organisation) as session:
            return await search_vector.planned(
                session, self.scope(organisation), **self.wanted(organisation, limit), approximate=True
            )


@pytest.fixture(scope="module")
async def crowd(owner_url):
    async with database_beside(owner_url) as beside, connection(beside.owner_url) as owner:
        await asyncio.to_thread(migrate, beside.owner_url, ALEMBIC)
        database = Database.connect(beside.url, pool_size=2)
        made = Crowd(database)
        near = "('[1,' || (n % 997) * 1e-4 || ',' || (n % 89) * 1e-4 || ']')"
        far = "('[' || (n % 97) * 1e-3 || ',1,' || n * 1e-4 || ']')"
        await owner.execute(VECTORS.format(vector=near), made.crowd, MODEL, BORN, OTHERS)
        await owner.execute(VECTORS.format(vector=far), made.small, MODEL, BORN, 200)
        await owner.execute(VECTORS.format(vector=far), made.large, MODEL, BORN, 2_500)
        await ensure_index(beside.owner_url, MODEL, 3)
        yield made
        await database.close()


@pytest.mark.parametrize("size", ["small", "large"])
async def test_nearer_rows_of_others_hide_nothing(crowd, size):
    """CASES 1 and 2: the index alone, iterative scan and all, comes back short."""
    organisation = getattr(crowd, size)
    assert await crowd.by_index(organisation, 10) is None
    mode, found = await crowd.planned(organisation, 10)
    assert (mode, found) == ("exact", await crowd.exactly(organisation, 10))
    assert len(found) == 10


@pytest.mark.parametrize("limit", [41, 100])
async def test_more_than_forty_are_given_when_more_are_asked_for(crowd, limit):
    """CASE 3."""
    mode, found = await crowd.planned(crowd.crowd, limit)
    assert (mode, len(found)) == ("hnsw", limit)
    assert len({hit.chunk_id for hit in found}) == limit
    signals = [hit.signal for hit in found]
    assert signals == sorted(signals, reverse=True)
    assert (await crowd.planned(crowd.crowd, limit)) == (mode, found)


async def test_more_than_the_index_keeps_in_sight_is_asked_exactly(crowd):
    mode, found = await crowd.planned(crowd.crowd, 600)
    assert (mode, len(found)) == ("exact", 600)


async def test_the_exact_search_never_gets_the_plan_of_the_other(crowd):
    """CASE 4: in one session by turns, often enough for a plan to be kept."""
    organisation = crowd.large
    wanted, scope = crowd.wanted(organisation, 10), crowd.scope(organisation)
    right = await crowd.exactly(organisation, 10)
    name = index_name(MODEL, 3)
    async with crowd.database.snapshot(organisation, Plans.INDEXED) as plain:
        session = Explained(plain)
        for _ in range(8):
            assert await search_vector.nearest(session, scope, **wanted) is None
            assert await search_vector.search(session, scope, **wanted) == right
        by_index, exact = session.plans[2::2], session.plans[1::2]
    assert all(name in plan.indexes for plan in by_index)
    assert not any(name in plan.indexes for plan in exact)


async def test_recall(owner_url):
    async with database_beside(owner_url) as beside:
        await asyncio.to_thread(migrate, beside.owner_url, ALEMBIC)
        recalled = recalls(beside.owner_url, beside.url, (1, 10, 500, 4_500), questions=10, dimensions=32)
        lines = [line async for line in recalled]
    measured = [line for line in lines if isinstance(line, Recall)]
    assert len(measured) >= 12
    for item in measured:
        assert (item.exact, item.short) == (1.0, 0), item
        assert item.hnsw >= 0.97, item
        assert item.rows > 1_000 or item.by_index == 0, item
    assert any(item.by_index == 1 for item in measured)


async def test_a_start_with_the_backend_makes_the_index_once(owner_url):
    async with database_beside(owner_url) as beside, connection(beside.owner_url) as owner:
        settings = {"database_url": beside.url, "migration_database_url": beside.owner_url, "embedder": "hash"}
        names = "SELECT indexname, indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%'"
        await asyncio.to_thread(migrate_database, Settings(**settings))
        assert await owner.fetch(names) == []
        for _ in range(2):
            await asyncio.to_thread(migrate_database, Settings(**settings, search_backend="hnsw"))
            (index,) = await owner.fetch(names)
            assert index["indexname"] == index_name(HashingEmbedder.model, HashingEmbedder.dimensions)
        await asyncio.gather(*(ensure_index(beside.owner_url, "it's", 4) for _ in range(3)))
        assert len(await owner.fetch(names)) == 2


@pytest.mark.parametrize("dimensions", [0, MOST_DIMENSIONS + 1])
async def test_what_cannot_be_indexed_is_said(dimensions):
    with pytest.raises(MunimentError, match="MUNIMENT_SEARCH_BACKEND"):
        await ensure_index("postgresql+asyncpg://nowhere", "model", dimensions)
