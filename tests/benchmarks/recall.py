"""What a filtered vector search finds beside what there is, in tenants from one row to 100,000.

    python -m tests.benchmarks.recall [--rows N]

All tenants stand in one table under one index. For each it prints recall@10 of the exact search and of the backend
`hnsw`, the least number of rows that came back of those wanted, how often the index answered, and milliseconds.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector

from app.assembly.installation import Installation
from app.domain.temporal import AsOf
from app.providers.ids import new_id
from app.settings import Settings
from app.storage import search_vector
from app.storage.engine import Database, Plans
from app.storage.scope import Scope
from app.storage.vector_index import ensure_index
from tests.benchmarks.floor import connect
from tests.benchmarks.measure import median

ROWS = 100_000
MODEL, DIMENSIONS, CLUSTERS, SOURCES = "recall-384", 384, 200, 20
QUESTIONS, LIMIT, PLACES = 40, 50, 10
#: Rows that are replaced at the end, about.
REPLACED = 10_000
BORN, NOW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
_COLUMNS = ("organisation_id", "live", "chunk_id", "model", "space_id", "source_id", "vector", "system_from")
HEADER = f"{'tenant':>8}{'sources':>9}{'exact':>8}{'hnsw':>8}{'rows':>7}{'by index':>10}{'exact ms':>10}{'hnsw ms':>9}"


@dataclass(slots=True)
class Tenant:
    """Rows in twenty sources, or in as many as there are rows. Vectors as the store keeps them, in half precision."""

    rows: int
    organisation: UUID = field(default_factory=uuid4)
    sources: list[UUID] = field(default_factory=list)
    ids: list[UUID] = field(default_factory=list)
    vectors: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))

    def nearest(self, query: NDArray[np.float32], sources: int) -> NDArray[np.float32]:
        """Similarities of the rows of the first `sources`, greatest first."""
        at = np.arange(self.rows) % len(self.sources) < sources
        return np.sort(self.vectors[at] @ query)[::-1]


class Store:
    """One table of embeddings, filled as its owner."""

    def __init__(self, owner: Any, dimensions: int) -> None:
        self._owner = owner
        self.random = np.random.default_rng(3)
        self._centres = self.random.standard_normal((CLUSTERS, dimensions)).astype(np.float32)

    def draw(self, number: int, clusters: Sequence[int] | None = None) -> NDArray[np.float32]:
        """Unit vectors around the centres, or around some of them."""
        chosen = self.random.choice(np.asarray(clusters if clusters is not None else range(CLUSTERS)), size=number)
        near = self._centres[chosen]
        rows = near + 0.7 * self.random.standard_normal(near.shape, dtype=np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)

    async def add(self, rows: int, clusters: Sequence[int] | None = None) -> Tenant:
        made = Tenant(rows)
        made.sources = [new_id() for _ in range(min(rows, SOURCES))]
        made.ids = [new_id() for _ in range(rows)]
        halves = self.draw(rows, clusters).astype(np.float16)
        made.vectors = halves.astype(np.float32)
        await self._copy(made, range(rows), halves)
        return made

    async def _copy(self, tenant: Tenant, places: Sequence[int], halves: NDArray[np.float16]) -> None:
        await self._owner.copy_records_to_table(
            "embeddings",
            columns=_COLUMNS,
            records=[
                (tenant.organisation, True, tenant.ids[at], MODEL, tenant.organisation,
                 tenant.sources[at % len(tenant.sources)], HalfVector(vector), BORN)
                for at, vector in zip(places, halves, strict=True)
            ],
        )  # fmt: skip

    async def supersede(self, tenant: Tenant, places: Sequence[int]) -> None:
        """Other vectors in the place of these."""
        old = [tenant.ids[at] for at in places]
        await self._owner.execute(
            "DELETE FROM embeddings WHERE organisation_id = $1 AND chunk_id = ANY($2)", tenant.organisation, old
        )
        halves = self.draw(len(places)).astype(np.float16)
        for at, vector in zip(places, halves, strict=True):
            tenant.ids[at], tenant.vectors[at] = new_id(), vector.astype(np.float32)
        await self._copy(tenant, places, halves)


@dataclass(frozen=True, slots=True)
class Recall:
    """Means over the questions. `short`: the greatest number of rows missing of those that there are."""

    rows: int
    sources: int
    exact: float
    hnsw: float
    short: int
    by_index: float
    exact_ms: float
    hnsw_ms: float

    def __str__(self) -> str:
        return (
            f"{self.rows:>8}{self.sources:>9}{self.exact:>8.3f}{self.hnsw:>8.3f}{-self.short:>7}{self.by_index:>10.2f}"
            f"{self.exact_ms:>10.2f}{self.hnsw_ms:>9.2f}"
        )


async def measure(database: Database, store: Store, tenant: Tenant, sources: int, questions: int) -> Recall:
    """Questions are drawn around all centres: most of what is near belongs to others."""
    scope = Scope(tenant.organisation, AsOf(NOW, NOW), True)
    found: dict[bool, list[float]] = {False: [], True: []}
    times: dict[bool, list[float]] = {False: [], True: []}
    short = by_index = 0
    for query in store.draw(questions):
        truth = tenant.nearest(query, sources)
        wanted = truth[:PLACES]
        async with database.snapshot(tenant.organisation, Plans.INDEXED) as session:
            for approximate in (False, True):
                started = perf_counter()
                mode, hits = await search_vector.planned(
                    session,
                    scope,
                    sources=tenant.sources[:sources],
                    query=query,
                    model=MODEL,
                    limit=LIMIT,
                    approximate=approximate,
                )
                times[approximate].append((perf_counter() - started) * 1000)
                near = np.array([hit.signal for hit in hits[:PLACES]])
                # A row that is as near as the last one wanted is as good; the database rounds a little differently.
                found[approximate].append(float(np.mean(near >= wanted[-1] - 1e-3)) * len(near) / len(wanted))
                short = max(short, min(LIMIT, len(truth)) - len(hits))
                by_index += mode == "hnsw"
    return Recall(
        tenant.rows,
        sources,
        float(np.mean(found[False])),
        float(np.mean(found[True])),
        short,
        by_index / questions,
        median(times[False]),
        median(times[True]),
    )


async def recalls(
    owner_url: str, url: str, sizes: Sequence[int], questions: int = QUESTIONS, dimensions: int = DIMENSIONS
) -> AsyncIterator[Recall | str]:
    """Tenants of these sizes, and one a tenth of the greatest whose rows all lie together."""
    owner = await connect(owner_url)
    store = Store(owner, dimensions)
    tenants = [await store.add(rows) for rows in sizes]
    tenants.append(await store.add(sizes[-1] // 10, clusters=[0, 1]))
    started = perf_counter()
    await ensure_index(owner_url, MODEL, dimensions)
    yield f"indexed {sum(item.rows for item in tenants)} rows in {perf_counter() - started:.0f} s"
    await owner.execute("VACUUM ANALYZE embeddings_live")
    database = Database.connect(url, pool_size=2)
    try:
        yield HEADER
        for tenant in tenants:
            for sources in sorted({1, min(4, len(tenant.sources)), len(tenant.sources)}):
                yield await measure(database, store, tenant, sources, questions)
        big = tenants[len(sizes) - 1]
        replaced = range(0, big.rows, max(2, big.rows // REPLACED))
        await store.supersede(big, replaced)
        yield f"after {len(replaced)} rows of the greatest tenant were replaced, before a vacuum"
        yield await measure(database, store, big, len(big.sources), questions)
        started = perf_counter()
        await owner.execute("VACUUM embeddings_live")
        yield f"and after it, which took {perf_counter() - started:.1f} s"
        yield await measure(database, store, big, len(big.sources), questions)
    finally:
        await database.close()
        await owner.close()


async def run(installation: Installation, rows: int) -> None:
    assert installation.embedded is not None
    sizes = [size for size in (1, 10, 100, 1_000, 10_000, 100_000) if size < rows] + [rows]
    async for line in recalls(installation.embedded.owner_url, installation.url, sizes):
        print(line, flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.recall",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=ROWS, help="of the greatest tenant")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder:
        installation = Installation.open(Settings(home=Path(folder) / "home", embedder="none"))
        try:
            asyncio.run(run(installation, options.rows))
        finally:
            installation.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
