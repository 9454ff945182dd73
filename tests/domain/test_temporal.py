"""The two clocks against a brute-force model: every point of a small grid is asked."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from itertools import combinations, count, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Code, MunimentError
from app.domain.instant import FIRST, LAST
from app.domain.temporal import (
    ALWAYS,
    AsOf,
    Assert,
    Erase,
    History,
    Op,
    Period,
    Portion,
    Retract,
    Row,
    Timeline,
    Update,
    applied,
    assert_fact,
    at,
    clip,
    coalesce,
    diff,
    retract,
    subtract,
    union,
    update_fact,
)

# Neighbouring points are one microsecond apart, so the grid leaves no instant between them unasked.
EDGE = 8
ZERO = datetime(2026, 7, 5, tzinfo=UTC)


def instant(point: int) -> datetime:
    return ZERO + timedelta(microseconds=point)


GRID = (FIRST, *(instant(point) for point in range(-1, EDGE + 1)), LAST)


@st.composite
def periods(draw: st.DrawFn) -> Period:
    start = draw(st.none() | st.sampled_from(GRID))
    later = [point for point in GRID if (start or FIRST) < point]
    end = draw(st.none() | st.sampled_from(later)) if later else None
    return Period(start, end)


#: No example is judged by the time it takes.
untimed = settings(deadline=None)

values = st.integers(0, 2)
operations: st.SearchStrategy[Op[int]] = st.one_of(
    st.builds(Assert, periods(), values),
    st.builds(Update, periods(), values),
    st.builds(Retract, periods()),
    st.builds(Erase, st.just(ALWAYS) | periods()),
)
writes = operations.filter(lambda op: not isinstance(op, Erase))


@st.composite
def timelines(draw: st.DrawFn) -> Timeline[int]:
    """Any timeline: equal neighbours, gaps and open sides included."""
    timeline: Timeline[int] = ()
    for period, value in draw(st.lists(st.tuples(periods(), values), max_size=6)):
        timeline = tuple(
            sorted([*retract(timeline, period), Portion(period, value)], key=lambda p: p.period.start or FIRST)
        )
    return timeline


def points(period: Period) -> set[datetime]:
    """By the definition of half-open, not by the code under test."""
    return {
        point
        for point in GRID
        if (period.start is None or period.start <= point) and (period.end is None or point < period.end)
    }


def covered(these: Sequence[Period]) -> set[datetime]:
    return set().union(*(points(period) for period in these))


def believed(timeline: Timeline[int]) -> dict[datetime, int]:
    return {point: portion.value for portion in timeline for point in points(portion.period)}


def model(before: dict[datetime, int], op: Op[int]) -> dict[datetime, int]:
    inside = points(op.period)
    match op:
        case Assert(_, value):
            return before | dict.fromkeys(inside, value)
        case Update(_, value):
            return before | dict.fromkeys(inside & before.keys(), value)
        case _:
            return {point: value for point, value in before.items() if point not in inside}


def assert_orderly(these: Sequence[Period]) -> None:
    for left, right in pairwise(these):
        assert left.end is not None
        assert right.start is not None
        assert left.end <= right.start


# --- periods ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (ZERO, ZERO),
        (instant(1), instant(0)),
        (ZERO, datetime(2026, 7, 5, 2, tzinfo=timezone(timedelta(hours=2)))),
        (None, FIRST),
        (LAST, LAST),
        (datetime(2026, 7, 5), None),  # noqa: DTZ001
        (None, datetime(2026, 7, 5)),  # noqa: DTZ001
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), None),
    ],
)
def test_a_period_without_an_instant_or_an_offset_is_refused(start: datetime | None, end: datetime | None) -> None:
    with pytest.raises(MunimentError) as caught:
        Period(start, end)
    assert caught.value.code is Code.BAD_USER_INPUT


def test_bounds_are_kept_in_utc() -> None:
    tokyo = timezone(timedelta(hours=9))
    period = Period(datetime(2018, 12, 5, 10, tzinfo=tokyo), datetime(2018, 12, 5, 11, tzinfo=tokyo))
    assert period == Period(datetime(2018, 12, 5, 1, tzinfo=UTC), datetime(2018, 12, 5, 2, tzinfo=UTC))
    assert period.start is not None
    assert period.start.tzinfo is UTC


@pytest.mark.parametrize("ask", [ALWAYS.contains, lambda t: AsOf(t, ZERO), lambda t: AsOf(ZERO, t)])
def test_no_question_takes_a_naive_datetime(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(MunimentError):
        ask(datetime(2026, 7, 5))  # noqa: DTZ001


def test_open_sides_reach_the_ends_of_the_calendar() -> None:
    assert ALWAYS.contains(FIRST)
    assert ALWAYS.contains(LAST)
    assert ALWAYS.minus(Period(FIRST, None)) == ()
    assert ALWAYS.minus(Period(None, LAST)) == (Period(LAST, None),)
    assert not Period(None, LAST).contains(LAST)
    assert Period(FIRST, None) == ALWAYS
    assert (ALWAYS.start, ALWAYS.end) == (None, None)
    assert (Period(LAST, None).start, Period(None, LAST).end) == (LAST, LAST)


@given(periods())
@untimed
def test_contains(period: Period) -> None:
    assert {point for point in GRID if period.contains(point)} == points(period)


@given(periods(), periods())
@untimed
def test_minus_and_intersection_partition(one: Period, other: Period) -> None:
    common, rest = one.intersection(other), one.minus(other)
    assert one.overlaps(other) == bool(points(one) & points(other)) == (common is not None)
    assert (points(common) if common else set()) == points(one) & points(other)
    assert covered(rest) == points(one) - points(other)
    assert_orderly(rest)
    assert union([*rest, *([common] if common else [])]) == (one,)
    assert one.intersection(other) == other.intersection(one)


@given(periods(), periods())
@untimed
def test_meets(one: Period, other: Period) -> None:
    joined = one.end is not None and other.start is not None and one.end == other.start
    assert one.meets(other) == joined
    if joined:
        assert not one.overlaps(other)
        assert union([one, other]) == (Period(one.start, other.end),)


@given(st.lists(periods(), max_size=6), periods())
@untimed
def test_set_algebra(some: list[Period], window: Period) -> None:
    whole, outside, inside = union(some), subtract(some, window), clip(some, window)
    assert covered(whole) == covered(some)
    assert covered(outside) == covered(some) - points(window)
    assert covered(inside) == covered(some) & points(window)
    for result in (whole, outside, inside):
        assert_orderly(result)
        assert not any(left.meets(right) for left, right in pairwise(result))
        assert union(result) == result
    assert union([*outside, *inside]) == whole
    assert union(reversed(some)) == whole


@given(st.lists(periods(), max_size=4), st.lists(periods(), max_size=4), periods())
@untimed
def test_presence_changes_inside_the_window_only(existing: list[Period], new: list[Period], window: Period) -> None:
    desired = union([*subtract(existing, window), *clip(new, window)])
    assert covered(desired) == (covered(existing) - points(window)) | (covered(new) & points(window))


# --- timelines -------------------------------------------------------------------------------------------------------


@given(timelines(), operations)
@settings(untimed, max_examples=300)
def test_every_operation_does_what_the_model_does(timeline: Timeline[int], op: Op[int]) -> None:
    after = applied(timeline, op)
    assert believed(after) == model(believed(timeline), op)
    assert_orderly([portion.period for portion in after])
    assert all(points(portion.period) for portion in after)
    assert applied(after, op) == after


@given(timelines(), writes)
@untimed
def test_what_lies_outside_is_left_as_it_is(timeline: Timeline[int], op: Op[int]) -> None:
    after = applied(timeline, op)
    assert {portion for portion in timeline if not portion.period.overlaps(op.period)} <= set(after)


@given(timelines(), periods(), values)
@untimed
def test_saying_again_what_is_believed_changes_nothing(timeline: Timeline[int], period: Period, value: int) -> None:
    for portion in timeline:
        assert assert_fact(timeline, portion.period, portion.value) == timeline
        if part := portion.period.intersection(period):
            assert assert_fact(timeline, part, portion.value) == timeline
            assert update_fact(timeline, part, portion.value) == timeline


@given(timelines())
@untimed
def test_at_answers_every_point(timeline: Timeline[int]) -> None:
    answers = {point: portion.value for point in GRID if (portion := at(timeline, point)) is not None}
    assert answers == believed(timeline)


@given(timelines())
@untimed
def test_coalescing_keeps_every_answer(timeline: Timeline[int]) -> None:
    merged = coalesce(timeline)
    assert believed(merged) == believed(timeline)
    assert coalesce(merged) == merged
    assert not any(a.value == b.value and a.period.meets(b.period) for a, b in pairwise(merged))


@given(timelines(), timelines())
@untimed
def test_diff_is_exact_and_minimal(before: Timeline[int], after: Timeline[int]) -> None:
    rows = [Row(key, portion) for key, portion in enumerate(before)]
    changes = diff(rows, after)
    kept = [row for row in rows if row not in changes.close]
    assert {row.portion for row in kept} | set(changes.insert) == set(after)
    assert len(kept) + len(changes.insert) == len(after)
    assert not {row.portion for row in changes.close} & set(after)
    assert not set(changes.insert) & set(before)


def test_values_are_compared_by_equality_and_need_no_hash() -> None:
    timeline = assert_fact((), Period(instant(0), instant(4)), {"a": [1]})
    assert assert_fact(timeline, Period(instant(1), instant(2)), {"a": [1]}) == timeline
    assert diff([Row("k", timeline[0])], timeline).close == ()
    assert len(assert_fact(timeline, Period(instant(1), instant(2)), {"a": [2]})) == 3


# --- both clocks -----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 2), operations), max_size=8))
@settings(untimed, max_examples=400)
def test_history_agrees_with_the_model_at_every_point_of_both_clocks(steps: list[tuple[int, Op[int]]]) -> None:
    history, now, clock = History[int](), 0, [*range(-1, 18)]
    known: dict[int, dict[datetime, int]] = {point: {} for point in clock}
    for later, op in steps:
        now += later
        history.apply(instant(now), op)
        after = model(known[now], op)
        if isinstance(op, Erase):
            known = {point: model(state, op) for point, state in known.items()}
        known |= {point: after for point in clock if point >= now}

    rectangles = history.rectangles()
    for point, state in known.items():
        assert believed(history.timeline(instant(point))) == state
        for valid_at in GRID:
            as_of = AsOf(valid_at, instant(point))
            found = history.at(as_of)
            assert (None if found is None else found.value) == state.get(valid_at)
            seen = [version.value for version in rectangles if version.visible(as_of)]
            assert seen == ([state[valid_at]] if valid_at in state else [])
    for one, other in combinations(rectangles, 2):
        assert not (one.valid.overlaps(other.valid) and one.system.overlaps(other.system))
        assert not (one.valid == other.valid and one.value == other.value and one.system.meets(other.system))


@given(st.lists(st.tuples(st.integers(0, 1), writes), max_size=8))
@untimed
def test_a_store_that_follows_the_differences_holds_the_rectangles(steps: list[tuple[int, Op[int]]]) -> None:
    """Rows opened at the instant at which they are closed again never were: a store deletes them."""
    history, keys, now = History[int](), count(), 0
    rows: dict[int, tuple[Portion[int], int, int | None]] = {}
    for later, op in steps:
        now += later
        before = [Row(key, portion) for key, (portion, _, end) in rows.items() if end is None]
        history.apply(instant(now), op)
        changes = diff(before, history.timeline(instant(now)))
        for row in changes.close:
            portion, start, _ = rows.pop(row.key)
            if start < now:
                rows[row.key] = (portion, start, now)
        rows |= {next(keys): (portion, now, None) for portion in changes.insert}
    held = {
        (point, valid_at): portion.value
        for portion, start, end in rows.values()
        for point in range(start, now + 1 if end is None else end)
        for valid_at in points(portion.period)
    }
    expected = {
        (point, valid_at): value
        for point in range(now + 1)
        for valid_at, value in believed(history.timeline(instant(point))).items()
    }
    assert held == expected


def test_system_time_never_runs_backwards() -> None:
    history = History[str]()
    history.apply(instant(5), Assert(ALWAYS, "a"))
    for op in (Assert(ALWAYS, "b"), Retract(ALWAYS), Erase()):
        with pytest.raises(MunimentError) as caught:
            history.apply(instant(4), op)
        assert caught.value.code is Code.BAD_USER_INPUT
    assert history.timeline(instant(4)) == ()
    assert history.timeline(instant(5)) == (Portion(ALWAYS, "a"),)


def test_operations_at_one_instant_show_their_last_state_only() -> None:
    history = History[str]()
    history.apply(instant(0), Assert(ALWAYS, "a"))
    history.apply(instant(3), Retract(ALWAYS))
    history.apply(instant(3), Assert(ALWAYS, "a"))
    versions = history.rectangles()
    assert [(version.valid, version.system, version.value) for version in versions] == [
        (ALWAYS, Period(instant(0), None), "a")
    ]


def test_a_seam_has_exactly_one_answer() -> None:
    fifth = datetime(2026, 7, 5, tzinfo=UTC)
    timeline = assert_fact(assert_fact((), ALWAYS, "A"), Period(fifth, None), "B")
    before, after = at(timeline, fifth - timedelta(microseconds=1)), at(timeline, fifth)
    assert before == Portion(Period(None, fifth), "A")
    assert after == Portion(Period(fifth, None), "B")


def test_what_is_learned_late_is_absent_only_after_it_was_learned() -> None:
    def june(day: int) -> datetime:
        return datetime(2026, 6, day, tzinfo=UTC)

    history = History[str]()
    history.apply(june(1), Assert(Period(june(1), None), "holds"))
    history.apply(june(20), Retract(Period(june(15), None)))
    assert history.at(AsOf(june(16), june(18))) is not None
    assert history.at(AsOf(june(16), june(21))) is None
    assert history.at(AsOf(june(14), june(21))) is not None
    assert history.at(AsOf(june(16), june(20))) is None
    assert history.at(AsOf(june(16), june(20) - timedelta(microseconds=1))) is not None


def test_three_rectangles() -> None:
    history = History[str]()
    history.apply(instant(1), Assert(Period(instant(1), None), "v0"))
    history.apply(instant(2), Assert(Period(instant(2), None), "v1"))
    assert [(version.valid, version.system, version.value) for version in history.rectangles()] == [
        (Period(instant(1), None), Period(instant(1), instant(2)), "v0"),
        (Period(instant(1), instant(2)), Period(instant(2), None), "v0"),
        (Period(instant(2), None), Period(instant(2), None), "v1"),
    ]


def test_erasing_leaves_nothing_at_any_point() -> None:
    history = History[str]()
    history.apply(instant(1), Assert(ALWAYS, "secret"))
    history.apply(instant(2), Assert(ALWAYS, "secret too"))
    history.erase()
    assert history.rectangles() == ()
    assert all(history.timeline(instant(point)) == () for point in range(5))
    history.apply(instant(3), Assert(ALWAYS, "anew"))
    assert history.timeline(instant(3)) == (Portion(ALWAYS, "anew"),)
    assert history.timeline(instant(2)) == ()
