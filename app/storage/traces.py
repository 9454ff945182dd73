"""Retrieval traces, stored in one statement with the event that they stand beside."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from app.domain.errors import Code, MunimentError
from app.storage.engine import Session
from app.storage.failures import LATER, orphaned
from app.storage.queue import ENQUEUE
from app.storage.scope import TODAY, believed_now, tenant, valid

_STORE = text(
    f"WITH event AS ({ENQUEUE}) INSERT INTO retrieval_traces "
    "(organisation_id, id, request_id, attribution_id, user_id, space_id, subject_id, issued_at, payload) "
    "VALUES (:organisation, :trace, :request, :id, :user, :space, :subject, :issued_at, :traced)"
)


async def store(session: Session, attribution: UUID, event: bytes, trace: dict[str, Any]) -> None:
    """Store the event and its trace, and commit. ATTRIBUTION_FAILED when it is not certain that all succeeded.

    `trace` has trace, request, user, space, subject, issued_at and traced (the bytes)."""
    try:
        await session.run(_STORE, {"organisation": session.organisation, "id": attribution, "payload": event, **trace})
        await session.commit()
    except (SQLAlchemyError, OSError) as error:
        # The one row that a trace belongs to is its subject's.
        gone = ": the subject was forgotten meanwhile; ask again" if orphaned(error) else ""
        raise MunimentError(
            Code.ATTRIBUTION_FAILED, f"the retrieval could not be recorded{gone}", retry_after_ms=LATER
        ) from error


_COLUMNS = "t.id, t.request_id, t.attribution_id, t.user_id, t.space_id, t.issued_at, t.payload"
_BY_ID = text(f"SELECT {_COLUMNS} FROM retrieval_traces t WHERE {tenant('t')} AND t.id = :value")
_BY_REQUEST = text(f"SELECT {_COLUMNS} FROM retrieval_traces t WHERE {tenant('t')} AND t.request_id = :value")


async def find(session: Session, id: UUID) -> Any | None:
    return await session.row(_BY_ID, {"organisation": session.organisation, "value": id})


async def find_request(session: Session, request: UUID) -> Any | None:
    """The trace of a request; None when none was kept, or it was erased."""
    return await session.row(_BY_REQUEST, {"organisation": session.organisation, "value": request})


_STANDING = text(
    f"""
    WITH open AS (SELECT s.id FROM spaces s WHERE {believed_now("s")}
        AND (s.id = ANY(CAST(:permitted AS uuid[])) OR s.owner_id = :user))
    SELECT o.id, o.provider FROM sources o WHERE {believed_now("o")} AND o.id = ANY(CAST(:sources AS uuid[]))
        AND o.space_id IN (SELECT id FROM open)
    UNION ALL SELECT s.id, NULL FROM open s WHERE s.id = ANY(CAST(:spaces AS uuid[]))
    """
)


async def standing(
    session: Session,
    user: UUID,
    permitted: Collection[UUID],
    *,
    sources: Collection[UUID],
    spaces: Collection[UUID],
) -> dict[UUID, str | None]:
    """Of some sources and spaces those that exist today and lie in a permitted space or the user's own, with the
    provider of a source."""
    rows = await session.rows(
        _STANDING,
        {
            "organisation": session.organisation,
            "user": user,
            "permitted": list(permitted),
            "sources": list(sources),
            "spaces": list(spaces),
        },
    )
    return {row.id: row.provider for row in rows}


_SHARED = text(
    f"""
    SELECT m.id FROM memories m WHERE {tenant("m")} AND m.id = ANY(CAST(:memories AS uuid[])) AND EXISTS (
        SELECT FROM memberships t WHERE {believed_now("t")} AND {valid("t", TODAY)} AND t.verified
        AND t.group_id = m.group_id AND t.subject_id = CAST(:subject AS uuid))
    """
)


async def shared(session: Session, subject: UUID | None, memories: Collection[UUID]) -> frozenset[UUID]:
    """Of some memories those of groups to which a subject belongs today, verified."""
    named = {"organisation": session.organisation, "subject": subject, "memories": list(memories)}
    return frozenset(row.id for row in await session.rows(_SHARED, named))
