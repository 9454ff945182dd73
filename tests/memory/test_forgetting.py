"""Forgetting a subject: nothing of them is left on any clock or in any row, and the chain says that it happened."""

import asyncio
import json
from typing import Any
from uuid import UUID

import asyncpg
from sqlalchemy import text

from app.domain.chain import Outcome
from app.evidence.verification import verify_chain
from tests.memory.conftest import CORRECT, MEMBER, REMEMBER, SUBJECT, Memories

ANN = "ann.secret-name@example.org"
TEXTS = ("Xanthippe forgets tea", "Xanthippe forgets coffee", "Ann has a dog", "Ann moved to Ghent")


async def chained(memory: Memories) -> list[dict[str, Any]]:
    """Everything queued is chained; the records in order."""
    parts, organisation = memory.world.parts, memory.world.organisation
    while await parts.sequencer.turn(organisation):
        pass
    verdict = await verify_chain(parts.database, parts.keys, parts.heads, organisation)
    assert verdict.verdict is Outcome.VALID, verdict
    async with parts.database.snapshot(organisation) as session:
        return [
            json.loads(row[0]) for row in await session.rows(text("SELECT payload FROM evidence ORDER BY sequence"))
        ]


async def lived(memory: Memories) -> dict[str, Any]:
    """Ann with all that can be held of her: versions, memberships, accesses, embeddings, client keys, evidence."""
    await memory.group("team")
    kept = {"subjectId": ANN, "spaceKey": "project"}
    first = await memory.data(REMEMBER, {"i": {**kept, "text": TEXTS[0], "validFrom": None, "clientKey": "one"}}, None)
    made = [first["id"], (await memory.remember(TEXTS[2], subjectId=ANN, validFrom=None))["id"]]
    await memory.data(CORRECT, {"id": made[0], "c": {"text": TEXTS[1]}, "k": f"correct {ANN}"}, None)
    await memory.change(made[1], text=TEXTS[3])
    await memory.data(SUBJECT, {"id": ANN, "space": "project", "k": "subject"}, None)
    membership = await memory.data(MEMBER, {"g": "team", "s": ANN, "v": True, "m": True, "k": "member"}, None)
    await memory.remember("The team ships on Fridays.", groupKey="team", validFrom=None)
    await memory.remember("Bob stays.", subjectId="bob", validFrom=None)
    answer = await memory.retrieve(subjectId=ANN, query="tea or coffee")
    await memory.link(answer, "response")
    return {"memories": made, "membership": membership["id"], "answer": answer, "known": first["systemFrom"]}


async def holding(owner: asyncpg.Connection, needles: list[str]) -> dict[str, list[str]]:
    """Every needle with the tables that hold it: in any column, as text or in the bytes of a payload."""
    tables = await owner.fetch(
        "SELECT table_name, array_agg(column_name::text) AS columns, array_agg(data_type::text) AS types "
        "FROM information_schema.columns WHERE table_schema = 'public' AND is_updatable = 'YES' GROUP BY table_name"
    )
    assert len(tables) > 25
    found: dict[str, list[str]] = {}
    for table, columns, types in tables:
        shown = " || ' ' || ".join(
            f"coalesce(encode(\"{column}\", 'escape'), '')" if kind == "bytea" else f"coalesce(\"{column}\"::text, '')"
            for column, kind in zip(columns, types, strict=True)
        )
        for needle in needles:
            if await owner.fetchval(f'SELECT EXISTS (SELECT FROM "{table}" WHERE position($1 IN {shown}) > 0)', needle):
                found.setdefault(needle, []).append(table)
    return found


async def test_no_row_of_any_table_holds_anything_of_the_forgotten(memory: Memories, owner: asyncpg.Connection) -> None:
    life = await lived(memory)
    needles = [ANN, *TEXTS, *life["memories"]]
    before = await holding(owner, needles)
    # The scan does find what is there.
    assert set(before[ANN]) >= {"subjects", "client_keys"}
    assert all("memory_versions" in before[said] for said in TEXTS)
    [subject] = await owner.fetch("SELECT id, pseudonym_key FROM subjects WHERE external_id = $1", ANN)
    assert (await memory.forget(ANN)) == {"subjectId": ANN, "erasedMemories": 2}
    await chained(memory)
    after = await holding(owner, [ANN, *TEXTS])
    assert after == {}
    # What evidence keeps is an id of nothing, and a pseudonym whose key is gone; so is what is derived from it, and the
    # list of what is gone, by which those are told who were given it.
    kept = {table for tables in (await holding(owner, life["memories"])).values() for table in tables}
    assert kept <= {"evidence", "delivered_items", "erased_items"}
    key = subject["pseudonym_key"]
    assert await holding(owner, [str(subject["id"])]) == {}
    assert not await owner.fetchval("SELECT EXISTS (SELECT FROM subjects WHERE pseudonym_key = $1)", key)
    assert await memory.given(subjectId="bob") == {"Bob stays."}
    assert [item["text"] for item in await memory.listed(groupKey="team")] == ["The team ships on Fridays."]


