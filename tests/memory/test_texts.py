"""What a memory can hold: any text that PostgreSQL can, as it was written, and nothing beyond its limits."""

import pytest

from app.memory.people import MAX_NAME
from app.memory.revision import MAX_TEXT
from tests.memory.conftest import CHANGE, CORRECT, GROUP, MEMBER, MEMORIES, PROPOSE, REMEMBER, SUBJECT, Memories

ODD = [
    "<|endoftext|>",
    "'; DROP TABLE memory_versions; --",
    '{}[]\\"\\\\ \b\f\v\x7f\x1b[31m',
    "\u202eright to left\u202c",
    "e\u0301 and é",
    "日本語のテスト 部署",
    "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "\ufeffmark",
    "line\r\nline\rline\u2028line\u0085",
    " leading and trailing \n",
    "%s %(x)s :name :organisation {0}",
    "a" * MAX_TEXT,
    "\U0010ffff" * MAX_TEXT,
]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
async def test_any_text_comes_back_as_it_was_written(memory: Memories, text: str) -> None:
    made = await memory.remember(text, subjectId="ann", tags=[text[:MAX_NAME]], validFrom=None)
    assert (made["text"], made["tags"]) == (text, [text[:MAX_NAME]])
    other = await memory.remember("x", subjectId=text[:MAX_NAME], validFrom=None)
    assert (await memory.correct(other["id"], text=text))["text"] == text
    [listed] = await memory.listed(subjectId=text[:MAX_NAME])
    assert listed["text"] == text
    answer = await memory.retrieve(subjectId=text[:MAX_NAME], tokenBudget=None)
    assert [item["text"] for item in answer["memories"]] == [text]
    assert [item["value"]["text"] for item in await memory.history(other["id"])] == ["x", text]


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t \u2003", "a" * (MAX_TEXT + 1), "a\u0000b", "\u0000", "\ud800", "a\udfffb"]
)
async def test_a_text_that_cannot_be_kept_is_refused(memory: Memories, text: str) -> None:
    made = await memory.remember("x")
    for query, variables in (
        (REMEMBER, {"i": {"text": text, "subjectId": "new", "spaceKey": "project"}}),
        (CORRECT, {"id": made["id"], "c": {"text": text}}),
        (CHANGE, {"id": made["id"], "c": {"text": text}}),
        (PROPOSE, {"id": made["id"], "c": {"text": text}}),
        (PROPOSE, {"space": "project", "c": {"text": text}}),
    ):
        # Half of a surrogate pair is refused for the whole request, before anybody knows its field.
        field = None if any("\ud800" <= character <= "\udfff" for character in text) else "text"
        assert await memory.refusal(query, variables) == ("BAD_USER_INPUT", field)
    assert await memory.memory(made["id"]) == made
    assert await memory.listed(subjectId="new") == []


@pytest.mark.parametrize("name", ["", "n" * (MAX_NAME + 1), "a\u0000b", "\udc00"])
async def test_a_name_that_cannot_be_kept_is_refused(memory: Memories, name: str) -> None:
    await memory.group("team")
    await memory.remember("x", subjectId="ann")
    for query, variables in (
        (REMEMBER, {"i": {"text": "x", "subjectId": name}}),
        (REMEMBER, {"i": {"text": "x", "groupKey": name}}),
        (REMEMBER, {"i": {"text": "x", "tags": ["a", name]}}),
        (SUBJECT, {"id": name}),
        (GROUP, {"key": name}),
        (GROUP, {"key": "crew", "name": name}),
        (MEMBER, {"g": name, "s": "ann", "v": True, "m": True}),
        (MEMBER, {"g": "team", "s": name, "v": True, "m": True}),
        (MEMORIES, {"subjectId": name}),
        (MEMORIES, {"groupKey": name}),
    ):
        assert (await memory.refusal(query, variables))[0] == "BAD_USER_INPUT", (query, variables)


@pytest.mark.parametrize("value", [-0.1, 1.1, 1e300, -1e-9])
@pytest.mark.parametrize("part", ["importance", "confidence"])
async def test_shares_lie_between_0_and_1(memory: Memories, part: str, value: float) -> None:
    made = await memory.remember("x")
    assert await memory.refusal(REMEMBER, {"i": {"text": "x", part: value}}) == ("BAD_USER_INPUT", part)
    assert await memory.refusal(CORRECT, {"id": made["id"], "c": {part: value}}) == ("BAD_USER_INPUT", part)
    assert await memory.refusal(PROPOSE, {"id": made["id"], "c": {part: value}}) == ("BAD_USER_INPUT", part)


@pytest.mark.parametrize("value", [0.0, 1.0, 1e-300, 0.1 + 0.2, 2 / 3])
async def test_shares_come_back_to_the_last_digit(memory: Memories, value: float) -> None:
    made = await memory.remember("x", importance=value, confidence=value)
    assert (made["importance"], made["confidence"]) == (value, value)
    proposed = await memory.data(PROPOSE, {"id": made["id"], "c": {"importance": value, "confidence": value}}, None)
    assert proposed["revision"] == 2
    [row] = await memory.history(made["id"])
    assert (row["value"]["importance"], row["value"]["confidence"]) == (value, value)
