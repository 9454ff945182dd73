"""Sources: where documents come from, on the system clock."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Session, WriteSession
from app.storage.scope import believed_now, tenant


@dataclass(frozen=True, slots=True)
class StoredSource:
    """A source as it stands today."""

    id: UUID
    space_id: UUID
    kind: str
    provider: str
    name: str
    language: str
    index_version: int
    classification: str = "internal"


@dataclass(frozen=True, slots=True)
class Sync:
    """A completed synchronisation; `cursor` is None when the next one must read everything."""

    system_from: datetime
    cursor: str | None


_COLUMNS = "o.id, o.space_id, o.kind, o.provider, o.name, o.language, o.index_version, o.classification"
_FIND = text(
    f"SELECT {_COLUMNS} FROM sources o WHERE {believed_now('o')} AND o.space_id = CAST(:space AS uuid) "
    "AND o.provider = :provider AND o.name = :name"
)
_CREATE = text(
    "INSERT INTO sources (organisation_id, id, space_id, kind, provider, name, classification, access_policy, "
    "language, index_version, system_from) VALUES (:organisation, :id, :space, :kind, :provider, :name, "
    ":classification, CAST(:access_policy AS jsonb), :language, 1, :stamp)"
)
_SYNCED = text(
    "INSERT INTO source_syncs (organisation_id, source_id, system_from, cursor) "
    "VALUES (:organisation, :source, :stamp, :cursor)"
)
_LAST_SYNC = text(
    f"SELECT y.system_from, y.cursor FROM source_syncs y WHERE {tenant('y')} AND y.source_id = CAST(:source AS uuid) "
    "ORDER BY y.system_from DESC LIMIT 1"
)


async def find_source(session: Session, space: UUID, provider: str, name: str) -> StoredSource | None:
    row = await session.row(
        _FIND, {"organisation": session.organisation, "space": space, "provider": provider, "name": name}
    )
    return None if row is None else StoredSource(*row)


_BY_ID = text(f"SELECT {_COLUMNS} FROM sources o WHERE {believed_now('o')} AND o.id = :id")


async def source_by_id(session: Session, id: UUID) -> StoredSource | None:
    row = await session.row(_BY_ID, {"organisation": session.organisation, "id": id})
    return None if row is None else StoredSource(*row)


async def create_source(
    session: WriteSession,
    *,
    id: UUID,
    space: UUID,
    kind: str,
    provider: str,
    name: str,
    classification: str,
    access_policy: Mapping[str, Any] | None,
    language: str,
) -> StoredSource:
    await session.run(
        _CREATE,
        {
            "organisation": session.organisation,
            "id": id,
            "space": space,
            "kind": kind,
            "provider": provider,
            "name": name,
            "classification": classification,
            "access_policy": None if access_policy is None else json.dumps(access_policy),
            "language": language,
            "stamp": session.stamp,
        },
    )
    return StoredSource(id, space, kind, provider, name, language, 1, classification)


async def record_sync(session: WriteSession, source: UUID, cursor: str | None) -> None:
    """The source was read to its end, at the session's stamp."""
    await session.run(
        _SYNCED,
        {"organisation": session.organisation, "source": source, "stamp": session.stamp, "cursor": cursor},
    )


async def last_sync(session: Session, source: UUID) -> Sync | None:
    row = await session.row(_LAST_SYNC, {"organisation": session.organisation, "source": source})
    return None if row is None else Sync(*row)
