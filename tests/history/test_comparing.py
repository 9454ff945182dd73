"""`compareRetrievals`: what the same question yields at two points of either clock."""

from typing import Any

from app.domain.instant import parse_instant
from tests.memory.conftest import Memories

COMPARE = """query($i: RetrieveInput!, $l: PointInput!, $r: PointInput!) {
    compareRetrievals(input: $i, left: $l, right: $r) {
    left { ...Side } right { ...Side }
    added { text memoryId documentId } removed { text memoryId documentId }
    changed { left { text memoryId documentId } right { text memoryId documentId } } } }
    fragment Side on RetrievalResult { attributionId requestId passages { text } memories { text }
    contract { validAt knownAt } }"""
JUNE, JULY = "2026-06-01T00:00:00.000000Z", "2026-07-01T00:00:00.000000Z"
#: Every passage of a small store, so that places do not push each other out.
ALL = {"spaceKey": "project", "topK": 50, "maxPerLevel": 50, "maxPassagesPerDocument": 50, "tokenBudget": None}


async def compare(memory: Memories, left: dict[str, Any], right: dict[str, Any], **asked: Any) -> dict[str, Any]:
    found: dict[str, Any] = await memory.data(COMPARE, {"i": {**ALL, **asked}, "l": left, "r": right}, None)
    return found


def said(items: list[dict[str, Any]]) -> list[str]:
    return sorted(item["text"] for item in items)


async def test_on_valid_time(memory: Memories) -> None:
    write, june = memory.world.write, parse_instant(JUNE)
    await write("steady.md", ("# Refunds\n\nRefunds are steady.", None, None))
    await write("gone.md", ("# Refunds\n\nRefunds by letter.", None, june))
    await write("new.md", ("# Refunds\n\nRefunds by app.", june, None))
    await write(
        "moved.md",
        ("# Refunds\n\nRefunds take five days.", None, june),
        ("# Refunds\n\nRefunds take nine days.", june, None),
    )
    await memory.world.settle()
    found = await compare(memory, {"asOf": "2026-05-31T23:59:59.999999Z"}, {"asOf": JUNE}, query="refunds")
    assert said(found["added"]) == ["# Refunds\n\nRefunds by app."]
    assert said(found["removed"]) == ["# Refunds\n\nRefunds by letter."]
    [changed] = found["changed"]
    assert changed["left"]["text"].endswith("five days.")
    assert changed["right"]["text"].endswith("nine days.")
    assert changed["left"]["documentId"] == changed["right"]["documentId"]
    assert found["right"]["contract"]["validAt"] == JUNE
    back = await compare(memory, {"asOf": JUNE}, {"asOf": "2026-05-31T23:59:59.999999Z"}, query="refunds")
    assert (said(back["added"]), said(back["removed"])) == (said(found["removed"]), said(found["added"]))


async def test_on_system_time_with_memories(memory: Memories) -> None:
    stays = await memory.remember("Ann stays.", subjectId="ann", validFrom=None)
    gone = await memory.remember("Ann goes.", subjectId="ann", validFrom=None)
    changes = await memory.remember("Ann takes tea.", subjectId="ann", validFrom=None)
    await memory.world.write("refunds.txt", ("Refunds take five days.", None, None))
    await memory.world.settle()
    then = (await memory.retrieve(subjectId="ann"))["contract"]["knownAt"]
    await memory.retract(gone["id"])
    await memory.correct(changes["id"], text="Ann takes coffee.")
    new = await memory.remember("Ann is new.", subjectId="ann", validFrom=None)
    await memory.world.write("refunds.txt")
    found = await compare(memory, {"knownAt": then}, {}, query="refunds", subjectId="ann")
    assert {(item["text"], item["memoryId"]) for item in found["added"]} == {("Ann is new.", new["id"])}
    assert said(found["removed"]) == ["Ann goes.", "Refunds take five days."]
    [changed] = found["changed"]
    assert (changed["left"]["text"], changed["right"]["text"]) == ("Ann takes tea.", "Ann takes coffee.")
    assert changed["left"]["memoryId"] == changed["right"]["memoryId"] == changes["id"]
    assert stays["id"] not in str(found["changed"])
    assert found["left"]["contract"]["knownAt"] == then
    assert found["right"]["contract"]["knownAt"] > then


async def test_a_point_against_itself_differs_in_nothing(memory: Memories) -> None:
    await memory.remember("Ann.", subjectId="ann", validFrom=None)
    await memory.world.write("refunds.md", ("# Refunds\n\nSame.\n\n# Refunds\n\nSame.", None, None))
    await memory.world.settle()
    then = (await memory.retrieve())["contract"]["knownAt"]
    for point in ({}, {"asOf": JULY}, {"knownAt": then}, {"asOf": JUNE, "knownAt": then}):
        found = await compare(memory, point, point, query="refunds", subjectId="ann")
        assert (found["added"], found["removed"], found["changed"]) == ([], [], [])


async def test_both_sides_leave_their_evidence(memory: Memories) -> None:
    await memory.remember("Ann.", subjectId="ann", validFrom=None)
    found = await compare(memory, {"asOf": JUNE}, {"asOf": JULY}, subjectId="ann")
    sides = [found[name] for name in ("left", "right")]
    assert len({side["requestId"] for side in sides} | {side["attributionId"] for side in sides}) == 4
    for side in sides:
        shown = await memory.api.data(
            "query($id: ID!) { attribution(id: $id) { requestId record } }", {"id": side["attributionId"]}
        )
        record = shown["attribution"]["record"]
        assert shown["attribution"]["requestId"] == side["requestId"]
        assert {name: record[name] for name in ("validAt", "knownAt")} == side["contract"]
        assert len(record["memories"]) == 1


async def test_a_space_that_is_not_there_is_told_once_and_nothing_is_recorded(memory: Memories) -> None:
    code, _ = await memory.refusal(COMPARE, {"i": {"spaceKey": "nowhere"}, "l": {}, "r": {}})
    assert code == "SPACE_NOT_FOUND"
    code, _ = await memory.refusal(COMPARE, {"i": {}, "l": {"asOf": "2026-06-01"}, "r": {}})
    assert code == "BAD_USER_INPUT"
