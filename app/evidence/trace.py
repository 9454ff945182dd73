"""Looking into a retrieval: its trace, and why one item is not in the answer.

What the viewer may not search today is left out without a count, whoever they are looking over the shoulder of; only
an auditor of the whole organisation sees it all. So an item that they may not know of is told like one that is not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from app.domain.contract import sentence
from app.domain.errors import Code, MunimentError
from app.domain.principal import Principal, parse_id
from app.domain.selection import Reason
from app.domain.trace import NEAR_MISS, Kind, Trace, Traced, decode
from app.evidence.attribution import DELIVERY_CATEGORY, MAX_RECORDS, not_found
from app.evidence.sight import Sight
from app.storage import evidence, traces
from app.storage.engine import Database, Session


@dataclass(frozen=True, slots=True)
class SeenTrace:
    """A trace as far as its viewer may see it."""

    id: UUID
    request_id: UUID
    attribution_id: UUID
    issued_at: datetime
    trace: Trace


class Outcome(StrEnum):
    """What became of an item in one retrieval."""

    DELIVERED = "DELIVERED"
    EXCLUDED = "EXCLUDED"
    NEVER_A_CANDIDATE = "NEVER_A_CANDIDATE"


@dataclass(frozen=True, slots=True)
class Explanation:
    """`candidate` is the item's best one. `stage` and `type` say what removed it first, or, of what was never a
    candidate, why a document that matched was not in force."""

    outcome: Outcome
    sentence: str
    candidate: Traced | None = None
    stage: str | None = None
    type: Reason | None = None


async def find_trace(database: Database, principal: Principal, id: str) -> SeenTrace:
    """NOT_FOUND when it is unknown, malformed, erased, or not the caller's to see."""
    key = parse_id(id)
    if key is None:
        raise _no_such_trace()
    async with database.snapshot(principal.organisation) as session:
        row = await traces.find(session, key)
        sight = await Sight.of(session, principal)
        if row is None or not sight.sees(row):
            raise _no_such_trace()
        return await _seen(session, principal, sight, row)


async def explain(database: Database, principal: Principal, request_id: str, item_id: str) -> Explanation:
    """Why a chunk, a document, a memory or a version of one is in the answer or not.

    ATTRIBUTION_NOT_FOUND for a retrieval that is not the caller's to see; NOT_FOUND when no trace of it is kept."""
    request = parse_id(request_id)
    if request is None:
        raise not_found("requestId")
    async with database.snapshot(principal.organisation) as session:
        sight = await Sight.of(session, principal)
        records = await evidence.find_request(session, str(request), MAX_RECORDS)
        if not any(row.category == DELIVERY_CATEGORY and sight.sees(row) for row in records):
            raise not_found("requestId")
        row = await traces.find_request(session, request)
        if row is None:
            raise MunimentError(
                Code.NOT_FOUND, "no trace of this retrieval is kept: tracing was off, or it was erased", "requestId"
            )
        seen = await _seen(session, principal, sight, row)
    return explained(seen.trace, parse_id(item_id))


def explained(trace: Trace, item: UUID | None) -> Explanation:
    """The fate of the item's best candidate: one that was delivered, else the one that ranked highest."""
    named = [candidate for candidate in trace.candidates if item in (candidate.item, candidate.whole)]
    if not named:
        return _never(trace, item)
    best = min(named, key=lambda one: (one.index is None, one.rank is None, one.rank or 0, -one.score))
    if best.index is not None:
        return Explanation(Outcome.DELIVERED, f"It was delivered as number {best.index}.", best)
    assert best.reason is not None
    return Explanation(Outcome.EXCLUDED, sentence(best.reason), best, best.stage, best.reason)


def _never(trace: Trace, item: UUID | None) -> Explanation:
    missed = next((miss for miss in trace.near_misses if miss.document == item), None)
    if missed is None:
        return Explanation(Outcome.NEVER_A_CANDIDATE, "It was never a candidate of this retrieval.")
    return Explanation(Outcome.NEVER_A_CANDIDATE, sentence(missed.reason), None, NEAR_MISS, missed.reason)


async def _seen(session: Session, principal: Principal, sight: Sight, row: Any) -> SeenTrace:
    trace = decode(row.payload)
    if not sight.auditor:
        sources = {item.source for item in trace.candidates} | {item.source for item in trace.near_misses}
        standing = await traces.standing(
            session,
            principal.id,
            sight.searched,
            sources={id for id in sources if id is not None},
            spaces={item.space for item in trace.candidates if item.source is None},
        )
        seen = {id for id, provider in standing.items() if principal.admits(provider)}
        gone = await lapsed(session, trace, trace.candidates)
        trace = replace(
            trace,
            candidates=_renumbered(
                [item for item in trace.candidates if (item.source or item.space) in seen and item.whole not in gone]
            ),
            near_misses=tuple(item for item in trace.near_misses if item.source in seen),
        )
    return SeenTrace(row.id, row.request_id, row.attribution_id, row.issued_at, trace)


async def lapsed(session: Session, trace: Trace | None, candidates: Iterable[Traced]) -> frozenset[UUID]:
    """The memories of groups to which the subject of a retrieval does not belong today: old clocks never widen
    access."""
    theirs = {item.whole for item in candidates if item.kind is Kind.GROUP_MEMORY}
    if not theirs:
        return frozenset()
    scope = None if trace is None else trace.facts.get("scope")
    subject = None if scope is None or scope["subject"] is None else UUID(scope["subject"])
    return frozenset(theirs - await traces.shared(session, subject, theirs))


def _renumbered(candidates: Sequence[Traced]) -> tuple[Traced, ...]:
    """Places among what is shown, of each kind: gaps would tell how much is not."""
    ranks: dict[Kind, list[int]] = {}
    places: dict[Kind, list[int]] = {}
    for item in candidates:
        for found, place in ((ranks, item.rank), (places, item.index)):
            if place is not None:
                found.setdefault(item.kind, []).append(place)
    for numbers in (*ranks.values(), *places.values()):
        numbers[:] = sorted(set(numbers))
    return tuple(
        replace(
            item,
            rank=None if item.rank is None else ranks[item.kind].index(item.rank) + 1,
            index=None if item.index is None else places[item.kind].index(item.index) + 1,
        )
        for item in candidates
    )


def _no_such_trace() -> MunimentError:
    return MunimentError(Code.NOT_FOUND, "no such trace", "id")
