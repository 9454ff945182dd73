"""R11: the record says exactly what was delivered, in hashes, and without it nothing is delivered."""

import hashlib
import json
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from app.domain.canonical import canonical, fixed
from app.domain.errors import Code, MunimentError
from app.domain.instant import format_instant
from app.domain.principal import ActorType, Client, Level
from app.evidence.attribution import find, find_all


async def queued(world, owner, answer):
    """The very bytes that wait to be chained."""
    return await owner.fetchval(
        "SELECT payload FROM attribution_queue WHERE organisation_id = $1 AND id = $2",
        world.organisation,
        answer.attribution_id,
    )


@pytest.fixture
async def shelf(world):
    part = await world.add_space("project/part", Level.SUBPROJECT, "project")
    other = await world.add_source("other", part, kind="issues")
    await world.write(
        "a.md", ("# Refunds\n\nRefunds are authorised by tier two agents — “quoted” \u2028 £5.", None, None)
    )
    await world.write("b.md", ("# Refunds elsewhere\n\nA refund takes nine days.", None, None), source=other)
    await world.settle()
    return world


async def test_the_record_is_what_was_delivered(shelf, owner):
    asking = replace(
        shelf.principal,
        actor_type=ActorType.AGENT,
        api_key_id=UUID(int=77),
        client=Client("verified-client", "editor", "1.4.2"),
    )
    asked = "Who authorises refunds? 退款"
    answer = await shelf.ask(
        asked,
        by=asking,
        space_key="project/part",
        session_id="session 1 ✓",
        top_k=200,
        min_score=0.0,
        source_kinds=["docs", "issues"],
        known_at=None,
    )
    assert len(answer.passages) == 2
    payload = await queued(shelf, owner, answer)
    record = json.loads(payload)
    assert canonical(record) == payload
    assert record["category"] == "context_attribution"
    assert (record["attributionId"], record["requestId"]) == (str(answer.attribution_id), str(answer.request_id))
    assert (record["organisationId"], record["userId"]) == (str(shelf.organisation), str(asking.id))
    assert (record["actorType"], record["apiKeyId"]) == ("agent", str(UUID(int=77)))
    assert record["client"] == {"id": "verified-client", "name": "editor", "version": "1.4.2"}
    assert record["spaceId"] == str(shelf.sources["other"].space_id)
    assert (record["sessionId"], record["lensId"]) == ("session 1 ✓", None)
    assert record["validAt"] == format_instant(answer.contract.valid_at)
    assert record["knownAt"] == format_instant(answer.contract.known_at)
    assert record["issuedAt"] == format_instant(answer.contract.issued_at)
    assert record["querySha256"] == hashlib.sha256(asked.encode()).hexdigest()
    assert record["model"] == shelf.parts.retriever.embedder.model
    assert record["policyVersion"]
    assert record["indexes"] == list(answer.contract.indexes)
    assert record["sourceIds"] == sorted({str(item.source.id) for item in answer.passages})
    assert record["chunks"] == [
        {
            "chunkId": str(item.candidate.id),
            "documentId": str(item.candidate.document_id),
            "sourceId": str(item.source.id),
            "sha256": hashlib.sha256(item.passage.text.encode()).hexdigest(),
            "indexVersion": item.passage.index_version,
        }
        for item in answer.passages
    ]
    assert [item.content_sha256 for item in answer.passages] == [chunk["sha256"] for chunk in record["chunks"]]
    told = record["parameters"]
    assert (told["topK"], told["minScore"], told["sourceKinds"], told["providers"]) == (
        50,
        fixed(0.0),
        ["docs", "issues"],
        None,
    )
    assert (told["tokenBudget"], told["budgetStrategy"]) == (4096, "DROP_LOWEST")
    assert (told["maxPerLevel"], told["maxPassagesPerDocument"]) == (5, 2)


async def test_the_record_holds_no_text_of_the_question_and_none_of_a_passage(shelf, owner):
    asked = "Refunds authorised tier agents quoted nine days xyzzy"
    answer = await shelf.ask(asked, space_key="project/part")
    assert len(answer.passages) == 2
    payload = (await queued(shelf, owner, answer)).decode().lower()
    told = " ".join([asked, *(item.passage.text for item in answer.passages)]).lower()
    for word in {word for word in told.split() if len(word) > 3 and word.isalpha()}:
        assert word not in payload
    for item in answer.passages:
        assert item.passage.external_id not in payload


