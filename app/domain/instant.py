"""Instants: the one way in and the one way out. Strict RFC 3339 with an offset, microseconds, UTC."""

import re
from datetime import UTC, datetime, timedelta, timezone

from app.domain.errors import bad_input

#: The first and the last instant that can be written. An open end is None, never one of these.
FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)

_SHAPE = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)


def as_utc(value: datetime, field: str | None = None) -> datetime:
    """The same instant in UTC. BAD_USER_INPUT when naive, or outside the years 0001 to 9999 once in UTC."""
    if value.tzinfo is UTC:
        return value
    if value.utcoffset() is None:
        raise bad_input("An instant needs an offset from UTC.", field)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise bad_input("An instant must lie in the years 0001 to 9999 of UTC.", field) from None


def parse_instant(text: str, field: str | None = None) -> datetime:
    """An RFC 3339 `date-time` (section 5.6) as an aware UTC datetime; BAD_USER_INPUT names `field`.

    The offset is mandatory; `t` and `z` may be small, as the RFC allows. `-00:00` is accepted: it says that the local
    offset is unknown, yet the instant is as certain as with `Z` (section 4.3). Refused, since reading them would guess
    or lose something: naive times, bare and week dates, a blank in place of `T`, leap second 60, 24:00, dates that do
    not exist, more than six digits of fraction, digits other than 0 to 9, blanks around.
    """
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise bad_input("An instant is written like 2026-07-05T09:30:00.000000Z or 2026-07-05T11:30:00+02:00.", field)
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    fraction, sign, offset_hours, offset_minutes = match.groups()[6:]
    if fraction is not None and len(fraction) > 6:
        raise bad_input("An instant has at most six digits of fraction (microseconds).", field)
    if second == 60:
        raise bad_input("A leap second (60) is not an instant that can be kept.", field)
    offset = timedelta()
    if sign is not None:
        offset = timedelta(hours=int(offset_hours), minutes=int(offset_minutes)) * (-1 if sign == "-" else 1)
    microsecond = int((fraction or "0").ljust(6, "0"))
    try:
        local = datetime(year, month, day, hour, minute, second, microsecond, tzinfo=timezone(offset))
    except ValueError:
        raise bad_input("No such instant in the calendar.", field) from None
    instant = as_utc(local, field)
    if instant == LAST:
        raise bad_input("The last microsecond of the calendar cannot be told from an open end.", field)
    return instant


def format_instant(value: datetime) -> str:
    """The canonical form: UTC, six digits of fraction, `Z`. One text an instant, and texts sort as instants do."""
    return as_utc(value).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
