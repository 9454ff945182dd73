"""`history`: every rectangle ever believed of a document, a memory or a membership, page by page."""

from itertools import pairwise
from typing import Any

import pytest

from app.domain.principal import Permission
from tests.fixtures.store import World
from tests.memory.conftest import HISTORY, Memories

SINCE = [f"2026-06-{day:02}T00:00:00.000000Z" for day in range(1, 11)]


async def pages(memory: Memories, id: str, first: int, known_at: str | None = None) -> list[list[dict[str, Any]]]:
    found, after = [], None
    while True:
        variables = {"id": id, "first": first, "after": after, "k": known_at}
        page = (await memory.api.data(HISTORY, variables))["history"]
        found.append([edge["node"] for edge in page["edges"]])
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            return found


async def a_memory(memory: Memories) -> str:
    made = await memory.remember("0", validFrom=SINCE[0])
    for number, since in enumerate(SINCE[1:7], 1):
        await memory.change(made["id"], since, text=str(number))
    await memory.retract(made["id"], SINCE[3], SINCE[4])
    return str(made["id"])


async def a_membership(memory: Memories) -> str:
    await memory.group("team")
    await memory.remember("Ann.", subjectId="ann")
    for number, since in enumerate(SINCE):
        made = await memory.member("team", "ann", verified=bool(number % 2), since=since)
    return str(made["id"])


async def a_document(memory: Memories) -> str:
    for number in range(8):
        await memory.world.write("guide.md", (f"# Guide\n\nRevision {number}.", None, None))
    answer = await memory.retrieve(query="guide revision")
    return str(await document_id(memory.world)) if answer else ""


async def document_id(world: World) -> str:
    answer = await world.ask("guide")
    return str(answer.passages[0].candidate.document_id)


@pytest.mark.parametrize(
    ("kind", "make", "names"),
    [
        (
            "MEMORY",
            a_memory,
            {"text", "importance", "confidence", "epistemicStatus", "transformType", "tags", "revision"},
        ),
        ("MEMBERSHIP", a_membership, {"verified"}),
        ("DOCUMENT", a_document, {"externalId", "title", "contentSha256", "tags"}),
    ],
)
async def test_pages_make_up_the_whole_history(memory: Memories, kind: str, make: Any, names: set[str]) -> None:
    id = await make(memory)
    [whole] = await pages(memory, id, 100)
    assert len(whole) >= 8
    assert {(row["kind"], frozenset(row["value"])) for row in whole} == {(kind, frozenset(names))}
    assert [row["systemFrom"] for row in whole] == sorted(row["systemFrom"] for row in whole)
    for first in (1, 3, len(whole)):
        cut = await pages(memory, id, first)
        assert [len(page) for page in cut[:-1]] == [first] * (len(cut) - 1)
        assert [row for page in cut for row in page] == whole
    for known_at in {row["systemFrom"] for row in whole} | {row["systemTo"] for row in whole if row["systemTo"]}:
        believed = [
            row
            for row in whole
            if row["systemFrom"] <= known_at and (row["systemTo"] is None or row["systemTo"] > known_at)
        ]
        believed.sort(key=lambda row: row["validFrom"] or "")
        assert [row for page in await pages(memory, id, 2, known_at) for row in page] == believed
        ends = [(row["validFrom"], row["validTo"]) for row in believed]
        assert all(one[1] is not None and one[1] <= (other[0] or "") for one, other in pairwise(ends))


async def test_a_page_stays_where_it_was_when_the_fact_moves_on(memory: Memories) -> None:
    id = await a_memory(memory)
    variables = {"id": id, "first": 3}
    first = (await memory.api.data(HISTORY, variables))["history"]
    await memory.correct(id, importance=0.9)
    variables["after"] = first["pageInfo"]["endCursor"]
    [whole] = await pages(memory, id, 100)
    second = (await memory.api.data(HISTORY, variables))["history"]
    shown = [edge["node"]["id"] for page in (first, second) for edge in page["edges"]]
    assert shown == [row["id"] for row in whole][:6]


@pytest.mark.parametrize("after", ["", "x", "aGlzdG9yeTo=", "aGlzdG9yeTotMQ==", "bWVtb3JpZXM6MQ=="])
async def test_a_cursor_of_something_else_is_refused(memory: Memories, after: str) -> None:
    id = await a_memory(memory)
    assert await memory.refusal(HISTORY, {"id": id, "after": after}) == ("BAD_USER_INPUT", "after")
    assert await memory.refusal(HISTORY, {"id": id, "first": -1}) == ("BAD_USER_INPUT", "first")


async def test_who_may_not_read_the_space_finds_no_history(memory: Memories) -> None:
    ids = [await a_document(memory), await a_membership(memory)]
    await memory.world.add_person("stranger")
    await memory.person("searcher", "project", Permission.SEARCH)
    await memory.person("reader", "project", Permission.READ)
    for id in ids:
        assert (await memory.refusal(HISTORY, {"id": id}, "stranger"))[0] == "NOT_FOUND"
        assert (await memory.refusal(HISTORY, {"id": id}, "searcher"))[0] == "FORBIDDEN"
        assert await memory.history(id, by="reader") == await memory.history(id)
