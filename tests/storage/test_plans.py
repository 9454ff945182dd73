"""Every hot statement uses the index that was made for it, as the application's role, among other organisations' rows.

The statements are those of the code, run through it; the planner is PostgreSQL's own with its defaults.
"""

from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import text

from app.providers.ids import new_id
from app.storage import (
    boundaries,
    documents,
    embeddings,
    evidence,
    near_misses,
    passages,
    permissions,
    queue,
    reach,
    search_text,
    search_vector,
    traces,
)
from app.storage.scope import visible
from tests.fixtures.bulk import BORN, LATER, MODEL, terms
from tests.fixtures.loaded import EVENTS, NEVER
from tests.fixtures.owner import connection

BIG = {
    "chunks",
    "texts",
    "contents",
    "documents",
    "document_versions",
    "postings",
    "embeddings_live",
    "embeddings_past",
    "lexeme_frequencies",
    "evidence",
    "spaces",
    "sources",
    "source_syncs",
    "grants",
    "attribution_queue",
    "embedding_queue",
    "code_definitions",
    "code_references",
    "document_links",
    "retrieval_traces",
}
LIMIT = 50


def unit(seed: int):
    vector = np.random.default_rng(seed).standard_normal(384).astype(np.float32)
    return vector / np.linalg.norm(vector)


def assert_small(plan, rows: int, *indexes: str):
    """No big table read from end to end, no more than so many rows looked at, and by the named indexes only."""
    assert not plan.scanned & BIG, plan
    assert plan.fetched <= rows, plan
    if indexes:
        assert plan.indexes <= set(indexes), plan


# The text leg


WORDS = {"one": [5], "title": [40, 300, 5000], "rare": [1000, 3000, 15000], "common": [2, 3, 7, 100]}
POSTINGS = ["postings_live_idx", "postings_ended_idx", "postings_ending_idx", "postings_closed_idx"]
WHEN = ["now", "as of", "known at"]


async def every_clock(loaded, table, condition, *values):
    """How many rows of the tenant meet the condition, superseded ones too."""
    async with connection(loaded.owner_url) as owner:
        return await owner.fetchval(
            f"SELECT count(*) FROM {table} WHERE organisation_id = $1 AND {condition}",
            loaded.tenant.organisation,
            *values,
        )


async def by_hand(loaded, scope, table, order, condition, values):
    """The same answer without any index and without the cut into branches."""
    engine = loaded.database
    statement = text(
        f"SELECT a.chunk_id FROM {table} a WHERE {visible('a', scope.present)} AND {condition} "
        f"ORDER BY {order}, a.chunk_id LIMIT {LIMIT}"
    )
    async with engine.snapshot(scope.organisation) as session:
        for setting in ("enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan"):
            await session.value(text(f"SELECT set_config('{setting}', 'off', true)"))
        return [row.chunk_id for row in await session.rows(statement, {**scope.parameters, **values})]


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("sources", [1, 4])
@pytest.mark.parametrize("words", WORDS)
async def test_text_leg(loaded, words, sources, when):
    tenant, scope = loaded.tenant, loaded.scope(when)
    numbers = WORDS[words]
    by_space = [tenant.keys(space, numbers) for space in tenant.spaces[:sources]]
    keys = [key for own in by_space for key in own]
    wanted = {"sources": tenant.sources[:sources], "keys": keys, "terms": terms(numbers)}
    async with loaded.explained() as session:
        hits = await search_text.search(session, scope, **{**wanted, "keys": by_space}, limit=LIMIT)
        (plan,) = session.plans
    holders = await every_clock(loaded, "postings", "keys && $2", keys)
    ending = await every_clock(loaded, "postings", "valid_to IS NOT NULL")
    assert_small(
        plan,
        holders + min(holders, ending),
        "postings_live_idx",
        "postings_ended_idx",
        "postings_ending_idx",
        "postings_closed_idx",
    )
    assert "postings_live_idx" in plan.indexes
    assert [hit.chunk_id for hit in hits] == await by_hand(
        loaded,
        scope,
        "postings",
        "a.terms <#> CAST(:terms AS sparsevec)",
        "a.keys && CAST(:keys AS bigint[]) AND a.source_id = ANY(CAST(:sources AS uuid[]))",
        wanted,
    )
    assert hits


@pytest.mark.parametrize("when", WHEN)
async def test_text_statistics(loaded, when):
    tenant = loaded.tenant
    keys = [key for space in tenant.spaces for words in WORDS.values() for key in tenant.keys(space, words)]
    async with loaded.explained() as session:
        counted = await search_text.frequencies(session, loaded.scope(when), tenant.spaces, tenant.sources, keys)
        (plan,) = session.plans
    assert counted.chunks == 14_000
    assert counted.by_key[keys[0]] > 0
    assert_small(plan, len(keys) + 16)
    assert "lexeme_frequencies_pkey" in plan.indexes


