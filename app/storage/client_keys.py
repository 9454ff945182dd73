"""What a client's own key has already done."""

import json
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Session, WriteSession
from app.storage.scope import tenant

_FIND = text(
    f"SELECT k.fingerprint, CAST(k.outcome AS text) AS outcome FROM client_keys k WHERE {tenant('k')} "
    "AND k.principal_id = :principal AND k.key = :key"
)
_STORE = text(
    "INSERT INTO client_keys (organisation_id, principal_id, key, fingerprint, outcome, subject_id, system_from) "
    "VALUES (:organisation, :principal, :key, :fingerprint, CAST(:outcome AS jsonb), :subject, :stamp)"
)


async def find(session: Session, principal: UUID, key: str) -> tuple[bytes, dict[str, Any]] | None:
    """(fingerprint of the call, its outcome)."""
    row = await session.row(_FIND, {"organisation": session.organisation, "principal": principal, "key": key})
    return None if row is None else (row.fingerprint, json.loads(row.outcome))


async def store(
    session: WriteSession,
    principal: UUID,
    key: str,
    fingerprint: bytes,
    outcome: dict[str, Any],
    subject: UUID | None,
) -> None:
    await session.run(
        _STORE,
        {
            "organisation": session.organisation,
            "principal": principal,
            "key": key,
            "fingerprint": fingerprint,
            "outcome": json.dumps(outcome),
            "subject": subject,
            "stamp": session.stamp,
        },
    )