async def test_what_the_budget_and_the_caps_held_back_is_not_in_the_record(shelf, owner):
    answer = await shelf.ask("refunds", space_key="project/part", top_k=1)
    record = json.loads(await queued(shelf, owner, answer))
    assert [chunk["chunkId"] for chunk in record["chunks"]] == [str(item.candidate.id) for item in answer.passages]
    assert record["sourceIds"] == [str(answer.passages[0].source.id)]


async def test_a_past_reading_records_the_moments_that_were_read(shelf, owner):
    now = (await shelf.ask("refunds")).contract
    answer = await shelf.ask("refunds", as_of=now.valid_at - timedelta(days=1), known_at=now.known_at)
    record = json.loads(await queued(shelf, owner, answer))
    assert record["validAt"] == format_instant(now.valid_at - timedelta(days=1))
    assert record["knownAt"] == format_instant(now.known_at)


async def test_without_a_question_without_a_vector_without_a_space(shelf, owner):
    textual = replace(shelf.parts.retriever, embedder=None)
    answer = await replace(shelf, parts=replace(shelf.parts, retriever=textual)).ask("refunds", space_id=None)
    record = json.loads(await queued(shelf, owner, answer))
    assert (record["model"], record["spaceId"]) == (None, str(shelf.root))
    answer = await shelf.ask(None)
    record = json.loads(await queued(shelf, owner, answer))
    assert (record["querySha256"], record["model"], record["chunks"]) == (None, None, [])


async def test_the_record_is_there_when_the_answer_is(shelf):
    answer = await shelf.ask("refunds")
    found = await find(shelf.parts.database, shelf.principal, str(answer.attribution_id))
    assert (found.id, found.sequence) == (answer.attribution_id, None)
    assert [item.id for item in await find_all(shelf.parts.database, shelf.principal, str(answer.request_id))] == [
        answer.attribution_id
    ]


#: At the insert, and only when the transaction commits.
MOMENTS = {
    "insert": "CREATE TRIGGER {name} BEFORE INSERT",
    "commit": "CREATE CONSTRAINT TRIGGER {name} AFTER INSERT",
}


@pytest.mark.parametrize("moment", MOMENTS)
async def test_without_a_record_nothing_is_delivered(shelf, owner, moment):
    before = await shelf.ask("refunds")
    assert before.passages
    name = f"refuse_{shelf.organisation.hex}"
    deferred = "DEFERRABLE INITIALLY DEFERRED" if moment == "commit" else ""
    await owner.execute(
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION 'no room for % here', NEW.id; END $$;"
        f"{MOMENTS[moment].format(name=name)} ON attribution_queue {deferred} FOR EACH ROW "
        f"WHEN (NEW.organisation_id = '{shelf.organisation}') EXECUTE FUNCTION {name}()"
    )
    try:
        with pytest.raises(MunimentError) as caught:
            await shelf.ask("refunds")
    finally:
        await owner.execute(f"DROP TRIGGER {name} ON attribution_queue; DROP FUNCTION {name}()")
    assert caught.value.code is Code.ATTRIBUTION_FAILED
    assert caught.value.retryable
    assert "no room" not in caught.value.message
    waiting = "SELECT count(*) FROM attribution_queue WHERE organisation_id = $1"
    assert await owner.fetchval(waiting, shelf.organisation) == 1
    after = await shelf.ask("refunds")
    assert after.passages == before.passages
    assert await owner.fetchval(waiting, shelf.organisation) == 2


async def test_a_refused_question_leaves_no_record(shelf, owner):
    for refused in ({"space_key": "nowhere"}, {"space_id": "x"}):
        with pytest.raises(MunimentError):
            await shelf.ask("refunds", **refused)
    assert not await owner.fetchval(
        "SELECT count(*) FROM attribution_queue WHERE organisation_id = $1", shelf.organisation
    )


async def test_retrieving_writes_nothing_else(shelf, owner):
    """R11: no count, no timestamp, no clock; only the queue grows."""
    tables = [
        row["table_name"]
        for row in await owner.fetch(
            "SELECT c.table_name FROM information_schema.columns c JOIN pg_class p ON p.relname = c.table_name "
            "WHERE c.column_name = 'organisation_id' AND c.table_schema = 'public' AND p.relkind = 'r'"
        )
    ]
    assert {"chunks", "organisation_clocks", "attribution_queue", "texts"} <= set(tables)

    async def everything():
        return {
            table: await owner.fetchval(
                f"SELECT md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {table} t "
                "WHERE organisation_id = $1",
                shelf.organisation,
            )
            for table in tables
        }

    before = await everything()
    await shelf.ask("refunds")
    after = await everything()
    assert {table for table in tables if before[table] != after[table]} == {
        "attribution_queue",
        "retrieval_traces",
    }
