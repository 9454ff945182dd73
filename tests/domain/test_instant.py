"""Strict instants: what is read, what is refused, and that nothing is lost on the way."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Code, MunimentError
from app.domain.instant import FIRST, LAST, as_utc, format_instant, parse_instant

instants = st.datetimes(timezones=st.just(UTC))
#: No example is judged by the time it takes.
untimed = settings(deadline=None)

offsets = st.integers(-(23 * 60 + 59), 23 * 60 + 59)


@pytest.fixture(params=["Pacific/Kiritimati", "Pacific/Midway"])
def _server_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def spelled(utc: datetime, minutes: int) -> str | None:
    """The instant as written in a place so many minutes ahead of UTC; None where its calendar has no such date."""
    try:
        local = utc.replace(tzinfo=None) + timedelta(minutes=minutes)
    except OverflowError:
        return None
    sign, ahead = ("-" if minutes < 0 else "+"), abs(minutes)
    return f"{local.isoformat(timespec='microseconds')}{sign}{ahead // 60:02}:{ahead % 60:02}"


def read_or_refused(text: str) -> datetime | None:
    """None only for the coded refusal; any other error is the test's."""
    try:
        return parse_instant(text)
    except MunimentError as error:
        if error.code is Code.BAD_USER_INPUT:
            return None
        raise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-07-05T00:00:00Z", datetime(2026, 7, 5, tzinfo=UTC)),
        ("2026-07-05t00:00:00z", datetime(2026, 7, 5, tzinfo=UTC)),
        ("2026-07-05T02:00:00+02:00", datetime(2026, 7, 5, tzinfo=UTC)),
        ("2026-07-04T18:30:00-05:30", datetime(2026, 7, 5, tzinfo=UTC)),
        ("2026-07-05T00:00:00-00:00", datetime(2026, 7, 5, tzinfo=UTC)),
        ("2026-07-05T00:00:00.1Z", datetime(2026, 7, 5, microsecond=100_000, tzinfo=UTC)),
        ("2026-07-05T23:59:59.999999Z", datetime(2026, 7, 5, 23, 59, 59, 999_999, tzinfo=UTC)),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", FIRST),
        ("9999-12-31T23:59:59.999998Z", LAST - timedelta(microseconds=1)),
    ],
)
def test_reads(text: str, expected: datetime) -> None:
    got = parse_instant(text)
    assert got == expected
    assert got.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "infinity",
        "2026",
        "2026-07-05",
        "2026-07-05T00:00:00",
        "2026-07-05T00:00Z",
        "2026-07-05T00Z",
        "2026-W27-7",
        "2026-W27-7T00:00:00Z",
        "2026-186T00:00:00Z",
        "20260705T000000Z",
        "2026-07-05 00:00:00Z",
        "2026-07-05T00:00:00 Z",
        " 2026-07-05T00:00:00Z",
        "2026-07-05T00:00:00Z ",
        "2026-07-05T00:00:00Z\n",
        "2026-07-05T00:00:00Z\x00",
        "2026-07-05T00:00:60Z",
        "2016-12-31T23:59:60Z",
        "2026-07-05T00:00:61Z",
        "2026-07-05T00:00:99Z",
        "2026-07-05T24:00:00Z",
        "2026-07-05T99:59:59Z",
        "2026-07-05T00:60:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-07-00T00:00:00Z",
        "2026-06-31T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "-2026-07-05T00:00:00Z",
        "+2026-07-05T00:00:00Z",
        "2026-7-5T00:00:00Z",
        "2026-07-05T00:00:00.Z",
        "2026-07-05T00:00:00,5Z",
        "2026-07-05T00:00:00.0000000Z",
        "2026-07-05T00:00:00.1234567Z",
        "2026-07-05T00:00:00+02",
        "2026-07-05T00:00:00+0200",
        "2026-07-05T00:00:00+2:00",
        "2026-07-05T00:00:00+24:00",
        "2026-07-05T00:00:00+02:60",
        "2026-07-05T00:00:00+02:00:00",
        "2026-07-05T00:00:00\u221202:00",
        "2026-07-05T00:00:00 02:00",
        "2026-07-05T00:00:00UTC",
        "2026-07-05T00:00:00+00:00[UTC]",
        "٢٠٢٦-07-05T00:00:00Z",
        "2026-07-0５T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59.999999-00:01",
        "9999-12-31T23:59:59.999999Z",
    ],
)
def test_refuses(text: str) -> None:
    with pytest.raises(MunimentError) as caught:
        parse_instant(text, "asOf")
    assert caught.value.code is Code.BAD_USER_INPUT
    assert caught.value.field == "asOf"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
        (datetime(2026, 7, 5, 1, 2, 3, 4, tzinfo=UTC), "2026-07-05T01:02:03.000004Z"),
        (datetime(2026, 7, 5, tzinfo=timezone(timedelta(hours=9))), "2026-07-04T15:00:00.000000Z"),
        (LAST, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_writes_the_canonical_form(value: datetime, text: str) -> None:
    assert format_instant(value) == text


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 7, 5),  # noqa: DTZ001
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_refuses_datetimes_without_an_instant_in_utc(value: datetime) -> None:
    for take in (as_utc, format_instant):
        with pytest.raises(MunimentError) as caught:
            take(value)
        assert caught.value.code is Code.BAD_USER_INPUT


