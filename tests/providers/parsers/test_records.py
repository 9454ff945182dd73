import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.parsers.blocks import MESSAGE, Parsed
from app.providers.parsers.records import parse_records
from tests.providers.parsers.test_blocks import assert_whole


def lines(*records: Any) -> str:
    return "\n".join(item if isinstance(item, str) else json.dumps(item) for item in records)


def told(parsed: Parsed) -> list[tuple[int | None, tuple[str, ...], str]]:
    assert_whole(parsed)
    return [(b.row_start, b.heading_path, parsed.text[b.start : b.end].strip()) for b in parsed.blocks]


def test_a_message_has_its_thread_its_line_its_sender_and_time() -> None:
    parsed = parse_records(
        lines(
            {"thread": "Release", "sender": "ann", "time": "2026-01-02T03:04:05Z", "text": "Ship it?"},
            "",
            {"thread": "Release", "user": {"name": "Bob"}, "ts": "1767323045.000100", "text": "Yes.\n\nNow."},
        )
    )
    assert told(parsed) == [
        (1, ("Release",), "ann · 2026-01-02T03:04:05Z\nShip it?"),
        (3, ("Release",), "Bob · 2026-01-02T03:04:05Z\nYes.\n\nNow."),
    ]
    assert {block.kind for block in parsed.blocks} == {MESSAGE}
    start, end = parsed.blocks[1].header or (0, 0)
    assert parsed.text[start:end] == "Bob · 2026-01-02T03:04:05Z"


def test_an_issue_is_its_text_and_then_its_comments() -> None:
    issue = {
        "number": 12, "title": "Crash on start", "state": "open", "labels": [{"name": "bug"}, {"name": "p1"}],
        "user": {"login": "zed"}, "created_at": "2026-01-01T00:00:00Z", "body": "It crashes.",
        "comments": [{"user": {"login": "kim"}, "body": "Me too."}],
    }  # fmt: skip
    assert told(parse_records(lines(issue))) == [
        (
            1,
            ("#12 Crash on start",),
            "zed · 2026-01-01T00:00:00Z\nCrash on start\n\nstate: open; labels: bug, p1\n\nIt crashes.",
        ),
        (1, ("#12 Crash on start",), "kim\nMe too."),
    ]


def test_a_conversation_of_an_assistant_is_its_messages() -> None:
    parts = [{"type": "text", "text": "Part one."}, {"type": "text", "text": "Part two."}]
    talk = {
        "title": "Cooking",
        "messages": [{"role": "user", "content": "Soup?"}, {"role": "assistant", "content": parts}],
    }
    assert told(parse_records(lines(talk))) == [
        (1, ("Cooking",), "user\nSoup?"),
        (1, ("Cooking",), "assistant\nPart one.\nPart two."),
    ]


@pytest.mark.parametrize("time", [1767323045, 1767323045000, "1767323045"])
def test_seconds_and_milliseconds_are_instants(time: int | str) -> None:
    assert told(parse_records(lines({"time": time, "text": "x"}))) == [(1, (), "2026-01-02T03:04:05Z\nx")]


def test_lines_that_are_no_json_are_kept_and_counted() -> None:
    parsed = parse_records(lines({"text": "good"}, "{bad", "[" * 100_000, {"text": "also"}))
    assert [row for row, _, _ in told(parsed)] == [1, 2, 3, 4]
    assert told(parsed)[1] == (2, (), "{bad")
    assert parsed.problems == ("Lines that are not JSON: 2, the first is 2.",)


def test_records_without_messages_stay_as_they_are() -> None:
    text = '{"a": 1}\n{"a": 2}\n'
    parsed = parse_records(text)
    assert parsed.text == text
    assert told(parsed) == [(1, (), '{"a": 1}'), (2, (), '{"a": 2}')]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "title", "user", "time", "comments", "messages", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=4))
def test_any_json_is_whole_and_in_the_order_of_its_lines(records: list[Any]) -> None:
    parsed = parse_records(lines(*(json.dumps(record) for record in records)))
    found = [row for row, _, _ in told(parsed)]
    assert found == sorted(number for number in found if number is not None)
    assert set(found) == set(range(1, len(records) + 1))


@given(st.lists(st.text(min_size=1, max_size=30).filter(lambda text: text.strip()), min_size=1, max_size=5))
def test_no_message_is_lost(texts: list[str]) -> None:
    found = told(parse_records(lines(*({"text": text} for text in texts))))
    assert [text for _, _, text in found] == [text.strip() for text in texts]
