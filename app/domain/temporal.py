"""Two clocks as interval algebra: periods, what is believed in which of them, and how a belief changes.

Periods are half-open `[start, end)`; instants are aware UTC datetimes with microseconds; an open side is None. Valid
time is when a fact holds in the world, system time when this database held it (SQL:2011). A `Timeline` is what is
believed of one fact at one system instant; `History` keeps every timeline there ever was.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

from app.domain.errors import bad_input
from app.domain.instant import FIRST, as_utc

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Period:
    """`[start, end)`; None is open, a start at FIRST too. BAD_USER_INPUT when it is empty, reversed or naive."""

    start: datetime | None
    end: datetime | None

    def __post_init__(self) -> None:
        start = FIRST if self.start is None else as_utc(self.start)
        object.__setattr__(self, "start", None if start == FIRST else start)
        if self.end is not None:
            object.__setattr__(self, "end", as_utc(self.end))
            if self.end < start:
                raise bad_input("A reversed period: it ends before it starts.", "validTo")
            if self.end == start:
                raise bad_input("An empty period: it ends where it starts.", "validTo")

    @property
    def _first(self) -> datetime:
        """The first instant inside, so that an open start compares like any other."""
        return FIRST if self.start is None else self.start

    def contains(self, instant: datetime) -> bool:
        """True from the start on, false from the end on. The instant must be aware."""
        instant = as_utc(instant)
        return self._first <= instant and (self.end is None or instant < self.end)

    def overlaps(self, other: "Period") -> bool:
        """True when some instant lies in both."""
        return (other.end is None or self._first < other.end) and (self.end is None or other._first < self.end)

    def meets(self, other: "Period") -> bool:
        """True when this one ends exactly where the other starts (Allen's *meets*)."""
        return self.end is not None and self.end == other.start

    def intersection(self, other: "Period") -> "Period | None":
        """What lies in both; None when nothing does."""
        if not self.overlaps(other):
            return None
        start = self.start if self._first > other._first else other.start
        end = self.end if other.end is None or (self.end is not None and self.end < other.end) else other.end
        return Period(start, end)

    def minus(self, other: "Period") -> "tuple[Period, ...]":
        """What lies in this one only: none, one or two periods, in order."""
        if not self.overlaps(other):
            return (self,)
        pieces = []
        if self._first < other._first:
            pieces.append(Period(self.start, other.start))
        if other.end is not None and (self.end is None or other.end < self.end):
            pieces.append(Period(other.end, self.end))
        return tuple(pieces)

    def _hull(self, other: "Period") -> "Period":
        end = None if self.end is None or other.end is None else max(self.end, other.end)
        return Period(min(self._first, other._first), end)


ALWAYS = Period(None, None)


def union(periods: Iterable[Period]) -> tuple[Period, ...]:
    """The same instants in the fewest periods: sorted, disjoint, none meeting the next."""
    merged: list[Period] = []
    for period in sorted(periods, key=lambda period: period._first):
        if merged and (merged[-1].overlaps(period) or merged[-1].meets(period)):
            merged[-1] = merged[-1]._hull(period)
        else:
            merged.append(period)
    return tuple(merged)


def subtract(periods: Iterable[Period], window: Period) -> tuple[Period, ...]:
    """The instants of the periods outside the window; sorted, disjoint, coalesced."""
    return tuple(piece for period in union(periods) for piece in period.minus(window))


def clip(periods: Iterable[Period], window: Period) -> tuple[Period, ...]:
    """The instants of the periods inside the window; sorted, disjoint, coalesced."""
    return tuple(piece for period in union(periods) if (piece := period.intersection(window)) is not None)


@dataclass(frozen=True, slots=True)
class Portion(Generic[V]):
    """One value and the valid period in which it holds."""

    period: Period
    value: V


#: What is believed of one fact at one system instant: sorted, disjoint.
Timeline: TypeAlias = tuple[Portion[V], ...]


def at(timeline: Timeline[V], instant: datetime) -> Portion[V] | None:
    """The portion that holds at a valid instant, if any."""
    return next((portion for portion in timeline if portion.period.contains(instant)), None)


def retract(timeline: Timeline[V], period: Period) -> Timeline[V]:
    """Nothing is believed in the period any more; outside it nothing changes."""
    return tuple(Portion(rest, portion.value) for portion in timeline for rest in portion.period.minus(period))


def assert_fact(timeline: Timeline[V], period: Period, value: V) -> Timeline[V]:
    """The value holds throughout the period: what stood there is overwritten, gaps are filled.

    A portion is cut only where its value changes, so asserting what is believed already changes nothing.
    """
    kept, whole = [], period
    for portion in timeline:
        if portion.value == value and portion.period.overlaps(period):
            whole = whole._hull(portion.period)
        else:
            kept.append(portion)
    result = [*retract(tuple(kept), period), Portion(whole, value)]
    return tuple(sorted(result, key=lambda portion: portion.period._first))


def update_fact(timeline: Timeline[V], period: Period, value: V) -> Timeline[V]:
    """`correct` and `change`: like `assert_fact` where something is believed already; gaps stay gaps."""
    for believed in clip((portion.period for portion in timeline), period):
        timeline = assert_fact(timeline, believed, value)
    return timeline


def coalesce(timeline: Timeline[V]) -> Timeline[V]:
    """Neighbours that meet and are equal become one; every point answer stays as it is."""
    merged: list[Portion[V]] = []
    for portion in timeline:
        if merged and merged[-1].value == portion.value and merged[-1].period.meets(portion.period):
            merged[-1] = Portion(merged[-1].period._hull(portion.period), portion.value)
        else:
            merged.append(portion)
    return tuple(merged)


@dataclass(frozen=True, slots=True)
class Row(Generic[K, V]):
    """A portion as a store holds it, under the store's own key."""

    key: K
    portion: Portion[V]


@dataclass(frozen=True, slots=True)
class Changes(Generic[K, V]):
    """What a store does to move from one timeline to the next: rows to close, portions to insert."""

    close: tuple[Row[K, V], ...]
    insert: Timeline[V]


def diff(before: Sequence[Row[K, V]], after: Timeline[V]) -> Changes[K, V]:
    """The fewest changes that lead from the rows to the timeline: what is equal in period and value stays untouched."""
    wanted = {portion.period: portion for portion in after}
    kept = {row.portion.period for row in before if wanted.get(row.portion.period) == row.portion}
    return Changes(
        tuple(row for row in before if row.portion.period not in kept),
        tuple(portion for portion in after if portion.period not in kept),
    )


@dataclass(frozen=True, slots=True)
class AsOf:
    """A point on both clocks."""

    valid_at: datetime
    system_at: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "valid_at", as_utc(self.valid_at))
        object.__setattr__(self, "system_at", as_utc(self.system_at))


