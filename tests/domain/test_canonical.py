import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

import numpy as np
import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from app.domain.canonical import MAX_SAFE_INTEGER, CanonicalError, big, canonical, fixed

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
# Names on both sides of the surrogates, where code points and UTF-16 code units sort differently.
names = texts | st.text("aZ\x7f\xe9\u20ac\ud7ff\ue000\ufb33\uffff\U00010000\U0001f602", max_size=3)
scalars = st.none() | st.booleans() | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4))
records = st.dictionaries(names, values, max_size=6)


@given(records)
@example({"\U0001f602": 1, "\ufb33": 2, "a": {"\uffff": [], "\U00010000": {}}})
def test_equals_the_reference_library_byte_for_byte(record: dict[str, Any]) -> None:
    assert canonical(record) == rfc8785.dumps(record)


@given(records)
def test_reads_back_as_the_same_record(record: dict[str, Any]) -> None:
    assert json.loads(canonical(record)) == record


@given(records)
def test_order_of_insertion_does_not_matter(record: dict[str, Any]) -> None:
    assert canonical(dict(reversed(record.items()))) == canonical(record)


@given(records, records)
def test_different_records_have_different_bytes(left: dict[str, Any], right: dict[str, Any]) -> None:
    same_bytes = canonical(left) == canonical(right)
    # Python takes 1 and True for equal; JSON does not.
    assert same_bytes == (json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True))


def test_every_control_character_and_escape() -> None:
    for code in range(1, 0x100):
        record = {chr(code): f"<{chr(code)}>"}
        assert canonical(record) == rfc8785.dumps(record)


def test_tuples_read_only_mappings_and_text_enums_are_what_they_hold() -> None:
    class Kind(StrEnum):
        PASSAGE = "passage"

    record = MappingProxyType({"b": (1, 2), "a": MappingProxyType({Kind.PASSAGE: Kind.PASSAGE})})
    assert canonical(record) == b'{"a":{"passage":"passage"},"b":[1,2]}'


class Number(int):
    pass


REFUSED = [
    1.0,
    1e20,
    1e-7,
    -0.0,
    math.nan,
    math.inf,
    np.float32(0.5),
    np.float64(0.5),
    np.int64(1),
    Number(1),
    2**53,
    -(2**53),
    10**400,
    "a\0b",
    "\ud800",
    "\udc00\ud800",
    b"bytes",
    {1, 2},
    Decimal(1),
    UUID(int=1),
    datetime(2026, 7, 5, tzinfo=UTC),
    {1: "number as name"},
    {None: 1},
    {True: 1},
    {"a\0": 1},
    {"\ud83d": 1},
]


@pytest.mark.parametrize("value", REFUSED, ids=ascii)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_refuses_what_has_no_single_form(value: Any, depth: int) -> None:
    record: Any = {"culprit": value}
    for _ in range(depth):
        record = {"culprit": [record]}
    with pytest.raises(CanonicalError, match="culprit"):
        canonical(record)


@pytest.mark.parametrize("record", [{1: 2}, {"a\0": 1}, {"\ud800": 1}, [], "text", None], ids=ascii)
def test_refuses_bad_records_at_the_top(record: Any) -> None:
    with pytest.raises(CanonicalError):
        canonical(record)


def test_the_error_names_the_field_and_never_the_value() -> None:
    with pytest.raises(CanonicalError) as raised:
        canonical({"fine": 1, "query": "secret\0words"})
    assert "'query'" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_refuses_a_record_within_itself_and_one_too_deep() -> None:
    record: dict[str, Any] = {}
    record["self"] = record
    with pytest.raises(CanonicalError, match="nested too deep"):
        canonical(record)
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(CanonicalError, match="nested too deep"):
        canonical({"deep": deep})


def test_the_greatest_integers_pass() -> None:
    record: Mapping[str, Any] = {"least": -MAX_SAFE_INTEGER, "most": MAX_SAFE_INTEGER}
    assert canonical(record) == b'{"least":-9007199254740991,"most":9007199254740991}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.000000"),
        (-0.0, "0.000000"),
        (-1e-9, "0.000000"),
        (-5e-7, "0.000000"),
        (-6e-7, "-0.000001"),
        (1.0, "1.000000"),
        (1e20, "100000000000000000000.000000"),
        (1e-7, "0.000000"),
        (0.1 + 0.2, "0.300000"),
        (-12.34567875, "-12.345679"),
        (5e-324, "0.000000"),
        (np.float32(0.25), "0.250000"),
        (3, "3.000000"),
    ],
)
def test_fixed(value: float, text: str) -> None:
    assert fixed(value) == text


@pytest.mark.parametrize(("places", "text"), [(0, "0"), (1, "0.0"), (3, "0.000")])
def test_fixed_zero_has_no_sign_at_any_number_of_places(places: int, text: str) -> None:
    assert fixed(-0.0, places) == text
    assert fixed(-0.0004, places) == text


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_fixed_refuses_what_is_not_finite(value: float) -> None:
    with pytest.raises(CanonicalError):
        fixed(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_fixed_is_the_nearest_decimal(value: float) -> None:
    text = fixed(value)
    assert abs(Decimal(text) - Decimal(value)) <= Decimal("0.0000005")
    assert len(text.partition(".")[2]) == 6
    assert text.startswith("-") == (Decimal(text) < 0)


@given(st.integers())
def test_big_keeps_every_integer(number: int) -> None:
    assert int(json.loads(canonical({"n": big(number)}))["n"]) == number
