"""From what is believed of a document to what should be: the fewest rows to close and to insert, on paper.

A slice is present while some version that contains it holds. Its presence is a set of periods like any other fact, so a
slice that stays through a change of its document keeps its row, its postings and its embedding.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.domain.document import DocumentFacts, SliceFacts
from app.domain.temporal import Period, Portion, Row, Timeline, clip, diff, subtract, union

#: The slices of a content under a title: (SHA-256 of the content, title) → slices.
Cut = tuple[bytes, str]
Slices = Mapping[Cut, Sequence[SliceFacts]]


@dataclass(frozen=True, slots=True)
class Derived:
    """A slice that keeps its text for another period: copied from a stored row."""

    chunk_id: UUID
    period: Period


@dataclass(frozen=True, slots=True)
class Created:
    """A slice that search does not know yet."""

    slice: SliceFacts
    content_sha256: bytes
    period: Period


@dataclass(frozen=True, slots=True)
class Plan:
    """What a store does for one document."""

    close_versions: tuple[UUID, ...]
    insert_versions: Timeline[DocumentFacts]
    close_chunks: tuple[UUID, ...]
    derive: tuple[Derived, ...]
    create: tuple[Created, ...]

    @property
    def empty(self) -> bool:
        return not (self.close_versions or self.insert_versions or self.close_chunks or self.derive or self.create)


def cut_of(facts: DocumentFacts) -> Cut:
    return facts.content_sha256, facts.title


def changed(before: Timeline[DocumentFacts], after: Timeline[DocumentFacts]) -> tuple[Period, ...]:
    """The valid time in which the two differ."""
    return union(
        rest
        for these, those in ((before, after), (after, before))
        for portion in these
        for rest in _without(portion.period, (other.period for other in those if other.value == portion.value))
    )


def contents_needed(before: Timeline[DocumentFacts], after: Timeline[DocumentFacts]) -> frozenset[Cut]:
    """The contents whose slices `plan` will ask for."""
    windows = changed(before, after)
    return frozenset(
        cut_of(portion.value) for portion in after if any(portion.period.overlaps(window) for window in windows)
    )


def plan(
    versions: Sequence[Row[UUID, DocumentFacts]],
    chunks: Sequence[Row[UUID, bytes]],
    after: Timeline[DocumentFacts],
    slices: Slices,
) -> Plan:
    """`chunks` are the stored slices (`SliceFacts.stored`); `slices` gives those of all in `contents_needed`."""
    before = tuple(row.portion for row in versions)
    windows = changed(before, after)
    versions_change = diff(versions, after)
    stored: dict[bytes, list[Row[UUID, bytes]]] = {}
    for row in chunks:
        stored.setdefault(row.portion.value, []).append(row)
    present: dict[bytes, list[Period]] = {}
    facts: dict[bytes, tuple[SliceFacts, bytes]] = {}
    for portion in after:
        inside = [piece for window in windows for piece in clip([portion.period], window)]
        for item in slices[cut_of(portion.value)] if inside else ():
            present.setdefault(item.stored, []).extend(inside)
            facts.setdefault(item.stored, (item, portion.value.content_sha256))
    close: list[UUID] = []
    derive: list[Derived] = []
    create: list[Created] = []
    for identity in {**present, **stored}:
        rows = stored.get(identity, [])
        periods = union(row.portion.period for row in rows)
        for window in windows:
            periods = subtract(periods, window)
        wanted = tuple(Portion(period, identity) for period in union([*periods, *present.get(identity, [])]))
        change = diff(rows, wanted)
        close += [row.key for row in change.close]
        for missing in change.insert:
            if rows:
                derive.append(Derived(rows[0].key, missing.period))
            else:
                create.append(Created(*facts[identity], missing.period))
    return Plan(
        tuple(row.key for row in versions_change.close),
        versions_change.insert,
        tuple(close),
        tuple(derive),
        tuple(create),
    )


def _without(period: Period, others: Iterable[Period]) -> tuple[Period, ...]:
    left: tuple[Period, ...] = (period,)
    for other in others:
        left = subtract(left, other)
    return left