async def test_no_read_on_any_clock_returns_the_forgotten(memory: Memories) -> None:
    life = await lived(memory)
    answer = life["answer"]
    clocks = {"asOf": answer["contract"]["validAt"], "knownAt": answer["contract"]["knownAt"]}
    assert len(await memory.given(subjectId=ANN, **clocks)) == 3
    await memory.forget(ANN)
    for asked in ({}, clocks, {"knownAt": life["known"]}, {"asOf": life["known"]}):
        assert await memory.given(subjectId=ANN, **asked) == set()
        assert await memory.given(subjectId=ANN, query="tea", **asked) == set()
        assert await memory.listed(subjectId=ANN, **asked) == []
    reads = "query($id: ID!, $k: Instant) { memory(id: $id, asOf: $k, knownAt: $k) { text } }"
    history = "query($id: ID!, $k: Instant) { history(id: $id, knownAt: $k) { edges { node { value } } } }"
    for known_at in (None, life["known"], answer["contract"]["knownAt"]):
        for id in life["memories"]:
            assert (await memory.refusal(reads, {"id": id, "k": known_at}))[0] == "NOT_FOUND"
            assert (await memory.refusal(history, {"id": id, "k": known_at}))[0] == "NOT_FOUND"
        assert (await memory.refusal(history, {"id": life["membership"], "k": known_at}))[0] == "NOT_FOUND"
    for id in life["memories"]:
        assert (await memory.refusal(CORRECT, {"id": id, "c": {"text": "x"}}))[0] == "NOT_FOUND"
    # The answer that was given then can be linked once more; a count is not kept of what is gone.
    await memory.link(answer, "a late response")
    assert await memory.given(subjectId=ANN) == set()


async def test_the_chain_verifies_and_holds_the_tombstone(memory: Memories) -> None:
    """CASE 32."""
    life = await lived(memory)
    await memory.forget(ANN)
    records = await chained(memory)
    [tombstone] = [record for record in records if record["category"] == "subject_erasure"]
    [delivery] = [record for record in records if record["attributionId"] == life["answer"]["attributionId"]][:1]
    assert tombstone["erasedMemories"] == 2
    assert tombstone["subjectPseudonym"] == delivery["subjectPseudonym"]
    assert tombstone["userId"] == str(memory.world.principal.id)
    assert tombstone["spaceId"] == str(memory.world.project)
    found = await memory.api.data(
        "query($id: ID!) { attribution(id: $id) { category state record } verifyChain { verdict } }",
        {"id": tombstone["attributionId"]},
    )
    assert (found["attribution"]["category"], found["verifyChain"]["verdict"]) == ("subject_erasure", "VALID")


async def test_the_same_name_again_is_somebody_new(memory: Memories) -> None:
    life = await lived(memory)
    await memory.forget(ANN)
    assert (
        await memory.refusal("mutation($id: ID!) { forgetSubject(subjectId: $id) { subjectId } }", {"id": ANN})
    ) == (
        "NOT_FOUND",
        "subjectId",
    )
    # The client's keys of the old life are gone with it: the call is a new one.
    made = await memory.data(
        REMEMBER,
        {"i": {"text": "Another Ann.", "subjectId": ANN, "spaceKey": "project", "clientKey": "one"}},
        None,
    )
    assert made["id"] not in life["memories"]
    answer = await memory.retrieve(subjectId=ANN)
    assert [item["text"] for item in answer["memories"]] == ["Another Ann."]
    assert answer["groupMemories"] == []
    assert answer["memories"][0]["scores"]["frequency"] == 0.0
    records = {record["attributionId"]: record for record in await chained(memory) if "chunks" in record}
    old, new = (records[item["attributionId"]]["subjectPseudonym"] for item in (life["answer"], answer))
    assert old != new
    assert await memory.given(subjectId=ANN, knownAt=life["answer"]["contract"]["knownAt"]) == set()
    await memory.forget(ANN)
    await chained(memory)


async def test_forgetting_while_others_write_leaves_nothing_behind(memory: Memories, owner: asyncpg.Connection) -> None:
    """Whoever comes after the erasure makes somebody new; nothing half-written stays."""
    first = await memory.remember("Xanthippe forgets tea", subjectId=ANN, validFrom=None)

    async def write(number: int) -> None:
        if number % 2:
            await memory.api.ask(CORRECT, {"id": first["id"], "c": {"text": f"Xanthippe forgets coffee {number}"}})
        else:
            await memory.api.ask(
                REMEMBER, {"i": {"text": f"Ann has a dog {number}", "subjectId": ANN, "spaceKey": "project"}}
            )
        await memory.api.ask(
            "query($i: RetrieveInput!) { retrieve(input: $i) { requestId } }", {"i": {"subjectId": ANN}}
        )

    writes = [asyncio.create_task(write(number)) for number in range(12)]
    forgotten = asyncio.create_task(memory.forget(ANN))
    await asyncio.gather(*writes, forgotten)
    orphans = await owner.fetchval(
        "SELECT count(*) FROM memory_versions v WHERE v.organisation_id = $1 AND NOT EXISTS (SELECT FROM memories m "
        "WHERE m.organisation_id = v.organisation_id AND m.id = v.memory_id)",
        memory.world.organisation,
    )
    assert orphans == 0
    for table in ("memory_versions", "memories", "memory_embeddings", "memory_accesses"):
        column = "id" if table == "memories" else "memory_id"
        assert not await owner.fetchval(
            f"SELECT EXISTS (SELECT FROM {table} WHERE organisation_id = $1 AND {column} = $2)",
            memory.world.organisation,
            UUID(first["id"]),
        )
    if await owner.fetchval("SELECT EXISTS (SELECT FROM subjects WHERE external_id = $1)", ANN):
        await memory.forget(ANN)
    assert await holding(owner, [ANN, "Xanthippe forgets", "Ann has"]) == {}
    await chained(memory)
