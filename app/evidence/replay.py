"""E9. Whether a retrieval comes out again as it was recorded, and if not, what moved and why.

It is made again with the permissions that were recorded, whoever asks: these serve the verdict. No text is given, only
ids, hashes and scores; and of what was not delivered only that which the viewer may search today.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from app.domain.chain import mac
from app.domain.dlp.scanning import Redacted
from app.domain.errors import Code, MunimentError, bad_input
from app.domain.principal import Principal
from app.domain.replay import (
    SENTENCES,
    Again,
    Change,
    Drift,
    DriftReason,
    Given,
    ReplayVerdict,
    Stored,
    changes,
    explain,
    given,
)
from app.domain.trace import Trace, Traced, decode
from app.evidence.attribution import (
    DELIVERY_CATEGORY,
    Attribution,
    altered,
    attribution_of,
    not_found,
    seen_record,
)
from app.evidence.sight import EVERYTHING, Sight, shown
from app.evidence.trace import lapsed
from app.providers.keyring import KeyRing
from app.providers.redaction.scanner import SCANNER
from app.storage import evidence, movements, traces
from app.storage import replay as storage
from app.storage.engine import Database, Session
from app.storage.movements import Held

#: Makes a retrieval again from (record, trace, question, groups of the caller), writing nothing; at today's clocks and
#: permissions when the last is true.
Rerun: TypeAlias = Callable[
    [Session, Mapping[str, Any], Trace | None, Redacted | None, tuple[UUID, ...], bool], Awaitable[Again]
]


@dataclass(frozen=True, slots=True)
class ReplayedItem:
    """One item then and now: its place among the passages and memories, the hash of its text, its score. None where
    it was not delivered, or its score is not known."""

    item: UUID
    whole: UUID
    source: UUID | None
    recorded_place: int | None
    recorded_sha256: str | None
    recorded_score: float | None
    place: int | None
    sha256: str | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Replay:
    """`traced`: compared with the trace, candidate by candidate; else only what was delivered is compared."""

    verdict: ReplayVerdict
    reasons: tuple[DriftReason, ...]
    items: tuple[ReplayedItem, ...]
    against_now: bool
    traced: bool
    compared: int
    valid_at: datetime
    known_at: datetime


async def replay(
    database: Database,
    keys: KeyRing,
    rerun: Rerun,
    principal: Principal,
    id: str,
    query: str | None = None,
    *,
    now: bool = False,
) -> Replay:
    """ATTRIBUTION_NOT_FOUND as `attribution`. Without a trace the query is to be given again: BAD_USER_INPUT unless its
    hash is the one that was recorded. `now`: asked against today, not against the recorded clocks."""
    async with database.snapshot(principal.organisation) as session:
        attribution = await seen_record(session, principal, id, "attributionId")
        sight = await Sight.of(session, principal)
        # Groups come from a token and are not recorded; who asks for their own is taken to be in those they are in.
        groups = principal.groups if attribution.record.get("userId") == str(principal.id) else ()
        return await _read(session, keys, rerun, attribution, sight, groups, query, now)


async def replay_for_operator(
    database: Database, keys: KeyRing, rerun: Rerun, organisation: UUID, id: UUID, query: str | None, now: bool
) -> Replay:
    """The same for who holds the database itself, and so sees every record."""
    async with database.snapshot(organisation) as session:
        row = await evidence.find_record(session, id)
        if row is None:
            raise not_found("attributionId")
        return await _read(session, keys, rerun, attribution_of(row), EVERYTHING, (), query, now)


async def _read(session: Session, keys: KeyRing, rerun: Rerun, attribution: Attribution, *rest: Any) -> Replay:
    """CONFLICT where a hand in the database left a record that cannot be read."""
    try:
        return await _replay(session, keys, rerun, attribution, *rest)
    except (KeyError, TypeError, ValueError, AttributeError):
        if await _altered(session, keys, attribution.id):
            raise altered() from None
        raise


async def _replay(
    session: Session,
    keys: KeyRing,
    rerun: Rerun,
    attribution: Attribution,
    sight: Sight,
    groups: tuple[UUID, ...],
    query: str | None,
    now: bool,
) -> Replay:
    record = attribution.record
    if record.get("category") != DELIVERY_CATEGORY:
        raise not_found("attributionId")
    trace = await _trace(session, attribution)
    asked = _query(record, trace, query)
    recorded = given(record)
    try:
        got = await rerun(session, record, trace, asked, groups, now)
    except MunimentError as error:
        if not now or error.code not in (Code.SPACE_NOT_FOUND, Code.NOT_FOUND, Code.FORBIDDEN):
            raise
        return _closed(attribution, recorded, trace, await _delivered(session, sight, record))
    if now:
        got = replace(got, given=_aligned(recorded, got.given))
    differing = changes(recorded, None if trace is None or now else trace.candidates, got)
    reasons = explain(
        differing,
        await _stored(session, attribution, differing, recorded, got, now),
        against_now=now,
        problems=got.problems,
        weights_changed=_weights_differ(trace, got),
        policy_changed=record["policyVersion"] != got.policy_version,
        model_changed=record["model"] not in (None, got.model),
        scope_changed=_lost(trace, got),
        record_altered=await _altered(session, keys, attribution.id),
        trace_altered=trace is not None and not _agrees(trace, record, recorded),
    )
    seen = await _shown(session, sight, record, trace, got)
    return Replay(
        ReplayVerdict.DRIFTED if reasons else ReplayVerdict.REPRODUCED,
        tuple(replace(reason, items=tuple(item for item in reason.items if item in seen)) for reason in reasons),
        tuple(item for item in _items(recorded, trace, got) if item.item in seen),
        now,
        trace is not None,
        sum(item.item in seen for item in got.traced),
        attribution.valid_at,
        attribution.known_at,
    )


async def _trace(session: Session, attribution: Attribution) -> Trace | None:
    payload = await storage.trace(session, UUID(attribution.request_id))
    return None if payload is None else decode(payload)


def _query(record: Mapping[str, Any], trace: Trace | None, query: str | None) -> Redacted | None:
    """The question in the words that were hashed, which are redacted. A trace that says another one is told of by the
    verdict."""
    expected = record["querySha256"]
    if query is not None and query.strip():
        redacted = SCANNER.redacted(query)
        if expected is None or _sha256(redacted) != expected:
            raise bad_input("not the question that was recorded: its hash differs", "query")
        return redacted
    if expected is None:
        return None
    if trace is not None:
        asked: Redacted | None = trace.facts["query"]
        return asked
    raise bad_input("no trace of this retrieval is kept: pass its question again", "query")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def _altered(session: Session, keys: KeyRing, id: UUID) -> bool:
    """Whether the record's own MAC does not fit. A missing key says nothing; the chain's check is another matter."""
    entry = await storage.entry(session, id)
    key = None if entry is None else keys.organisation_key(session.organisation, entry.key_id)
    if entry is None or key is None:
        return False
    try:
        expected = mac(
            key,
            session.organisation,
            entry.sequence,
            entry.key_id,
            previous_mac=entry.previous_mac,
            payload=entry.payload,
        )
    except ValueError:
        return True
    return not hmac.compare_digest(expected, entry.mac)


def _agrees(trace: Trace, record: Mapping[str, Any], recorded: Sequence[Given]) -> bool:
    """Whether the trace tells of the same question, clocks and delivery as the record."""
    asked, facts = trace.facts["query"], trace.facts
    delivered = [item for item in trace.candidates if item.index is not None]
    told = [item.item for item in delivered if item.source is not None]
    told += [item.item for item in delivered if item.source is None]
    return (
        (None if asked is None else _sha256(asked)) == record["querySha256"]
        and facts["validAt"] == record["validAt"]
        and facts["knownAt"] == record["knownAt"]
        and told == [item.item for item in recorded]
    )


def _aligned(recorded: Sequence[Given], got: Sequence[Given]) -> tuple[Given, ...]:
    """The same text of the same document or memory is the same item, whichever row holds it today."""
    ids = {item.item for item in got}
    by_text = {(item.whole, item.sha256): item.item for item in recorded if item.item not in ids}
    return tuple(replace(item, item=by_text.get((item.whole, item.sha256), item.item)) for item in got)


def _weights_differ(trace: Trace | None, got: Again) -> bool:
    """Whether something that took part then and now has another weight."""
    if trace is None:
        return False
    then = {item.item: item.signals["level_weight"] for item in trace.candidates if item.source is not None}
    return any(
        item.item in then and then[item.item] != item.signals["level_weight"]
        for item in got.traced
        if item.source is not None
    )


def _lost(trace: Trace | None, got: Again) -> bool:
    scope = None if trace is None else trace.facts.get("scope")
    return scope is not None and not {UUID(id) for id in scope["sources"]} <= got.sources


async def _stored(
    session: Session,
    attribution: Attribution,
    differing: Mapping[UUID, frozenset[Change]],
    recorded: Sequence[Given],
    got: Again,
    now: bool,
) -> dict[UUID, Stored]:
    rows = await storage.items(session, list(differing), attribution.valid_at, attribution.known_at)
    moved: dict[UUID, str] = {}
    if now:
        held = [
            Held(attribution.id, item.item, item.whole, item.source, attribution.valid_at)
            for item in recorded
            if item.item in differing
        ]
        moved = {movement.item: movement.kind for movement in await movements.of(session, held)}
    return {
        id: Stored(
            exists=True,
            holds=row.holds,
            source_exists=row.source_exists,
            in_scope=_in_scope(row, got),
            moved=moved.get(id) in ("CORRECTED", "RETRACTED", "CHANGED"),
            ends=bool(row.ends),
            since=row.system_from > attribution.known_at,
        )
        for id, row in rows.items()
    }


def _in_scope(row: Any, got: Again) -> bool:
    """Whether what was searched again includes an item: by its source, its owner, or its space."""
    if row.source_id is not None:
        return row.source_id in got.sources
    return row.space_id in got.spaces if row.owner_id is None else row.owner_id in got.owners


async def _shown(
    session: Session, sight: Sight, record: Mapping[str, Any], trace: Trace | None, got: Again
) -> frozenset[UUID]:
    """The items that the viewer may be told of: what was delivered, as far as the record shows it to them, and what
    they may search today."""
    candidates: list[Traced] = [*(trace.candidates if trace else ()), *got.traced]
    delivered = await _delivered(session, sight, record)
    if sight.auditor:
        return delivered | {item.item for item in candidates}
    standing = await traces.standing(
        session,
        sight.user,
        sight.searched,
        sources={item.source for item in candidates if item.source is not None},
        spaces={item.space for item in candidates if item.source is None},
    )
    gone = await lapsed(session, trace, candidates)
    return delivered | {
        item.item for item in candidates if (item.source or item.space) in standing and item.whole not in gone
    }


async def _delivered(session: Session, sight: Sight, record: Mapping[str, Any]) -> frozenset[UUID]:
    [seen] = await shown(session, sight, [record])
    return frozenset(item.item for item in given(seen))


def _items(recorded: Sequence[Given], trace: Trace | None, got: Again) -> list[ReplayedItem]:
    """What was delivered then, in that order, and what only is now."""
    then = {item.item: item.score for item in trace.candidates} if trace else {}
    scores = {item.item: item.score for item in got.traced}
    was = {item.item: (place, item) for place, item in enumerate(recorded, 1)}
    now = {item.item: (place, item) for place, item in enumerate(got.given, 1)}
    return [
        ReplayedItem(
            item,
            either.whole,
            either.source,
            was[item][0] if item in was else None,
            was[item][1].sha256 if item in was else None,
            then.get(item) if item in was else None,
            now[item][0] if item in now else None,
            now[item][1].sha256 if item in now else None,
            scores.get(item) if item in now else None,
        )
        for item in (*was, *(id for id in now if id not in was))
        for either in [(was.get(item) or now[item])[1]]
    ]


def _closed(attribution: Attribution, recorded: Sequence[Given], trace: Trace | None, seen: frozenset[UUID]) -> Replay:
    """Who asked then may not ask there today."""
    nothing = Again((), (), {}, frozenset(), frozenset(), "", None)
    reason = DriftReason(
        Drift.PERMISSION_CHANGED,
        tuple(item.item for item in recorded if item.item in seen),
        SENTENCES[Drift.PERMISSION_CHANGED],
    )
    return Replay(
        ReplayVerdict.DRIFTED,
        (reason,),
        tuple(item for item in _items(recorded, trace, nothing) if item.item in seen),
        True,
        trace is not None,
        0,
        attribution.valid_at,
        attribution.known_at,
    )
