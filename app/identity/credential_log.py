"""What happened to keys and tokens, for the chain: who may get in, and who settled that, cannot be rewritten later."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from app.domain.canonical import canonical
from app.domain.instant import format_instant
from app.providers.ids import new_id
from app.storage import queue
from app.storage.engine import WriteSession

CATEGORY: Final = "credential_change"


async def log_change(session: WriteSession, change: str, by: UUID | None, about: Mapping[str, Any]) -> None:
    """Queue a record, with the change itself. `by` None: the operator of the deployment."""
    id = new_id()
    event = {
        "category": CATEGORY,
        "id": str(id),
        "attributionId": str(id),
        "requestId": str(id),
        "organisationId": str(session.organisation),
        "userId": None if by is None else str(by),
        "spaceId": None,
        "change": change,
        **about,
        "knownAt": format_instant(session.stamp),
        "issuedAt": format_instant(datetime.now(UTC)),
    }
    await queue.enqueue(session, id, canonical(event))
