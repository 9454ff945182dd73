"""W2. Joining a model call to the retrieval that it used. Whatever comes of it, the call goes on as it would have."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

import structlog

from app.domain.canonical import canonical
from app.domain.errors import MunimentError
from app.domain.instant import format_instant
from app.domain.principal import ActorType, Permission, Principal
from app.evidence.attribution import Attribution, append_link, find_delivery
from app.providers.ids import new_id
from app.storage import permissions, queue
from app.storage.engine import Database, Session

log = structlog.get_logger()

#: Of the record of a link that was not made.
FAILED_CATEGORY: Final = "models.gateway.context_link"

#: Seconds between two looks for a record that is still on its way.
_PAUSE = 0.05
#: Seconds beyond the wait that all of it may take: what is slower is an error, and the call goes on.
_GRACE = 2.0


class LinkOutcome(StrEnum):
    """What came of a link; the words of `X-Muniment-Context-Link`."""

    LINKED = "linked"
    NOT_FOUND = "not_found"
    DENIED = "denied"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Link:
    """`attribution` is the delivery that was named, as far as it was found."""

    outcome: LinkOutcome
    attribution: Attribution | None = None


class Linker:
    """`rung` wakes the sequencer; `wait_seconds` is how long a record may be on its way."""

    def __init__(self, database: Database, rung: asyncio.Event, wait_seconds: float) -> None:
        self._database = database
        self._rung = rung
        self._wait = wait_seconds
        self._left: set[asyncio.Task[Link]] = set()

    async def link(self, principal: Principal, named: str, call: UUID) -> Link:
        """Append the link, or the record that it was not made. Never raises, and takes the wait and two seconds at the
        most: a database that does not answer is left to itself."""
        task = asyncio.create_task(self._link(principal, named, call))
        self._left.add(task)
        task.add_done_callback(self._left.discard)
        done, _ = await asyncio.wait({task}, timeout=self._wait + _GRACE)
        if not done:
            task.cancel()
            log.warning("gateway.link_timed_out", call=str(call))
            return Link(LinkOutcome.ERROR)
        return task.result()

    async def _link(self, principal: Principal, named: str, call: UUID) -> Link:
        try:
            found = await self._wait_for(principal, named)
            if found.outcome is LinkOutcome.LINKED and found.attribution is not None:
                await append_link(self._database, principal, found.attribution, str(call))
            else:
                async with self._database.unstamped(principal.organisation) as session:
                    await record_failed(session, principal, named, call, found)
            self._rung.set()
            return found
        except Exception:
            log.warning("gateway.link_failed", call=str(call), exc_info=True)
            return Link(LinkOutcome.ERROR)

    async def _wait_for(self, principal: Principal, named: str) -> Link:
        """A connection is held for each look, not between them. A database that is away may be back within the wait."""
        clock = asyncio.get_running_loop().time
        due = clock() + self._wait
        while True:
            try:
                async with self._database.snapshot(principal.organisation) as session:
                    found = await find_delivery(session, named)
                    if found is not None:
                        allowed = await _may_link(session, principal, found)
                        return Link(LinkOutcome.LINKED if allowed else LinkOutcome.DENIED, found)
            except MunimentError as error:
                if not error.retryable or clock() + _PAUSE > due:
                    raise
            if clock() + _PAUSE > due:
                return Link(LinkOutcome.NOT_FOUND)
            await asyncio.sleep(_PAUSE)

    async def close(self) -> None:
        """Wait for what is under way, as long as one link may take."""
        if self._left:
            await asyncio.wait(self._left, timeout=_GRACE)


async def _may_link(session: Session, principal: Principal, delivery: Attribution) -> bool:
    """One's own retrieval, a key those that were made with it; another's only a person who audits it."""
    record = delivery.record
    if record["userId"] == str(principal.id):
        return principal.api_key_id is None or record.get("apiKeyId") == str(principal.api_key_id)
    if principal.api_key_id is not None or principal.actor_type not in {ActorType.PERSON, ActorType.ADMIN}:
        return False
    if await permissions.holds_at_root(session, principal.identities, Permission.AUDIT_READ):
        return True
    held = await permissions.granted(session, principal.id, principal.identities)
    return record["spaceId"] in {str(space) for space in held.get(Permission.AUDIT_READ, ())}


async def record_failed(session: Session, principal: Principal, named: str, call: UUID, link: Link) -> None:
    """Queue the record of a link that was not made. It belongs to no user, or else a caller who was denied would read
    in it what the id stands for: auditors see it, and administrators of the retrieval's space."""
    id, delivery = new_id(), link.attribution
    event = {
        "category": FAILED_CATEGORY,
        "id": str(id),
        "attributionId": None if delivery is None else str(delivery.id),
        "requestId": named if delivery is None else delivery.request_id,
        "organisationId": str(principal.organisation),
        "userId": None,
        "spaceId": None if delivery is None else delivery.record.get("spaceId"),
        "linkedBy": str(principal.id),
        "apiKeyId": None if principal.api_key_id is None else str(principal.api_key_id),
        "client": {
            "id": principal.client.id,
            "name": principal.client.name,
            "version": principal.client.version,
        },
        "responseId": str(call),
        "outcome": link.outcome.value,
        "issuedAt": format_instant(datetime.now(UTC)),
    }
    await queue.enqueue(session, id, canonical(event))
