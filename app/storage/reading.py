"""Reading one document as of a point of both clocks."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from app.domain.temporal import Period
from app.storage.engine import Session
from app.storage.scope import believed_now, known, tenant, valid, valid_within


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document's version that held then, with its text."""

    document_id: UUID
    version_id: UUID
    source_id: UUID
    space_id: UUID
    provider: str
    kind: str
    external_id: str
    title: str
    text: str
    content_sha256: bytes
    mime: str
    url: str | None
    etag: str | None
    tags: list[str]
    confidence: float | None
    epistemic_status: str
    transform_type: str
    valid_from: datetime | None
    valid_to: datetime | None
    system_from: datetime
    system_to: datetime | None


# The source must still be there today: old clocks never widen access.
_VERSION = f"""
    SELECT v.document_id, v.id, v.source_id, o.space_id, o.provider, o.kind, v.external_id, v.title, c.text,
        v.content_sha256, v.mime, v.url, v.etag, v.tags, CAST(v.confidence AS float8), v.epistemic_status,
        v.transform_type, v.valid_from, v.valid_to, v.system_from, v.system_to
    FROM document_versions v
    JOIN contents c ON {tenant("c")} AND c.sha256 = v.content_sha256
    JOIN sources o ON {believed_now("o")} AND o.id = v.source_id
    WHERE {tenant("v")} AND v.document_id = :document
    """
_AT = text(f"{_VERSION} AND {known('v')} AND {valid('v')}")
_FROM = text(f"{_VERSION} AND {known('v')} AND {valid_within('v')} ORDER BY v.valid_from NULLS FIRST LIMIT 1")
_CLOCK = text(f"SELECT c.system_at, greatest(now(), c.system_at) AS now FROM organisation_clocks c WHERE {tenant('c')}")


async def clock(session: Session) -> tuple[datetime, datetime]:
    """The organisation's clock in this snapshot, and now: the greater of the database's and the clock."""
    row = await session.row(_CLOCK, {"organisation": session.organisation})
    if row is None:
        raise LookupError("the organisation has no clock")
    return row.system_at, row.now


async def point(session: Session, as_of: datetime | None, known_at: datetime | None) -> tuple[datetime, datetime]:
    """(valid at, known at): now where not given, and never later than the clock on the system axis."""
    at, now = await clock(session)
    return as_of or now, at if known_at is None else min(known_at, at)


async def document_at(
    session: Session, document: UUID, valid_at: datetime, known_at: datetime
) -> StoredDocument | None:
    row = await session.row(
        _AT,
        {
            "organisation": session.organisation,
            "document": document,
            "valid_at": valid_at,
            "known_at": known_at,
        },
    )
    return None if row is None else StoredDocument(*row)


async def document_from(session: Session, document: UUID, period: Period, known_at: datetime) -> StoredDocument | None:
    """What was believed of the first part of a period in which the document holds."""
    row = await session.row(
        _FROM,
        {
            "organisation": session.organisation,
            "document": document,
            "start": period.start,
            "end": period.end,
            "known_at": known_at,
        },
    )
    return None if row is None else StoredDocument(*row)


_PLACE = text(
    "SELECT d.source_id, d.external_key, o.space_id, o.provider FROM documents d "
    f"JOIN sources o ON {believed_now('o')} AND o.id = d.source_id WHERE {tenant('d')} AND d.id = :document"
)


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    source_id: UUID
    external_key: str
    space_id: UUID
    provider: str


async def document_place(session: Session, document: UUID) -> DocumentPlace | None:
    """Where a document belongs; None when it is unknown or its source is gone."""
    row = await session.row(_PLACE, {"organisation": session.organisation, "document": document})
    return None if row is None else DocumentPlace(*row)


@dataclass(frozen=True, slots=True)
class Entry:
    """A document in the list of its source: the version that held then, without its text."""

    document_id: UUID
    version_id: UUID
    external_id: str
    title: str
    content_sha256: bytes
    mime: str
    url: str | None
    tags: list[str]
    valid_from: datetime | None
    valid_to: datetime | None
    system_from: datetime
    system_to: datetime | None


_ENTRIES = text(
    f"""
    SELECT v.document_id, v.id, v.external_id, v.title, v.content_sha256, v.mime, v.url, v.tags, v.valid_from,
        v.valid_to, v.system_from, v.system_to
    FROM document_versions v WHERE {known("v")} AND {valid("v")} AND v.source_id = :source AND v.document_id > :after
    ORDER BY v.document_id LIMIT :limit
    """
)


async def entries(
    session: Session, source: UUID, valid_at: datetime, known_at: datetime, *, after: UUID, limit: int
) -> list[Entry]:
    """The documents of a source that were believed to hold then, by id."""
    rows = await session.rows(
        _ENTRIES,
        {
            "organisation": session.organisation,
            "source": source,
            "valid_at": valid_at,
            "known_at": known_at,
            "after": after,
            "limit": limit,
        },
    )
    return [Entry(*row) for row in rows]