@pytest.mark.usefixtures("_server_zone")
def test_the_zone_of_the_server_does_not_matter() -> None:
    midnight = datetime(2026, 7, 5, tzinfo=UTC)
    assert parse_instant("2026-07-05T00:00:00Z") == midnight
    assert format_instant(midnight) == "2026-07-05T00:00:00.000000Z"
    with pytest.raises(MunimentError):
        parse_instant("2026-07-05T00:00:00")
    with pytest.raises(MunimentError):
        as_utc(datetime(2026, 7, 5))  # noqa: DTZ001


@given(instants)
@untimed
def test_what_is_written_is_read_back(instant: datetime) -> None:
    text = format_instant(instant)
    assert len(text) == 27
    assert parse_instant(text) == instant
    assert format_instant(parse_instant(text)) == text


@given(instants, offsets)
@untimed
def test_one_instant_has_many_spellings_and_one_text(instant: datetime, minutes: int) -> None:
    text = spelled(instant, minutes)
    if text is not None:
        assert parse_instant(text) == instant
        assert format_instant(parse_instant(text)) == format_instant(instant)


@given(instants, instants)
@untimed
def test_texts_sort_as_instants_do(one: datetime, other: datetime) -> None:
    assert (format_instant(one) < format_instant(other)) == (one < other)


@given(st.datetimes(), offsets)
@settings(untimed, max_examples=200)
def test_beyond_the_calendar_is_an_input_error(local: datetime, minutes: int) -> None:
    """Both ends are drawn often, so that conversions past them happen."""
    for day in (local, local.replace(year=1, month=1, day=1), local.replace(year=9999, month=12, day=31)):
        text = spelled(day.replace(tzinfo=UTC), 0)
        assert text is not None
        sign, ahead = ("-" if minutes < 0 else "+"), abs(minutes)
        text = f"{text[:-6]}{sign}{ahead // 60:02}:{ahead % 60:02}"
        try:
            expected = day - timedelta(minutes=minutes)
        except OverflowError:
            with pytest.raises(MunimentError):
                parse_instant(text)
        else:
            assert parse_instant(text) == expected.replace(tzinfo=UTC)


@given(
    instants, offsets, st.integers(0, 31), st.sampled_from([*"0123456789-+:.TtZz W,\n\x00", "５", ""]), st.booleans()
)
@settings(untimed, max_examples=500)
def test_a_damaged_text_is_refused_or_means_what_it_says(
    instant: datetime, minutes: int, place: int, put: str, over: bool
) -> None:
    text = spelled(instant, minutes) or format_instant(instant)
    damaged = text[:place] + put + text[place + over :]
    got = read_or_refused(damaged)
    assert got is None or got == datetime.fromisoformat(damaged.upper())


@given(st.text() | st.text("0123456789-+:.TZ", min_size=18, max_size=34))
@untimed
def test_no_text_breaks_it(text: str) -> None:
    got = read_or_refused(text)
    assert got is None or got.tzinfo is UTC
