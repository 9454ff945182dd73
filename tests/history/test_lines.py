"""Lines of an import: what is read of them, and what is wrong with one, by its number."""

import json
from datetime import UTC, datetime

import pytest

from app.domain.errors import Code, MunimentError
from app.domain.temporal import ALWAYS, Assert, Erase, Period, Retract, Update
from app.history.lines import FactKind, Line, Verb, moments, read_lines

GOOD = {"fact": "a", "op": "assert", "system": "2026-01-01T00:00:00Z", "text": "Tea."}


def lines(*records: object) -> list[str]:
    return [record if isinstance(record, str) else json.dumps(record) for record in records]


def test_a_line_is_one_operation() -> None:
    [line] = read_lines(
        lines(
            {
                "kind": "document",
                "fact": "guide.md",
                "op": "update",
                "system": "2026-01-01T02:00:00.000001+02:00",
                "from": "2025-01-01T00:00:00Z",
                "to": None,
                "text": "# Guide\u0000",
                "title": "Guide",
                "tags": ["x", "y"],
                "url": None,
            }
        )
    )
    assert line == Line(
        FactKind.DOCUMENT,
        "guide.md",
        Verb.UPDATE,
        datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
        Period(datetime(2025, 1, 1, tzinfo=UTC), None),
        {"text": "# Guide\u0000", "title": "Guide", "tags": ["x", "y"]},
        1,
    )


def test_the_verbs() -> None:
    ops = [
        line.op(7)
        for line in read_lines(lines(*({**GOOD, "op": verb} for verb in ("assert", "update", "retract", "erase"))))
    ]
    assert ops == [Assert(ALWAYS, 7), Update(ALWAYS, 7), Retract(ALWAYS), Erase(ALWAYS)]


def test_blank_lines_are_passed_over_and_counted() -> None:
    assert [line.number for line in read_lines(["\n", *lines(GOOD), "   \n", *lines(GOOD)])] == [2, 4]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ("{", "line 3:"),
        ("[1]", "one JSON object"),
        ("null", "one JSON object"),
        ({**GOOD, "fact": None}, "fact"),
        ({**GOOD, "fact": ""}, "fact"),
        ({**GOOD, "fact": 7}, "fact"),
        ({**GOOD, "fact": "a\u0000"}, "NUL"),
        ({**GOOD, "kind": "person"}, "kind"),
        ({**GOOD, "op": "merge"}, "op"),
        ({**GOOD, "op": None}, "op"),
        ({**GOOD, "system": "2026-01-01"}, "instant"),
        ({**GOOD, "system": 1767225600}, "system"),
        ({**GOOD, "from": "2026-01-01T00:00:00"}, "instant"),
        ({**GOOD, "from": 5}, "from"),
        ({**GOOD, "from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "reversed"),
        ({**GOOD, "from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "empty"),
        ({**GOOD, "text": None}, "needs a text"),
        ({**GOOD, "text": 7}, "text"),
        ({**GOOD, "text": " "}, "characters"),
        ({**GOOD, "text": "a\u0000b"}, "NUL"),
        ({**GOOD, "text": "\ud800"}, "surrogate"),
        ({**GOOD, "importance": 2}, "between 0 and 1"),
        ({**GOOD, "importance": "high"}, "number"),
        ({**GOOD, "importance": True}, "number"),
        ({**GOOD, "epistemicStatus": "guessed"}, "pistemicStatus"),
        ({**GOOD, "transformType": "magic"}, "ransformType"),
        ({**GOOD, "tags": "x"}, "list"),
        ({**GOOD, "tags": [1]}, "list"),
        ({**GOOD, "subject": ""}, "256"),
        ({**GOOD, "form": "2026-01-01T00:00:00Z"}, "nothing is known of form"),
        ({**GOOD, "kind": "document", "op": "erase"}, "cannot be erased"),
        ({**GOOD, "kind": "document", "title": "a\u0000"}, "NUL"),
    ],
)
def test_what_is_wrong_is_told_with_the_number_of_the_line(record: object, said: str) -> None:
    with pytest.raises(MunimentError) as refused:
        list(read_lines(lines(GOOD, "", record, GOOD)))
    assert refused.value.code is Code.BAD_USER_INPUT
    assert refused.value.message.startswith("line 3: ")
    assert said in refused.value.message


def test_lines_of_one_instant_come_together_and_none_before_the_last() -> None:
    at = [{**GOOD, "system": f"2026-01-0{day}T00:00:00Z", "fact": fact} for day, fact in ((1, "a"), (1, "b"), (2, "c"))]
    assert [[line.fact for line in together] for _, together in moments(read_lines(lines(*at)))] == [["a", "b"], ["c"]]
    with pytest.raises(MunimentError, match="line 2: system times must not run backwards"):
        list(moments(read_lines(lines(at[2], at[0]))))
