"""Instants are never naive and keep their microseconds; big integers keep their value."""

import json
from typing import Any

import pytest
import strawberry
from hypothesis import given
from hypothesis import strategies as st
from strawberry.schema.config import StrawberryConfig

from schema.scalars import SCALARS, BigInt, Instant
from tests.schema.conftest import Api


@strawberry.type
class Query:
    @strawberry.field
    def moment(self, at: Instant) -> Instant:
        return at

    @strawberry.field
    def big(self, number: BigInt) -> BigInt:
        return number


ECHO = strawberry.Schema(Query, config=StrawberryConfig(scalar_map=SCALARS))

AS_LITERAL = '{ retrieve(input: {query: "x", asOf: %s}) { contract { validAt } } }'
IN_A_VARIABLE = "query ($input: RetrieveInput!) { retrieve(input: $input) { contract { validAt } } }"
AS_A_VARIABLE = 'query ($at: Instant) { retrieve(input: {query: "x", asOf: $at}) { contract { validAt } } }'

REFUSED = [
    "2026-07-05T00:00:00",
    "2026-07-05",
    "2026-W27-7",
    "2026-W27-7T00:00:00Z",
    "2026-07-05T23:59:60Z",
    "2026-07-05 00:00:00Z",
    "2026-07-05T24:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-07-05T00:00:00.1234567Z",
    "infinity",
    "",
    1751673600,
    True,
]


@pytest.mark.parametrize("value", REFUSED)
async def test_an_instant_that_would_be_guessed_is_refused_as_a_literal(api: Api, value: Any) -> None:
    error = await api.error(AS_LITERAL % json.dumps(value))
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert error["extensions"]["field"] == "asOf"
    assert error["locations"] == [{"line": 1, "column": AS_LITERAL.index("%s") + 1}]


@pytest.mark.parametrize("value", REFUSED)
@pytest.mark.parametrize(
    ("query", "name", "field"), [(IN_A_VARIABLE, "input", "asOf"), (AS_A_VARIABLE, "at", "at")], ids=["input", "alone"]
)
async def test_an_instant_that_would_be_guessed_is_refused_as_a_variable(
    api: Api, query: str, name: str, field: str, value: Any
) -> None:
    given = {"query": "x", "asOf": value} if name == "input" else value
    error = await api.error(query, {name: given})
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert error["extensions"]["field"] == field
    assert error["locations"] == [{"line": 1, "column": query.index("$") + 1}]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("2026-07-05T11:30:00.123456+02:00", "2026-07-05T09:30:00.123456Z"),
        ("2026-07-05T09:30:00Z", "2026-07-05T09:30:00.000000Z"),
        ("2026-07-05t09:30:00.1z", "2026-07-05T09:30:00.100000Z"),
        ("2026-07-04T22:00:00.000001-12:00", "2026-07-05T10:00:00.000001Z"),
    ],
)
async def test_an_instant_keeps_its_microseconds_and_comes_back_in_one_form(api: Api, given: str, shown: str) -> None:
    for query, variables in (
        (AS_LITERAL % json.dumps(given), {}),
        (IN_A_VARIABLE, {"input": {"query": "x", "asOf": given}}),
        (AS_A_VARIABLE, {"at": given}),
    ):
        data = await api.data(query, variables)
        assert data["retrieve"]["contract"]["validAt"] == shown


@given(st.datetimes(timezones=st.timezones()))
def test_any_instant_comes_back_as_the_same_instant(moment: Any) -> None:
    utc = moment.utcoffset()
    assert utc is not None
    offset = int(utc.total_seconds())
    if offset % 60:  # RFC 3339 has no seconds in an offset
        return
    sign, minutes = ("-" if offset < 0 else "+"), abs(offset) // 60
    text = f"{moment.replace(tzinfo=None).isoformat()}{sign}{minutes // 60:02}:{minutes % 60:02}"
    result = ECHO.execute_sync("query ($at: Instant!) { moment(at: $at) }", {"at": text})
    if result.errors:  # the year leaves 1 … 9999 once in UTC
        assert moment.year in {1, 9999}
        return
    assert result.data is not None
    again = ECHO.execute_sync("query ($at: Instant!) { moment(at: $at) }", {"at": result.data["moment"]})
    assert again.data == result.data
    assert result.data["moment"].endswith("Z")
    assert len(result.data["moment"]) == len("2026-07-05T09:30:00.000000Z")


@pytest.mark.parametrize("number", [0, -1, 2**31, 2**53 - 1, -(2**53) + 1, 2**53, 2**63 - 1, -(2**63) + 1])
def test_a_big_integer_keeps_its_value(number: int) -> None:
    """A JSON number as far as every reader keeps it, a string beyond."""
    shown = number if abs(number) < 2**53 else str(number)
    for query, variables in (
        (f"{{ big(number: {number}) }}", {}),
        (f'{{ big(number: "{number}") }}', {}),
        ("query ($n: BigInt!) { big(number: $n) }", {"n": number}),
        ("query ($n: BigInt!) { big(number: $n) }", {"n": str(number)}),
    ):
        result = ECHO.execute_sync(query, variables)
        assert result.errors is None
        assert result.data == {"big": shown}


@pytest.mark.parametrize(
    "value", [2**63, -(2**63), 1.5, 1e3, True, "", " 1", "1_000", "+1", "١", "0x10", "1.0", "9" * 30]
)
def test_what_is_no_big_integer_is_refused(value: Any) -> None:
    result = ECHO.execute_sync("query ($n: BigInt!) { big(number: $n) }", {"n": value})
    assert result.data is None
    assert result.errors
