"""Whether a retrieval that was made again is the one that was recorded, and why not, each reason with its evidence."""

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from app.domain.record import id_of, items
from app.domain.trace import Traced


class ReplayVerdict(StrEnum):
    REPRODUCED = "REPRODUCED"
    DRIFTED = "DRIFTED"


class Drift(StrEnum):
    """Why a retrieval does not come out as it was recorded."""

    CONTENT_CORRECTED = "CONTENT_CORRECTED"
    CONTENT_ADDED = "CONTENT_ADDED"
    EXPIRED = "EXPIRED"
    ERASED = "ERASED"
    SOURCE_REMOVED = "SOURCE_REMOVED"
    PERMISSION_CHANGED = "PERMISSION_CHANGED"
    WEIGHTS_CHANGED = "WEIGHTS_CHANGED"
    POLICY_CHANGED = "POLICY_CHANGED"
    MODEL_CHANGED = "MODEL_CHANGED"
    APPROXIMATE = "APPROXIMATE"
    HASH_MISMATCH = "HASH_MISMATCH"
    STORE_CHANGED = "STORE_CHANGED"
    RANKING_CHANGED = "RANKING_CHANGED"
    RECORD_ALTERED = "RECORD_ALTERED"
    TRACE_ALTERED = "TRACE_ALTERED"


SENTENCES: Mapping[Drift, str] = {
    Drift.CONTENT_CORRECTED: "What was delivered was corrected, changed or retracted since.",
    Drift.CONTENT_ADDED: "Something written since then takes part.",
    Drift.EXPIRED: "What was delivered is no longer true; that it would end was known.",
    Drift.ERASED: "What took part was erased from the store.",
    Drift.SOURCE_REMOVED: "The source of what was delivered was removed.",
    Drift.PERMISSION_CHANGED: "Who asked may search other spaces or sources than then.",
    Drift.WEIGHTS_CHANGED: "The level weights are others.",
    Drift.POLICY_CHANGED: "The policy on what texts may hold is another, and so are the texts.",
    Drift.MODEL_CHANGED: "The embeddings that it was compared by are not there, or the model is another.",
    Drift.APPROXIMATE: "A stage cannot be done again without the trace.",
    Drift.HASH_MISMATCH: "A text is not the one that was delivered: it was changed in place.",
    Drift.STORE_CHANGED: "What ranking reads at these clocks is not what it was: rows were changed in place.",
    Drift.RANKING_CHANGED: "The same items rank otherwise: by their age, their use, or how common the words are.",
    Drift.RECORD_ALTERED: "The record of evidence is not the one that was chained.",
    Drift.TRACE_ALTERED: "The trace contradicts the record, which counts.",
}


@dataclass(frozen=True, slots=True)
class Given:
    """What was delivered in one place. `item` is a chunk, or a version of a memory; `whole` its document, or the
    memory; `source` None for a memory. `beside`: the chunk and the relation that it was delivered for."""

    item: UUID
    whole: UUID
    source: UUID | None
    sha256: str
    beside: tuple[UUID, str] | None = None


def given(record: Mapping[str, Any]) -> tuple[Given, ...]:
    """What a record says was delivered, in order: passages, then memories. What has another shape is left out."""
    return (
        *filter(None, map(_passage, items(record, "chunks"))),
        *filter(None, map(_memory, items(record, "memories"))),
    )


def _passage(chunk: Mapping[str, Any]) -> Given | None:
    id, document, source, to = (id_of(chunk, name) for name in ("chunkId", "documentId", "sourceId", "relatedTo"))
    if id is None or document is None or source is None or not isinstance(chunk.get("sha256"), str):
        return None
    return Given(id, document, source, chunk["sha256"], None if to is None else (to, str(chunk.get("relation"))))


def _memory(item: Mapping[str, Any]) -> Given | None:
    version, memory = id_of(item, "versionId"), id_of(item, "memoryId")
    if version is None or memory is None or not isinstance(item.get("sha256"), str):
        return None
    return Given(version, memory, None, item["sha256"])


@dataclass(frozen=True, slots=True)
class Again:
    """A retrieval made again, with the policy and the model of today. `owners`: the subject and the groups whose
    memories were recalled. `problems`: stages that could not be done again, in a word each."""

    given: tuple[Given, ...]
    traced: tuple[Traced, ...]
    weights: Mapping[str, float]
    spaces: frozenset[UUID]
    sources: frozenset[UUID]
    policy_version: str
    model: str | None
    owners: frozenset[UUID] = frozenset()
    problems: tuple[str, ...] = ()


class Change(StrEnum):
    """How an item differs between the record with its trace and the retrieval made again."""

    GONE = "GONE"
    NEW = "NEW"
    TEXT = "TEXT"
    WEIGHT = "WEIGHT"
    EMBEDDING = "EMBEDDING"
    SIGNAL = "SIGNAL"
    PLACE = "PLACE"


