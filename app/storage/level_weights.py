"""An organisation's own level weights, on the system clock: each set is replaced as a whole."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import text

from app.domain.principal import Level
from app.storage.engine import Session, WriteSession
from app.storage.scope import believed_now, known, tenant

_AT = text(f"SELECT w.level, w.weight FROM level_weights w WHERE {known('w')}")
# Of a row that was closed after the point, only its beginning was known then.
_CHANGED_AT = text(
    "SELECT max(CASE WHEN w.system_to <= :known_at THEN w.system_to ELSE w.system_from END) FROM level_weights w "
    f"WHERE {tenant('w')} AND w.system_from <= :known_at"
)
_CLOSE = text(f"UPDATE level_weights w SET system_to = :stamp WHERE {believed_now('w')}")
_NEW = text(
    "INSERT INTO level_weights (organisation_id, level, weight, system_from) "
    "VALUES (:organisation, :level, CAST(CAST(:weight AS text) AS numeric), :stamp)"
)


async def overrides(session: Session, known_at: datetime) -> dict[Level, float]:
    """The weights that the organisation had set, as known then."""
    rows = await session.rows(_AT, {"organisation": session.organisation, "known_at": known_at})
    return {Level(row.level): float(row.weight) for row in rows}


async def changed_at(session: Session, known_at: datetime) -> datetime | None:
    """When the set was last changed, as known then; None: never."""
    at: datetime | None = await session.value(_CHANGED_AT, {"organisation": session.organisation, "known_at": known_at})
    return at


async def replace(session: WriteSession, weights: Mapping[Level, float]) -> None:
    """From the session's instant on the organisation's weights are these and no others."""
    base = {"organisation": session.organisation, "stamp": session.stamp}
    await session.run(_CLOSE, base)
    await session.run(
        _NEW, [{**base, "level": level.value, "weight": str(weight)} for level, weight in weights.items()]
    )
