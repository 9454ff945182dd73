"""Filters on tags inside the legs: the same answer as by hand, and no big table read from end to end."""

import pytest

from app.storage import reach, search_text, search_vector
from app.storage.scope import visible
from tests.fixtures.bulk import MODEL, terms
from tests.storage.test_plans import BIG, LIMIT, WHEN, assert_small, by_hand, every_clock, unit

TAGS = {"few": [["tag3", "tag4"]], "both": [["all"], ["tag3"]], "every": [["all"]], "none": [["unknown"]]}


def carried(scope, tags):
    sets = " AND ".join(f"v.tags && CAST(:tags{number} AS text[])" for number in range(len(tags)))
    return (
        "a.chunk_id IN (SELECT c.id FROM chunks c JOIN document_versions v ON v.document_id = c.document_id "
        f"WHERE {visible('v', scope.present)} AND {sets})"
    )


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("tags", TAGS)
async def test_text_leg(loaded, tags, when):
    tenant, scope, chosen = loaded.tenant, loaded.scope(when), TAGS[tags]
    numbers = [40, 300, 1000]
    keys = [tenant.keys(space, numbers) for space in tenant.spaces]
    wanted = {"sources": tenant.sources, "terms": terms(numbers)}
    async with loaded.explained() as session:
        hits = await search_text.search(session, scope, keys=keys, **wanted, limit=LIMIT, tags=chosen)
        (plan,) = session.plans
    flat = [key for group in keys for key in group]
    assert not plan.scanned & BIG, plan
    documents = await every_clock(loaded, "document_versions", "true")
    chunks = await every_clock(loaded, "chunks", "true")
    holders = await every_clock(loaded, "postings", "keys && $2", flat)
    assert plan.fetched <= 2 * documents + 3 * chunks + 3 * holders, plan
    bound = {f"tags{number}": named for number, named in enumerate(chosen)}
    assert [hit.chunk_id for hit in hits] == await by_hand(
        loaded,
        scope,
        "postings",
        "a.terms <#> CAST(:terms AS sparsevec)",
        "a.keys && CAST(:keys AS bigint[]) AND a.source_id = ANY(CAST(:sources AS uuid[])) AND "
        + carried(scope, chosen),
        {**wanted, "keys": flat, **bound},
    )
    assert bool(hits) == (tags != "none")


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("tags", TAGS)
async def test_vector_leg(loaded, tags, when):
    tenant, scope, chosen = loaded.tenant, loaded.scope(when), TAGS[tags]
    wanted = {"sources": tenant.sources, "query": unit(3), "model": MODEL}
    async with loaded.explained() as session:
        hits = await search_vector.search(session, scope, **wanted, limit=LIMIT, tags=chosen)
        (plan,) = session.plans
    assert not plan.scanned & BIG, plan
    bound = {f"tags{number}": named for number, named in enumerate(chosen)}
    assert [hit.chunk_id for hit in hits] == await by_hand(
        loaded,
        scope,
        "embeddings",
        "a.vector <=> CAST(CAST(:query AS text) AS halfvec)",
        "a.model = :model AND a.source_id = ANY(CAST(:sources AS uuid[])) AND " + carried(scope, chosen),
        {**wanted, "query": str(unit(3).tolist()), **bound},
    )
    assert len(hits) == (0 if tags == "none" else LIMIT)


async def test_a_lens_and_an_active_space_cost_a_retrieval_a_row_each(loaded):
    tenant = loaded.tenant
    async with loaded.explained() as session:
        reached = await reach.reach(
            session,
            user=tenant.person,
            principals=[tenant.person],
            space_id=None,
            key_path=None,
            known_at=None,
            lens_id=tenant.root,
        )
        (plan,) = session.plans
    assert reached is not None
    assert reached.lens is None
    assert_small(plan, 100)
