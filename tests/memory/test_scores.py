"""What a recalled memory scores, how many are looked at and given, and that recalling leaves no trace but evidence."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
import structlog
from sqlalchemy import text

from app.domain.instant import format_instant, parse_instant
from app.retrieval.recall import truncated
from tests.memory.conftest import LINK, Memories
from tests.schema.conftest import token_of

QUESTION = "Does Ann take tea or coffee in the morning?"
NOW = datetime.now(UTC)


def ago(days: float) -> str:
    return format_instant(NOW - timedelta(days=days))


async def similarity(memory: Memories, said: str) -> float:
    embedder = memory.world.parts.retriever.embedder
    assert embedder is not None
    [vector] = await embedder.embed_documents([said])
    return float(np.dot(await embedder.embed_query(QUESTION), vector))


def expected(item: dict[str, Any], answer: dict[str, Any], importance: float, uses: int, near: float) -> float:
    """The formula of the specification, from what was remembered and asked."""
    since = parse_instant(item["validFrom"] or item["systemFrom"])
    age = max(0.0, (parse_instant(answer["contract"]["validAt"]) - since) / timedelta(days=1))
    frequency = min(1.0, math.log(1 + uses) / math.log(101))
    return 0.40 * near + 0.20 * 0.5 ** (age / 14) + 0.25 * importance + 0.15 * frequency


async def used(memory: Memories, id: str, times: int) -> None:
    """Link that many responses to an answer that gave this memory and no other."""
    [space] = [item["spaceKey"] for item in (await memory.retrieve(subjectId=id))["memories"]]
    assert space == "project"
    answer = await memory.retrieve(subjectId=id)
    for number in range(times):
        await memory.link(answer, f"response {number}")


async def test_the_formula_to_the_last_digit(memory: Memories) -> None:
    kept = [
        ("ann takes tea in the morning", ago(0), 0.5, 0),
        ("Ann never takes coffee.", ago(14), 1.0, 1),
        ("The office has a garden.", ago(365), 0.0, 7),
        ("In the morning Ann reads.", None, 0.123456789, 100),
        ("Tea or coffee?", ago(3.5), 2 / 3, 130),
        ("Will be true one day.", ago(-2), 0.9, 0),
    ]
    for number, (said, since, importance, uses) in enumerate(kept):
        subject = f"s{number}"
        await memory.remember(said, subjectId=subject, validFrom=since, importance=importance)
        if uses:
            await used(memory, subject, uses)
    for number, (said, _since, importance, uses) in enumerate(kept):
        for query in (None, QUESTION):
            answer = await memory.retrieve(subjectId=f"s{number}", query=query, asOf=ago(-2))
            [item] = answer["memories"]
            near = 1.0 if query is None else item["scores"]["similarity"]
            assert abs(item["score"] - expected(item, answer, importance, uses, near)) < 1e-12
            assert item["scores"]["importance"] == importance
            assert abs(item["scores"]["frequency"] - min(1.0, math.log1p(uses) / math.log(101))) < 1e-12
            assert (item["scores"]["vector"], item["scores"]["text"], item["scores"]["levelWeight"]) == (None,) * 3
            # Kept as half floats.
            truth = 1.0 if query is None else max(0.0, await similarity(memory, said))
            assert abs(item["scores"]["similarity"] - truth) < 2e-3
            assert 0.0 <= item["score"] <= 1.0


async def test_a_negative_age_is_none(memory: Memories) -> None:
    made = await memory.remember("Always so.", subjectId="ann", validFrom=None)
    answer = await memory.retrieve(subjectId="ann", asOf="2001-01-01T00:00:00Z")
    [item] = answer["memories"]
    assert parse_instant(made["systemFrom"]) > parse_instant(answer["contract"]["validAt"])
    assert item["scores"]["recency"] == 1.0


async def test_the_justification_is_one_line_of_what_was_counted(memory: Memories) -> None:
    await memory.remember("Tea.", subjectId="ann", validFrom=ago(14), importance=0.25)
    await used(memory, "ann", 3)
    [item] = (await memory.retrieve(subjectId="ann"))["memories"]
    assert item["justification"] == (
        "similarity 1.00, 14.0 days old (recency 0.50), importance 0.25, used 3 times (frequency 0.30)"
    )
    assert "\n" not in item["justification"]


async def test_the_best_come_first_and_equals_by_their_id(memory: Memories) -> None:
    for number in range(12):
        await memory.remember(f"{number}", subjectId="ann", validFrom=ago(1), importance=(number % 4) / 4)
    answer = await memory.retrieve(subjectId="ann", maxMemories=5)
    given = answer["memories"]
    assert [item["scores"]["importance"] for item in given] == [0.75, 0.75, 0.75, 0.5, 0.5]
    assert len({item["score"] for item in given}) == 2
    again = await memory.retrieve(
        subjectId="ann",
        maxMemories=5,
        asOf=answer["contract"]["validAt"],
        knownAt=answer["contract"]["knownAt"],
    )
    assert again["memories"] == given
    none = await memory.retrieve(subjectId="ann", maxMemories=0)
    assert (none["memories"], none["tokensTotal"]) == ([], 0)
    assert none["exclusions"] == [{"type": "TOP_K", "stage": "recall", "provider": "memory", "count": 12}]
    assert {item["code"] for item in none["limitations"]} == {"SCOPE_APPLIED", "NO_CONTEXT"}


async def test_candidates_are_delivered_or_counted(memory: Memories) -> None:
    """Conservation, with documents and memories and groups in one answer."""
    await memory.group("team")
    for number in range(7):
        await memory.remember(f"Ann {number} takes tea.", subjectId="ann")
        await memory.remember(f"Team {number} takes tea.", groupKey="team")
        await memory.remember(f"Space {number} takes tea.")
        await memory.world.write(f"tea-{number}.txt", (f"Tea number {number}.", None, None))
    await memory.world.settle()
    await memory.member("team", "ann")
    for limit in (0, 1, 3, 7, 50):
        answer = await memory.retrieve(subjectId="ann", query="tea", topK=2, maxMemories=limit)
        given = [*answer["passages"], *answer["memories"], *answer["groupMemories"]]
        counted = sum(item["count"] for item in answer["exclusions"] if item["count"] is not None)
        assert answer["searchMeta"]["candidates"] == len(given) + counted == 28
        assert (len(answer["memories"]), len(answer["groupMemories"])) == (min(limit, 14), min(limit, 7))


async def test_a_budget_counts_memories_and_never_cuts_them(memory: Memories) -> None:
    for number in range(3):
        await memory.remember(f"Memory {number}: " + "Ann takes tea with milk in the morning. " * 5)
        await memory.world.write(f"tea-{number}.txt", ("Tea is taken in the morning. " * 3 + str(number), None, None))
    await memory.world.settle()
    free = await memory.retrieve(query="tea", tokenBudget=None)
    tokens = sum(item["tokens"] for item in free["memories"])
    assert (len(free["memories"]), len(free["passages"])) == (3, 3 - free["droppedCount"])
    for budget in (0, 1, tokens - 1, tokens, tokens + 30, 4096):
        answer = await memory.retrieve(query="tea", tokenBudget=budget)
        assert [item["text"] for item in answer["memories"]] == [item["text"] for item in free["memories"]]
        passages = answer["tokensTotal"] - tokens
        assert passages >= 0
        assert passages == 0 or answer["tokensTotal"] <= budget
        assert answer["droppedCount"] == 3 - len(answer["passages"])
    assert answer["passages"] != []


async def counts(memory: Memories) -> list[tuple[int, str | None]]:
    async with memory.world.parts.database.snapshot(memory.world.organisation) as session:
        rows = await session.rows(text("SELECT count, system_to FROM memory_accesses ORDER BY system_from"))
        return [(row[0], row[1]) for row in rows]


async def rows_everywhere(memory: Memories, owner: Any) -> dict[str, int]:
    tables = await owner.fetch(
        "SELECT table_name FROM information_schema.columns WHERE column_name = 'organisation_id' "
        "AND table_schema = 'public'"
    )
    return {
        table: await owner.fetchval(
            f'SELECT count(*) FROM "{table}" WHERE organisation_id = $1', memory.world.organisation
        )
        for (table,) in tables
    }


async def test_recalling_writes_nothing_but_evidence(memory: Memories, owner: Any) -> None:
    made = await memory.remember("Tea.", subjectId="ann")
    before = await rows_everywhere(memory, owner)
    for query in (None, "tea", "coffee"):
        await memory.retrieve(subjectId="ann", query=query)
    after = await rows_everywhere(memory, owner)
    evidence = {"attribution_queue", "evidence"}
    assert {table for table in before if before[table] != after[table]} <= {*evidence, "retrieval_traces"}
    assert sum(after[table] - before[table] for table in evidence) == 3
    assert await counts(memory) == []
    assert await memory.memory(made["id"]) == made


async def test_a_linked_response_is_counted_once_and_on_the_system_clock(memory: Memories) -> None:
    await memory.remember("Tea.", subjectId="ann", validFrom=ago(1))
    fresh = await memory.retrieve(subjectId="ann")
    for response in ("one", "one", "two", "one", "two"):
        await memory.link(fresh, response)
    assert [count for count, _ in await counts(memory)] == [1, 2]
    assert [end is None for _, end in await counts(memory)] == [False, True]
    linked = await memory.retrieve(subjectId="ann", asOf=fresh["contract"]["validAt"])
    [item] = linked["memories"]
    assert abs(item["scores"]["frequency"] - math.log(3) / math.log(101)) < 1e-12
    # What was scored before is scored so again.
    old = await memory.retrieve(
        subjectId="ann", asOf=fresh["contract"]["validAt"], knownAt=fresh["contract"]["knownAt"]
    )
    assert old["memories"] == fresh["memories"]
    assert fresh["memories"][0]["scores"]["frequency"] == 0.0


async def test_a_response_cannot_be_linked_to_a_tombstone(memory: Memories) -> None:
    await memory.remember("Tea.", subjectId="ann")
    await memory.forget("ann")
    async with memory.world.parts.database.snapshot(memory.world.organisation) as session:
        [row] = await session.rows(
            text(
                "SELECT id FROM attribution_queue WHERE fields[2] = 'subject_erasure' "
                "UNION ALL SELECT id FROM evidence WHERE fields[2] = 'subject_erasure'"
            )
        )
    assert (await memory.refusal(LINK, {"a": str(row[0]), "r": "response"}))[0] == "ATTRIBUTION_NOT_FOUND"


async def test_too_many_candidates_are_cut_told_counted_and_logged(memory: Memories) -> None:
    await memory.group("team")
    for number in range(6):
        await memory.remember(f"Ann {number}", subjectId="ann", validFrom=ago(number))
        await memory.remember(f"Team {number}", groupKey="team", validFrom=ago(number))
    await memory.member("team", "ann")
    parts = memory.world.parts
    small = replace(parts, retriever=replace(parts.retriever, max_candidates=4))
    memory.api.http._transport.app.state.services = small  # type: ignore[attr-defined]
    before = truncated._value.get()
    with structlog.testing.capture_logs() as logs:
        answer = await memory.retrieve(subjectId="ann")
    assert {item["text"] for item in answer["memories"]} == {f"Ann {number}" for number in range(4)}
    assert {item["text"] for item in answer["groupMemories"]} == {f"Team {number}" for number in range(4)}
    assert answer["searchMeta"]["candidates"] == 8
    assert "CANDIDATES_TRUNCATED" in {item["code"] for item in answer["limitations"]}
    assert truncated._value.get() == before + 2
    for log in [log for log in logs if log["log_level"] == "warning"]:
        assert log["setting"] == "MUNIMENT_MAX_CANDIDATES"
        assert log["value"] == 4
        assert log["spaces"] == [str(memory.world.project)]
    assert len([log for log in logs if log["log_level"] == "warning"]) == 2
    exact = await memory.retrieve(subjectId="ann", asOf=ago(2))
    assert "CANDIDATES_TRUNCATED" not in {item["code"] for item in exact["limitations"]}
    assert exact["searchMeta"]["candidates"] == 8


async def test_what_has_no_embedding_is_compared_anew_whoever_owns_it(memory: Memories, owner: Any) -> None:
    """As after an import: at most 64 a request, newest first, over all owners together."""
    await memory.group("team")
    said = "Ann takes tea in the morning."
    for number in range(40):
        kept = {"validFrom": ago(number)}
        await memory.remember(f"{said} Space {number}.", **kept)
        await memory.remember(f"{said} Ann {number}.", subjectId="ann", **kept)
        await memory.remember(f"{said} Team {number}.", groupKey="team", **kept)
    await memory.member("team", "ann")
    await owner.execute("DELETE FROM memory_embeddings WHERE organisation_id = $1", memory.world.organisation)
    first = await memory.retrieve(subjectId="ann", query=QUESTION)
    compared = [
        item["text"] for item in (*first["memories"], *first["groupMemories"]) if item["scores"]["similarity"] > 0
    ]
    assert sorted(compared) == sorted(
        f"{said} {kind} {number}."
        for kind, most in (("Space", 22), ("Ann", 21), ("Team", 21))
        for number in range(most)
    )
    [stale] = [item for item in first["limitations"] if item["code"] == "STALE_EMBEDDINGS"]
    assert stale["count"] == 120
    item = first["memories"][0]
    assert abs(item["scores"]["similarity"] - await similarity(memory, item["text"])) < 2e-3
    # Nothing was kept of it.
    assert not await owner.fetchval(
        "SELECT count(*) FROM memory_embeddings WHERE organisation_id = $1", memory.world.organisation
    )


@pytest.mark.parametrize("query", ["", " ", "\n\t"])
async def test_a_blank_question_is_none(memory: Memories, query: str) -> None:
    await memory.world.write("tea.txt", ("Tea.", None, None))
    await memory.world.settle()
    await memory.remember("Tea.")
    answer = await memory.retrieve(query=query)
    assert answer["passages"] == []
    assert [item["scores"]["similarity"] for item in answer["memories"]] == [1.0]


async def test_evidence_names_the_pseudonym_and_never_the_subject(memory: Memories) -> None:
    await memory.remember("Tea.", subjectId="ann@example.org")
    answer = await memory.retrieve(subjectId="ann@example.org")
    found = await memory.api.ask(
        "query($id: ID!) { attribution(id: $id) { record } }",
        {"id": answer["attributionId"]},
        token=token_of(memory.world),
    )
    record = found["data"]["attribution"]["record"]
    assert len(record["subjectPseudonym"]) == 64
    assert "ann" not in str(record)
    other = await memory.retrieve(subjectId="ann@example.org")
    assert other["attributionId"] != answer["attributionId"]