def changes(recorded: Sequence[Given], traced: Sequence[Traced] | None, again: Again) -> dict[UUID, frozenset[Change]]:
    """Every item that differs. With a trace all candidates are compared, bit for bit; without one what was
    delivered is."""
    found: dict[UUID, set[Change]] = {}

    def note(item: UUID, change: Change) -> None:
        found.setdefault(item, set()).add(change)

    was = {item.item: (place, item) for place, item in enumerate(recorded)}
    now = {item.item: (place, item) for place, item in enumerate(again.given)}
    before = None if traced is None else {item.item: item for item in traced}
    after = {item.item: item for item in again.traced}
    for item in was.keys() | now.keys():
        if item not in now:
            note(item, Change.PLACE if item in after else Change.GONE)
        elif item not in was:
            note(item, Change.PLACE if before is not None and item in before else Change.NEW)
        else:
            (old_place, old), (new_place, new) = was[item], now[item]
            if old.sha256 != new.sha256:
                note(item, Change.TEXT)
            if old_place != new_place or old.beside != new.beside or old.whole != new.whole:
                note(item, Change.PLACE)
    if before is not None:
        for item in before.keys() | after.keys():
            if item not in after:
                note(item, Change.GONE)
            elif item not in before:
                note(item, Change.NEW)
            else:
                for change in _differ(before[item], after[item]):
                    note(item, change)
    return {item: frozenset(kinds) for item, kinds in found.items()}


def _differ(old: Traced, new: Traced) -> Iterable[Change]:
    if old.kind is not new.kind or (old.rank, old.index, old.stage, old.reason) != (
        new.rank,
        new.index,
        new.stage,
        new.reason,
    ):
        yield Change.PLACE
        if len(old.numbers) != len(new.numbers):
            return
    signals, others = old.signals, new.signals
    differing = {name for name in signals if not _same(signals[name], others[name])}
    if "level_weight" in differing:
        yield Change.WEIGHT
    if "cosine" in differing and others["cosine"] is None:
        yield Change.EMBEDDING
    elif differing - {"level_weight", "score"} or ("score" in differing and "level_weight" not in differing):
        yield Change.SIGNAL


def _same(one: float | None, other: float | None) -> bool:
    """Bit for bit."""
    if one is None or other is None:
        return one is other
    return struct.pack("<d", one) == struct.pack("<d", other)


@dataclass(frozen=True, slots=True)
class Stored:
    """What the store says today of an item that differs. `moved`: how today's belief left it, or None; `ends`: it is
    believed, but no longer true; `since`: it was written after the retrieval."""

    exists: bool = True
    holds: bool = True
    source_exists: bool = True
    in_scope: bool = True
    moved: bool = False
    ends: bool = False
    since: bool = False


GONE_FROM_STORE = Stored(exists=False, holds=False)


@dataclass(frozen=True, slots=True)
class DriftReason:
    """One reason, the items that it concerns, and a sentence."""

    reason: Drift
    items: tuple[UUID, ...]
    sentence: str


def explain(
    differing: Mapping[UUID, Collection[Change]],
    stored: Mapping[UUID, Stored],
    *,
    against_now: bool,
    problems: Sequence[str] = (),
    weights_changed: bool = False,
    policy_changed: bool = False,
    model_changed: bool = False,
    scope_changed: bool = False,
    record_altered: bool = False,
    trace_altered: bool = False,
) -> tuple[DriftReason, ...]:
    """Why it drifted: nothing when it did not. What only follows from another reason, such as a place that moved up
    because another item is gone, has no reason of its own."""
    found: dict[Drift, set[UUID]] = {}

    def note(reason: Drift, *items: UUID) -> None:
        found.setdefault(reason, set()).update(items)

    if record_altered:
        note(Drift.RECORD_ALTERED)
    if trace_altered:
        note(Drift.TRACE_ALTERED)
    if problems:
        note(Drift.APPROXIMATE)
    rest: list[UUID] = []
    for item, kinds in differing.items():
        reasons = set(_reasons(kinds, stored.get(item, GONE_FROM_STORE), against_now, policy_changed))
        for reason in reasons:
            note(reason, item)
        if not reasons:
            rest.append(item)
    if differing and against_now:
        for happened, reason in (
            (weights_changed, Drift.WEIGHTS_CHANGED),
            (model_changed, Drift.MODEL_CHANGED),
            (scope_changed and not found, Drift.PERMISSION_CHANGED),
        ):
            if happened:
                note(reason)
    if rest and not found:
        drifted = Drift.RANKING_CHANGED if against_now else Drift.STORE_CHANGED
        # What the policy bars or masks takes another place, and with it what comes after.
        note(Drift.POLICY_CHANGED if policy_changed else drifted, *rest)
    return tuple(
        DriftReason(reason, tuple(sorted(found[reason])), _sentence(reason, problems))
        for reason in Drift
        if reason in found
    )


def _reasons(kinds: Collection[Change], stored: Stored, against_now: bool, policy_changed: bool) -> Iterable[Drift]:
    if Change.TEXT in kinds:
        yield Drift.POLICY_CHANGED if policy_changed else Drift.HASH_MISMATCH
    if not against_now:
        if Change.WEIGHT in kinds:
            yield Drift.WEIGHTS_CHANGED
        if Change.EMBEDDING in kinds:
            yield Drift.MODEL_CHANGED
        if Change.SIGNAL in kinds:
            yield Drift.STORE_CHANGED
    if Change.NEW in kinds and against_now and stored.since:
        yield Drift.CONTENT_ADDED
    if Change.GONE not in kinds and not (against_now and Change.PLACE in kinds and stored.moved):
        return
    if not stored.exists:
        yield Drift.ERASED
    elif not stored.in_scope:
        yield Drift.PERMISSION_CHANGED if stored.source_exists else Drift.SOURCE_REMOVED
    elif against_now and stored.moved:
        yield Drift.CONTENT_CORRECTED
    elif against_now and stored.ends:
        yield Drift.EXPIRED
    elif not against_now:
        yield Drift.STORE_CHANGED


def _sentence(reason: Drift, problems: Sequence[str]) -> str:
    if reason is Drift.APPROXIMATE and problems:
        return f"{SENTENCES[reason]} It is missed by: {', '.join(problems)}."
    return SENTENCES[reason]
