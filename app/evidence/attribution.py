"""Looking up what was delivered, and recording that a response used it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from app.domain.canonical import canonical
from app.domain.errors import Code, MunimentError, bad_input
from app.domain.instant import format_instant, parse_instant
from app.domain.principal import Principal, parse_id
from app.domain.record import id_of, items
from app.evidence.sight import Sight, may_see, shown
from app.providers.ids import new_id
from app.storage import evidence, memories, queue
from app.storage.engine import Database, Session

#: What a retrieval delivered: the only thing that a response can have used.
DELIVERY_CATEGORY = "context_attribution"
LINK_CATEGORY = "context_attribution_link"
MAX_RESPONSE_ID = 256
MAX_REQUEST_ID = 128
MAX_RECORDS = 200


@dataclass(frozen=True, slots=True)
class Attribution:
    """One record. `sequence` is None while it waits to be chained."""

    id: UUID
    sequence: int | None
    queued_at: datetime
    record: Mapping[str, Any]

    @property
    def request_id(self) -> str:
        """Of the retrieval that it speaks of; a record that speaks of none names itself."""
        return str(self.record.get("requestId", self.id))

    @property
    def valid_at(self) -> datetime:
        """The point of valid time that a retrieval read."""
        return self._instant("validAt")

    @property
    def known_at(self) -> datetime:
        return self._instant("knownAt")

    def _instant(self, name: str) -> datetime:
        """CONFLICT where a hand in the database left none to read."""
        try:
            return parse_instant(str(self.record[name]))
        except (KeyError, MunimentError):
            raise altered() from None


async def find(database: Database, principal: Principal, id: str, field: str = "id") -> Attribution:
    """One record by its id. ATTRIBUTION_NOT_FOUND, with the input's `field`, when it is unknown, malformed, or not the
    caller's to see."""
    async with database.snapshot(principal.organisation) as session:
        found = await seen_record(session, principal, id, field)
        if found.record.get("userId") == str(principal.id):
            return found
        [seen] = await shown_of(session, await Sight.of(session, principal), [found])
        return seen


async def seen_record(session: Session, principal: Principal, id: str, field: str = "id") -> Attribution:
    """The same within a session, with all that the record names: not to be shown as it is (`shown_of`)."""
    key = parse_id(id)
    row = None if key is None else await evidence.find_record(session, key)
    if not await may_see(session, principal, row):
        raise not_found(field)
    return attribution_of(row)


async def find_all(database: Database, principal: Principal, request_id: str) -> list[Attribution]:
    """Every record of a request that the caller may see, in chain order; empty when there is none."""
    if len(request_id) > MAX_REQUEST_ID or not is_text(request_id):
        return []
    async with database.snapshot(principal.organisation) as session:
        rows = await evidence.find_request(session, request_id, MAX_RECORDS)
        sight = await Sight.of(session, principal)
        return await shown_of(session, sight, [attribution_of(row) for row in rows if sight.sees(row)])


async def shown_of(session: Session, sight: Sight, found: Sequence[Attribution]) -> list[Attribution]:
    """Records without what the caller may not see today."""
    records = await shown(session, sight, [item.record for item in found])
    return [replace(item, record=record) for item, record in zip(found, records, strict=True)]


async def link_response(database: Database, principal: Principal, attribution_id: str, response_id: str) -> None:
    """Append `context_attribution_link`, once for each pair however often and at once it is called."""
    if not 0 < len(response_id) <= MAX_RESPONSE_ID or not is_text(response_id):
        raise bad_input(f"1 to {MAX_RESPONSE_ID} characters of text", "responseId")
    async with database.snapshot(principal.organisation) as session:
        attribution = await seen_record(session, principal, attribution_id, "attributionId")
    if attribution.record.get("category") != DELIVERY_CATEGORY:
        raise not_found("attributionId")
    await append_link(database, principal, attribution, response_id)


async def append_link(database: Database, principal: Principal, attribution: Attribution, response_id: str) -> None:
    """What `link_response` does once it is clear that this delivery may be linked by this caller."""
    id = new_id()
    payload = canonical(
        {
            "category": LINK_CATEGORY,
            "id": str(id),
            "attributionId": str(attribution.id),
            "requestId": attribution.request_id,
            "organisationId": str(principal.organisation),
            "userId": attribution.record.get("userId"),
            "spaceId": attribution.record.get("spaceId"),
            "linkedBy": str(principal.id),
            "client": {
                "id": principal.client.id,
                "name": principal.client.name,
                "version": principal.client.version,
            },
            "responseId": response_id,
            "issuedAt": format_instant(datetime.now(UTC)),
        }
    )
    named = (id_of(item, "memoryId") for item in items(attribution.record, "memories"))
    used = [memory for memory in named if memory is not None]
    if not used:
        async with database.unstamped(principal.organisation) as session:
            if await evidence.link(session, attribution.id, response_id, principal.id):
                await queue.store(session, id, payload)
        return
    # Ranking reads how often a memory was used, so that count is a fact on the system clock.
    async with database.write(principal.organisation) as write:
        if await evidence.link(write, attribution.id, response_id, principal.id):
            await memories.count_access(write, used)
            await queue.store(write, id, payload)


async def find_delivery(session: Session, named: str) -> Attribution | None:
    """The delivery that a request id or an attribution id names, whoever may see it; None when there is none."""
    row = await _delivery(session, named)
    return None if row is None else attribution_of(row)


async def find_visible_delivery(session: Session, principal: Principal, named: str, field: str) -> Attribution:
    """The same, for who may see it. ATTRIBUTION_NOT_FOUND, with the input's `field`, for anyone else."""
    row = await _delivery(session, named, principal)
    if not await may_see(session, principal, row):
        raise not_found(field)
    return attribution_of(row)


async def _delivery(session: Session, named: str, reader: Principal | None = None) -> Any | None:
    """What is not the reader's own is looked for in both ways, as what does not exist is."""
    if len(named) > MAX_REQUEST_ID or not is_text(named):
        return None
    key = parse_id(named)
    rows = list(await evidence.find_request(session, named if key is None else str(key), MAX_RECORDS))
    delivery = next((row for row in rows if row.category == DELIVERY_CATEGORY), None)
    foreign = delivery is not None and reader is not None and delivery.user_id != reader.id
    if key is not None and (delivery is None or foreign):
        row = await evidence.find_record(session, key)
        delivery = delivery or (row if row is not None and row.category == DELIVERY_CATEGORY else None)
    return delivery


def attribution_of(row: Any) -> Attribution:
    found = json.loads(row.payload)
    record = found if isinstance(found, dict) else {}
    # The time that is under the MAC, not the row's own.
    try:
        issued = parse_instant(str(record["issuedAt"]))
    except (KeyError, MunimentError):
        issued = row.queued_at
    return Attribution(row.id, row.sequence, issued, record)


def is_text(value: str) -> bool:
    """Whether the database can hold it: neither NUL nor half of a surrogate pair."""
    return "\0" not in value and not any("\ud800" <= character <= "\udfff" for character in value)


def altered() -> MunimentError:
    """A record that a hand in the database made unreadable."""
    return MunimentError(Code.CONFLICT, "the record is not as it was written: verifyChain says where")


def not_found(field: str = "id") -> MunimentError:
    return MunimentError(Code.ATTRIBUTION_NOT_FOUND, "no such attribution", field)