# The vector leg


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("sources", [1, 4])
async def test_vector_leg(loaded, sources, when):
    tenant, scope = loaded.tenant, loaded.scope(when)
    wanted = {"sources": tenant.sources[:sources], "query": unit(1), "model": MODEL}
    async with loaded.explained() as session:
        hits = await search_vector.search(session, scope, **wanted, limit=LIMIT)
        (plan,) = session.plans
    permitted = await every_clock(loaded, "embeddings", "source_id = ANY($2)", tenant.sources[:sources])
    assert_small(
        plan,
        permitted,
        "embeddings_live_organisation_id_source_id_idx",
        "embeddings_past_organisation_id_source_id_idx",
        "embeddings_past_organisation_id_source_id_valid_to_idx",
    )
    assert len(hits) == LIMIT
    assert [hit.chunk_id for hit in hits] == await by_hand(
        loaded,
        scope,
        "embeddings",
        "a.vector <=> CAST(CAST(:query AS text) AS halfvec)",
        "a.model = :model AND a.source_id = ANY(CAST(:sources AS uuid[]))",
        wanted | {"query": str(unit(1).tolist())},
    )


@pytest.mark.parametrize("sources", [1, 4])
async def test_whether_the_vector_index_is_worth_asking(loaded, sources):
    """Decided by counting in an index, up to a bound: √(15 · rows taken · rows stored)."""
    tenant = loaded.tenant
    async with loaded.explained() as session:
        wanted = {"sources": tenant.sources[:sources], "model": MODEL, "dimensions": 384, "limit": LIMIT}
        worth_it = await search_vector.prepare(session, loaded.scope("now"), **wanted)
        (plan,) = session.plans
    stored, own = 3 * 14_000, 14_000 * sources // 4
    bound = (15 * 4 * LIMIT * stored) ** 0.5
    assert not worth_it  # there is no index
    assert_small(
        plan, min(own, round(1.05 * bound)) + 2, "embeddings_live_organisation_id_source_id_idx", "pg_class_oid_index"
    )


# What the legs named


@pytest.mark.parametrize("when", WHEN)
async def test_named_chunks_and_their_passages(loaded, when):
    tenant, scope = loaded.tenant, loaded.scope(when)
    async with loaded.explained() as session:
        hits = await search_vector.search(
            session, scope, sources=tenant.sources, query=unit(2), model=MODEL, limit=LIMIT
        )
        ids = [hit.chunk_id for hit in hits]
        session.plans.clear()
        rows = await passages.named(session, scope, ids, query=unit(2), model=MODEL, terms=terms([5, 40]))
        found = await passages.passages(session, scope, ids[:8])
        named, texts = session.plans
    assert {row.chunk_id for row in rows} == set(ids)
    assert all(row.similarity is not None for row in rows)
    assert len(found) == 8
    assert_small(named, 3 * LIMIT, "chunks_pkey", "embeddings_live_pkey", "embeddings_past_pkey", "postings_pkey")
    assert_small(
        texts, 3 * 8, "chunks_pkey", "texts_pkey", "document_versions_current_idx", "document_versions_document_idx"
    )
    assert named.buffers < 16 * LIMIT
    assert texts.buffers < 16 * 8


# What matched and is not in force


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("words", ["one", "title", "rare"])
async def test_near_misses(loaded, words, when):
    tenant, scope = loaded.tenant, loaded.scope(when)
    numbers = WORDS[words]
    keys = [key for space in tenant.spaces for key in tenant.keys(space, numbers)]
    async with loaded.explained() as session:
        found = await near_misses.search(
            session,
            scope,
            sources=tenant.sources,
            keys=keys,
            terms=terms(numbers),
            least=0.0,
            named=[],
        )
        (plan,) = session.plans
    holders = await every_clock(loaded, "postings", "keys && $2", keys)
    assert_small(
        plan,
        holders + 4 * near_misses.MOST_POSTINGS,
        *POSTINGS,
        "postings_beginning_idx",
        "chunks_pkey",
        # For none of the chunks that are named already, which are none here: any index would do, this one is smallest.
        "chunks_findings_idx",
        "document_versions_current_idx",
        "document_versions_document_idx",
    )
    if when == "now" and words != "rare":
        # Not one of the rows that hold is looked at; where a handful is named, either way is as quick.
        assert "postings_live_idx" not in plan.indexes
        assert "postings_beginning_idx" in plan.indexes
    if words == "title":
        async with connection(loaded.owner_url) as owner:
            documents = await owner.fetchval(
                "SELECT count(DISTINCT c.document_id) FROM postings p JOIN chunks c ON c.id = p.chunk_id "
                "WHERE p.organisation_id = $1 AND p.keys && $2 AND p.system_to IS NULL AND p.valid_to = $3",
                tenant.organisation,
                keys,
                LATER,
            )
        assert documents > 0
        assert len(found) == (min(documents, near_misses.MOST_DOCUMENTS) if when == "now" else 0)