@dataclass(frozen=True, slots=True)
class Version(Generic[V]):
    """A rectangle: the value was believed for `valid` during `system`."""

    valid: Period
    system: Period
    value: V

    def visible(self, as_of: AsOf) -> bool:
        return self.valid.contains(as_of.valid_at) and self.system.contains(as_of.system_at)


@dataclass(frozen=True, slots=True)
class Assert(Generic[V]):
    """See `assert_fact`."""

    period: Period
    value: V


@dataclass(frozen=True, slots=True)
class Update(Generic[V]):
    """See `update_fact`."""

    period: Period
    value: V


@dataclass(frozen=True, slots=True)
class Retract:
    """See `retract`: past beliefs stay readable."""

    period: Period


@dataclass(frozen=True, slots=True)
class Erase:
    """Physical removal of a valid period from every belief there ever was; the whole fact by default."""

    period: Period = ALWAYS


Op: TypeAlias = Assert[V] | Update[V] | Retract | Erase


def applied(timeline: Timeline[V], op: Op[V]) -> Timeline[V]:
    """What is believed after the operation."""
    match op:
        case Assert(period, value):
            return assert_fact(timeline, period, value)
        case Update(period, value):
            return update_fact(timeline, period, value)
        case Retract(period) | Erase(period):
            return retract(timeline, period)


@dataclass(slots=True)
class History(Generic[V]):
    """All beliefs about one fact, in memory: the model that a stored history must agree with."""

    _states: list[tuple[datetime, Timeline[V]]] = field(default_factory=list, init=False)

    def apply(self, system_at: datetime, op: Op[V]) -> None:
        """Applies at a system instant not before the last one (else BAD_USER_INPUT, nothing changed).

        Operations at one instant follow each other, and only their last state is ever visible.
        """
        system_at = as_utc(system_at)
        if self._states and system_at < self._states[-1][0]:
            raise bad_input("System time never runs backwards.")
        believed = applied(self._states[-1][1] if self._states else (), op)
        if isinstance(op, Erase):
            self.erase(op.period)
        if self._states and self._states[-1][0] == system_at:
            self._states.pop()
        self._states.append((system_at, believed))

    def erase(self, period: Period = ALWAYS) -> None:
        """Removes a valid period from every state, past ones too; no read at any point of the clocks finds it again."""
        self._states = [(system_at, retract(timeline, period)) for system_at, timeline in self._states]

    def timeline(self, system_at: datetime) -> Timeline[V]:
        """What was believed at a system instant; one later than the last operation is answered as now."""
        index = bisect_right(self._states, as_utc(system_at), key=lambda state: state[0])
        return self._states[index - 1][1] if index else ()

    def at(self, as_of: AsOf) -> Portion[V] | None:
        """What was believed at `system_at` to hold at `valid_at`."""
        return at(self.timeline(as_of.system_at), as_of.valid_at)

    def rectangles(self) -> tuple[Version[V], ...]:
        """The rows a store would hold, no two overlapping on both clocks; ordered by system start, then valid start."""
        believed: list[Row[datetime, V]] = []
        ended: list[tuple[Row[datetime, V], datetime | None]] = []
        for system_at, timeline in self._states:
            changes = diff(believed, timeline)
            ended += [(row, system_at) for row in changes.close]
            believed = [row for row in believed if row not in changes.close]
            believed += [Row(system_at, portion) for portion in changes.insert]
        ended += [(row, None) for row in believed]
        versions = [Version(row.portion.period, Period(row.key, end), row.portion.value) for row, end in ended]
        return tuple(sorted(versions, key=lambda version: (version.system._first, version.valid._first)))
