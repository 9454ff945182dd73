"""The sources of an organisation and what stands in them, for those who look after them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Session, WriteSession
from app.storage.scope import believed_now, tenant


@dataclass(frozen=True, slots=True)
class Listed:
    """A source as it stands today; `synced_at` is when it was last read to its end, `place` from where."""

    id: UUID
    space_id: UUID
    kind: str
    provider: str
    name: str
    classification: str
    language: str
    access_policy: Mapping[str, Any] | None
    index_version: int
    system_from: datetime
    synced_at: datetime | None
    place: str | None


_COLUMNS = f"""
    o.id, o.space_id, o.kind, o.provider, o.name, o.classification, o.language, o.access_policy, o.index_version,
    o.system_from, (SELECT max(y.system_from) FROM source_syncs y WHERE {tenant("y")} AND y.source_id = o.id),
    (SELECT p.place FROM source_places p WHERE {tenant("p")} AND p.source_id = o.id)
"""
_ONE = text(f"SELECT {_COLUMNS} FROM sources o WHERE {believed_now('o')} AND o.id = :id")
_MANY = text(
    f"SELECT {_COLUMNS} FROM sources o WHERE {believed_now('o')} AND o.space_id = ANY(CAST(:spaces AS uuid[])) "
    "AND (CAST(:providers AS text[]) IS NULL OR o.provider = ANY(CAST(:providers AS text[]))) "
    "AND o.id > :after ORDER BY o.id LIMIT :limit"
)


async def source(session: Session, id: UUID) -> Listed | None:
    row = await session.row(_ONE, {"organisation": session.organisation, "id": id})
    return None if row is None else Listed(*row)


async def sources(
    session: Session, spaces: Collection[UUID], providers: Collection[str] | None, after: UUID, limit: int
) -> list[Listed]:
    """Sources of some spaces, of some providers or (None) of all, by id, which is the order in which they were made."""
    rows = await session.rows(
        _MANY,
        {
            "organisation": session.organisation,
            "spaces": list(spaces),
            "providers": None if providers is None else sorted(providers),
            "after": after,
            "limit": limit,
        },
    )
    return [Listed(*row) for row in rows]


_CLOSE = text(
    f"UPDATE sources o SET system_to = :stamp WHERE {believed_now('o')} AND o.id = :id AND o.system_from < :stamp"
)
_RECLASSIFY = text(
    "INSERT INTO sources (organisation_id, id, space_id, kind, provider, name, classification, access_policy, "
    "language, index_version, system_from) SELECT o.organisation_id, o.id, o.space_id, o.kind, o.provider, o.name, "
    ":classification, o.access_policy, o.language, o.index_version, :stamp "
    f"FROM sources o WHERE {tenant('o')} AND o.id = :id AND o.system_to = :stamp"
)
_UNQUEUE = text(
    f"DELETE FROM embedding_queue q USING chunks c WHERE {tenant('q')} AND {tenant('c')} AND c.id = q.chunk_id "
    "AND c.source_id = :id"
)


async def remove(session: WriteSession, id: UUID) -> None:
    """The source is believed no longer: from the commit on nothing of it is found, and nothing more is embedded."""
    named = {"organisation": session.organisation, "id": id, "stamp": session.stamp}
    await session.run(_CLOSE, named)
    await session.run(_UNQUEUE, {"organisation": session.organisation, "id": id})


async def reclassify(session: WriteSession, id: UUID, classification: str) -> None:
    """Another class from now on; what it was before stays known."""
    named = {"organisation": session.organisation, "id": id, "stamp": session.stamp}
    await session.run(_CLOSE, named)
    await session.run(_RECLASSIFY, {**named, "classification": classification})


_PLACE = text(
    "INSERT INTO source_places (organisation_id, source_id, place) VALUES (:organisation, :id, :place) "
    "ON CONFLICT (organisation_id, source_id) DO UPDATE SET place = excluded.place"
)


async def note_place(session: Session, id: UUID, place: str) -> None:
    """Where on this deployment's disks the source is read from."""
    await session.run(_PLACE, {"organisation": session.organisation, "id": id, "place": place})


_IDS = text(
    f"SELECT d.external_key, d.id FROM documents d WHERE {tenant('d')} AND d.source_id = :source "
    "AND d.external_key = ANY(CAST(:keys AS text[]))"
)


async def document_ids(session: Session, source: UUID, keys: Sequence[str]) -> dict[str, UUID]:
    """The ids of documents by their keys at the source."""
    rows = await session.rows(_IDS, {"organisation": session.organisation, "source": source, "keys": list(keys)})
    return {row.external_key: row.id for row in rows}