async def test_until_when_an_answer_stands(loaded):
    async with loaded.explained() as session:
        found = await boundaries.next_change(session, loaded.scope("now"))
        (plan,) = session.plans
    assert found == NEVER
    assert_small(plan, 12)
    assert {"document_versions_beginning_idx", "document_versions_ending_idx"} <= plan.indexes


# Around a retrieval


@pytest.mark.parametrize("named", [{}, {"key_path": "space1"}, {"known_at": BORN + timedelta(days=3)}])
async def test_what_a_caller_can_reach(loaded, named):
    given = {"space_id": None, "key_path": None, "known_at": None} | named
    async with loaded.explained() as session:
        reached = await reach.reach(session, user=loaded.tenant.person, principals=[loaded.tenant.person], **given)
        (plan,) = session.plans
    assert reached is not None
    assert reached.target is not None
    assert_small(plan, 100)


async def test_what_a_caller_is_granted(loaded):
    async with loaded.explained() as session:
        held = await permissions.granted(session, loaded.tenant.person, [loaded.tenant.person])
        (plan,) = session.plans
    assert len(held["context:space:search"]) == 5
    assert_small(plan, 20)


async def test_traces(loaded):
    id, trace, request = new_id(), new_id(), new_id()
    stored = {
        "trace": trace,
        "request": request,
        "user": loaded.tenant.person,
        "space": loaded.tenant.root,
        "subject": None,
        "issued_at": LATER,
        "traced": b"x" * 12_000,
    }
    async with connection(loaded.owner_url) as owner:
        await owner.execute(
            "INSERT INTO retrieval_traces "
            "(organisation_id, id, request_id, attribution_id, user_id, issued_at, payload) SELECT organisation_id, "
            "gen_random_uuid(), gen_random_uuid(), id, (fields[5])::uuid, queued_at, payload FROM evidence"
        )
        await owner.execute("ANALYZE retrieval_traces")
    async with loaded.explained() as session:
        event = b'{"category": "test", "requestId": "two", "id": "%s"}' % str(id).encode()
        await traces.store(session, id, event, stored)
        (storing,) = session.plans
    assert storing.buffers < 200
    async with loaded.explained() as session:
        by_id = await traces.find(session, trace)
        by_request = await traces.find_request(session, request)
        standing = await traces.standing(
            session,
            loaded.tenant.person,
            [loaded.tenant.root],
            sources=loaded.tenant.sources,
            spaces=[loaded.tenant.root, loaded.tenant.spaces[0]],
        )
        first, second, third = session.plans
    assert by_id.payload == by_request.payload == stored["traced"]
    assert_small(first, 1, "retrieval_traces_pkey")
    assert_small(second, 1, "retrieval_traces_request_idx")
    assert standing == {loaded.tenant.root: None}
    assert_small(third, 30)


async def test_the_queue_of_events(loaded):
    async with loaded.explained() as session:
        taken = await queue.take(session, 1000)
        (plan,) = session.plans
    assert len(taken) == 1000
    assert_small(plan, 1000, "attribution_queue_pkey")


async def test_the_head_of_the_chain(loaded):
    async with loaded.explained() as session:
        head = await evidence.head(session)
        (plan,) = session.plans
    assert head.sequence == EVENTS
    assert_small(plan, 1, "evidence_pkey")


async def test_looking_up_an_attribution(loaded):
    id = loaded.attributions[17]
    async with loaded.explained() as session:
        by_id = await evidence.find_record(session, id)
        by_request = await evidence.find_request(session, id.hex, 10)
        first, second = session.plans
    assert by_id.id == by_request[0].id == id
    assert_small(first, 1, "evidence_id_idx", "attribution_queue_id_idx")
    assert_small(second, 1, "evidence_request_idx", "attribution_queue_request_idx")


# Around an ingestion


async def test_what_is_believed_of_a_batch(loaded):
    async with loaded.explained() as session:
        found = await documents.believed(session, loaded.tenant.sources[0], [id.hex for id in loaded.documents])
        plans = list(session.plans)
    assert len(found) == 64
    for plan in plans:
        assert_small(plan, 64 * 5)


async def test_claiming_chunks_to_embed(loaded):
    async with loaded.explained() as session:
        # Explaining has claimed the first 64; these are the next.
        waiting = await embeddings.claim(session, 64)
        claiming, reading = session.plans
    assert len(waiting) == 64
    assert_small(claiming, 64 * 3)
    assert_small(reading, 64 * 6)


async def test_storing_an_event(loaded):
    payload = b'{"category": "test", "requestId": "one"}'
    async with loaded.explained() as session:
        await queue.enqueue(session, new_id(), payload)
        (plan,) = session.plans
    assert_small(plan, 1)
    assert plan.buffers < 100
