"""What is kept of a model call that named a retrieval, and who may look it up."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from time import monotonic
from typing import Any, Final
from uuid import UUID

import structlog

from app.domain.model_name import ModelName
from app.domain.principal import Principal, parse_id
from app.evidence.attribution import find_visible_delivery
from app.gateway.link import Link, LinkOutcome, record_failed
from app.providers.ids import new_id
from app.storage import model_calls
from app.storage.engine import Database

log = structlog.get_logger()

#: Seconds that the end of an answer waits for its note; a note that takes longer is written all the same.
_PATIENCE: Final = 0.25
#: Seconds that the last notes may take when the server stops.
_LAST: Final = 5.0


class CallOutcome(StrEnum):
    """How a model call ended."""

    COMPLETED = "completed"
    CUT = "cut"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    HUNG_UP = "hung_up"
    REFUSED = "refused"
    INTERRUPTED = "interrupted"


@dataclass(slots=True)
class Call:
    """One call on its way. Its id is the gateway request id."""

    principal: Principal
    endpoint: str
    named: str | None
    id: UUID = field(default_factory=new_id)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    begun: float = field(default_factory=monotonic)
    model: ModelName = field(default_factory=ModelName)
    status: int | None = None
    streamed: bool = False
    link: Link | None = None
    outcome: CallOutcome | None = None
    _ended: float | None = None

    def end(self, outcome: CallOutcome) -> bool:
        """Once; False when it had ended before."""
        if self.outcome is not None:
            return False
        self.outcome, self._ended = outcome, monotonic()
        return True

    @property
    def duration_ms(self) -> int:
        return round(((self._ended or monotonic()) - self.begun) * 1000)


class CallLog:
    """Writes a line of the log for each call, and a row for each that named a retrieval."""

    def __init__(self, database: Database, rung: asyncio.Event) -> None:
        self._database = database
        self._rung = rung
        self._writing: set[asyncio.Task[None]] = set()

    async def note(self, call: Call, outcome: CallOutcome) -> None:
        """The call has ended. Never raises; waits for the row a moment only, but the row outlives who waits."""
        if not call.end(outcome):
            return
        log.info(
            "gateway.call",
            call=str(call.id),
            endpoint=call.endpoint,
            status=call.status,
            outcome=outcome.value,
            link=None if call.link is None else call.link.outcome.value,
            duration_ms=call.duration_ms,
        )
        if call.named is None:
            return
        task = asyncio.create_task(self._write(call, call.named))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        await asyncio.wait({task}, timeout=_PATIENCE)

    async def _write(self, call: Call, named: str) -> None:
        try:
            async with self._database.unstamped(call.principal.organisation) as session:
                await model_calls.store(session, _row(call, named))
                if call.link is not None and call.link.outcome is LinkOutcome.ERROR:
                    # The record of the link could not be written when it failed; perhaps now.
                    await record_failed(session, call.principal, named, call.id, call.link)
            self._rung.set()
        except Exception:
            log.warning("gateway.call_not_noted", call=str(call.id), exc_info=True)

    async def close(self) -> None:
        """Write what is still to be written."""
        if self._writing:
            await asyncio.wait(self._writing, timeout=_LAST)


def _row(call: Call, named: str) -> dict[str, Any]:
    principal, link = call.principal, call.link
    assert call.outcome is not None
    linked = link is not None and link.outcome is LinkOutcome.LINKED
    return {
        "id": call.id,
        "user_id": principal.id,
        "context_request_id": canonical_name(named),
        "attribution_id": link.attribution.id if link is not None and link.attribution is not None and linked else None,
        "endpoint": call.endpoint,
        "model": call.model.value,
        "started_at": call.started_at,
        "duration_ms": call.duration_ms,
        "status": call.status,
        "streamed": call.streamed,
        "outcome": call.outcome.value,
        "link": None if link is None else link.outcome.value,
        "client_id": principal.client.id,
        "client_name": principal.client.name,
        "client_version": principal.client.version,
    }


def canonical_name(named: str) -> str:
    """One spelling of an id, in whichever it was given."""
    key = parse_id(named)
    return named if key is None else str(key)


@dataclass(frozen=True, slots=True)
class NotedCall:
    """A call as it is looked up."""

    id: UUID
    context_request_id: str
    attribution_id: UUID | None
    endpoint: str
    model: str | None
    started_at: datetime
    duration_ms: int
    status: int | None
    streamed: bool
    outcome: CallOutcome
    link: LinkOutcome | None
    client_id: str | None
    client_name: str | None
    client_version: str | None


async def calls_of(
    database: Database, principal: Principal, named: str, after: UUID | None, limit: int
) -> list[NotedCall]:
    """The calls that named a retrieval by either of its ids. ATTRIBUTION_NOT_FOUND unless the caller may see it."""
    async with database.snapshot(principal.organisation) as session:
        delivery = await find_visible_delivery(session, principal, named, "contextRequestId")
        rows = await model_calls.naming(session, [delivery.request_id, str(delivery.id)], after, limit)
    return [
        NotedCall(
            **{name: getattr(row, name) for name in NotedCall.__dataclass_fields__ if name not in {"outcome", "link"}},
            outcome=CallOutcome(row.outcome),
            link=None if row.link is None else LinkOutcome(row.link),
        )
        for row in rows
    ]
