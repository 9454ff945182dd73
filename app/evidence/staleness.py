"""E10. Deliveries whose items were since corrected, changed, retracted, erased, or whose source was removed."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import groupby
from uuid import UUID

from app.domain.instant import as_utc
from app.domain.principal import Principal
from app.domain.replay import given
from app.evidence.attribution import DELIVERY_CATEGORY, Attribution, attribution_of, not_found, seen_record, shown_of
from app.evidence.indexing import index_delivered
from app.evidence.sight import Sight
from app.storage import delivered, movements
from app.storage.engine import Database
from app.storage.movements import Held, Movement


class MovementKind(StrEnum):
    """What became of an item that was delivered."""

    CORRECTED = "CORRECTED"
    RETRACTED = "RETRACTED"
    CHANGED = "CHANGED"
    ERASED = "ERASED"
    SOURCE_REMOVED = "SOURCE_REMOVED"


@dataclass(frozen=True, slots=True)
class Moved:
    """An item that moved; `at`, on the system clock, is None where nothing is kept of when."""

    item: UUID
    whole: UUID
    kind: MovementKind
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Stale:
    """A delivery and what moved of it, the last movement first."""

    attribution: Attribution
    moved: tuple[Moved, ...]


async def stale(
    database: Database, principal: Principal, since: datetime, *, after: UUID | None = None, limit: int
) -> list[Stale]:
    """The newest deliveries first, up to `limit`, before `after`; of those that the caller may see."""
    since = as_utc(since, "since")
    await index_delivered(database, principal.organisation)
    async with database.snapshot(principal.organisation) as session:
        sight = await Sight.of(session, principal)
        found = await movements.stale(
            session,
            since,
            viewer=sight.viewer,
            after=after,
            limit=limit,
        )
        by_delivery = {id: _moved(group) for id, group in groupby(found, key=lambda one: one.attribution)}
        records = await delivered.records(session, list(by_delivery))
        shown = await shown_of(session, sight, [attribution_of(records[id]) for id in by_delivery])
    return [Stale(record, moved) for record, moved in zip(shown, by_delivery.values(), strict=True)]


async def moved_of(database: Database, principal: Principal, id: str) -> Stale:
    """What moved of one delivery since it was made. ATTRIBUTION_NOT_FOUND as `attribution`."""
    async with database.snapshot(principal.organisation) as session:
        attribution = await seen_record(session, principal, id, "attributionId")
        if attribution.record.get("category") != DELIVERY_CATEGORY:
            raise not_found("attributionId")
        if attribution.record.get("userId") != str(principal.id):
            [attribution] = await shown_of(session, await Sight.of(session, principal), [attribution])
        held = [
            Held(attribution.id, item.item, item.whole, item.source, attribution.valid_at)
            for item in given(attribution.record)
        ]
        found = await movements.of(session, held)
    return Stale(attribution, _moved(found))


_LAST = datetime.max.replace(tzinfo=UTC)


def _moved(found: Iterable[Movement]) -> tuple[Moved, ...]:
    moved = [Moved(one.item, one.whole, MovementKind(one.kind), one.at) for one in found]
    return tuple(sorted(moved, key=lambda one: (one.at or _LAST, one.item), reverse=True))
