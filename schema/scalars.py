"""Scalars: instants that are never naive, and integers beyond 2^31."""

import re
from datetime import datetime
from typing import Any, NewType

import strawberry
from strawberry.scalars import JSON

from app.domain.canonical import MAX_SAFE_INTEGER
from app.domain.errors import bad_input
from app.domain.instant import format_instant, parse_instant

__all__ = ["JSON", "SCALARS", "BigInt", "Instant"]

Instant = datetime
BigInt = NewType("BigInt", int)

_GREATEST = 2**63 - 1
_DECIMAL = re.compile(r"-?[0-9]{1,19}")


def _parse_instant(value: object) -> datetime:
    if not isinstance(value, str):
        raise bad_input("an instant is a string")
    return parse_instant(value)


def _parse_big_int(value: object) -> int:
    """A whole number as a JSON number or as a decimal string."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise bad_input("a BigInt is a whole number or a decimal string")
    if isinstance(value, str) and not _DECIMAL.fullmatch(value):
        raise bad_input("a BigInt is a whole number or a decimal string")
    number = int(value)
    if abs(number) > _GREATEST:
        raise bad_input("a BigInt has at most 64 bits")
    return number


def _serialise_big_int(value: int) -> int | str:
    """A JSON number where every reader keeps it exactly, else a string."""
    return value if abs(value) <= MAX_SAFE_INTEGER else str(value)


def _serialise_instant(value: datetime) -> str:
    return format_instant(value)


SCALARS: dict[object, Any] = {
    Instant: strawberry.scalar(
        name="Instant",
        description="A moment with its offset, RFC 3339, microseconds: `2026-07-05T09:30:00.000000Z`. Never naive.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc3339",
        serialize=_serialise_instant,
        parse_value=_parse_instant,
    ),
    BigInt: strawberry.scalar(
        name="BigInt",
        description="A whole number of up to 64 bits: a JSON number up to 2^53 − 1, beyond it a decimal string.",
        serialize=_serialise_big_int,
        parse_value=_parse_big_int,
    ),
}
