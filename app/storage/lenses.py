"""Lenses on the system clock."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from app.domain.lens import Lens
from app.storage.engine import AnyRow, Session, WriteSession
from app.storage.permissions import VISIBLE
from app.storage.scope import believed_now, known, tenant


@dataclass(frozen=True, slots=True)
class LensHome:
    """Where a lens belongs, whether or not it is still there, and when it was changed last."""

    space_id: UUID
    changed_at: datetime


_COLUMNS = "l.id, l.space_id, l.name, l.space_ids, l.source_kinds, l.providers, l.tags, l.system_from"
_HOME = text(
    f"SELECT l.space_id, max(greatest(l.system_from, l.system_to)) AS changed_at FROM lenses l WHERE {tenant('l')} "
    "AND l.id = :id GROUP BY l.space_id"
)
_AT = text(f"SELECT {_COLUMNS} FROM lenses l WHERE {known('l')} AND l.id = :id")
_LISTED = text(
    f"SELECT {_COLUMNS} FROM lenses l JOIN spaces s ON {believed_now('s')} AND s.id = l.space_id AND {VISIBLE} "
    f"WHERE {known('l')} AND l.id > :after ORDER BY l.id LIMIT :limit"
)
_CLOSE = text(f"UPDATE lenses l SET system_to = :stamp WHERE {believed_now('l')} AND l.id = CAST(:id AS uuid)")
_NEW = text(
    "INSERT INTO lenses (organisation_id, id, space_id, name, space_ids, source_kinds, providers, tags, system_from) "
    "VALUES (:organisation, :id, :space, :name, CAST(:space_ids AS uuid[]), CAST(:source_kinds AS text[]), "
    "CAST(:providers AS text[]), CAST(:tags AS text[]), :stamp)"
)


async def home(session: Session, id: UUID) -> LensHome | None:
    row = await session.row(_HOME, {"organisation": session.organisation, "id": id})
    return None if row is None else LensHome(*row)


async def at(session: Session, id: UUID, known_at: datetime) -> Lens | None:
    """The lens as it was known then."""
    row = await session.row(_AT, {"organisation": session.organisation, "id": id, "known_at": known_at})
    return None if row is None else _lens(row)


_SPACES = text(
    f"SELECT DISTINCT l.id, l.space_id FROM lenses l WHERE {tenant('l')} AND l.id = ANY(CAST(:lenses AS uuid[]))"
)


async def spaces_of(session: Session, lenses: Collection[UUID]) -> dict[UUID, UUID]:
    """The space that each lens belongs to, also of one that is retracted."""
    rows = await session.rows(_SPACES, {"organisation": session.organisation, "lenses": list(lenses)})
    return {row.id: row.space_id for row in rows}


async def listed(
    session: Session, user: UUID, principals: Sequence[UUID], known_at: datetime, after: UUID, limit: int
) -> list[Lens]:
    """The lenses that were known then of the spaces that the caller may see today, by id."""
    rows = await session.rows(
        _LISTED,
        {
            "organisation": session.organisation,
            "user": user,
            "principals": list(principals),
            "known_at": known_at,
            "after": after,
            "limit": limit,
        },
    )
    return [_lens(row) for row in rows]


async def store(session: WriteSession, lens: Lens) -> None:
    """From the session's instant on the lens is this."""
    await session.run(
        _NEW,
        {
            "organisation": session.organisation,
            "id": lens.id,
            "space": lens.space_id,
            "name": lens.name,
            "space_ids": _list(lens.space_ids),
            "source_kinds": _list(lens.source_kinds),
            "providers": _list(lens.providers),
            "tags": _list(lens.tags),
            "stamp": session.stamp,
        },
    )


async def close(session: WriteSession, id: UUID) -> None:
    """From the session's instant on there is no such lens, unless `store` follows."""
    await session.run(_CLOSE, {"organisation": session.organisation, "id": id, "stamp": session.stamp})


def _list(values: Sequence[object] | None) -> list[object] | None:
    return None if values is None else list(values)


def _lens(row: AnyRow) -> Lens:
    id, space, name, *filters, system_from = row
    spaces, kinds, providers, tags = (None if values is None else tuple(values) for values in filters)
    return Lens(id, space, name, spaces, kinds, providers, tags, system_from)
