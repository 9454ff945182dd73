"""Document frequencies on the system clock: counted anew when a space has grown or shrunk by a tenth.

Inverse document frequency hardly moves in between, so the versions of a space stay logarithmic in number, and a past
answer finds the very frequencies that it was scored with.
"""

from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Session, WriteSession
from app.storage.scope import tenant

_LIVE = f"{tenant('p')} AND p.space_id = CAST(:space AS uuid) AND p.system_to IS NULL AND p.valid_to IS NULL"
_GROWTH = text(
    f"""
    SELECT (SELECT count(*) FROM postings p WHERE {_LIVE}) AS chunks,
        (SELECT n.chunk_count FROM lexical_statistics n WHERE {tenant("n")} AND n.space_id = CAST(:space AS uuid)
            AND n.system_to IS NULL) AS counted
    """
)
_COUNT = text(
    f"SELECT key, count(*)::int AS frequency FROM (SELECT unnest(p.keys) AS key FROM postings p WHERE {_LIVE}) AS held "
    "GROUP BY key"
)


async def growth(session: Session, space: UUID) -> tuple[int, int]:
    """Live chunks of a space now, and how many there were when its frequencies were last counted (0 = never)."""
    row = await session.row(_GROWTH, {"organisation": session.organisation, "space": space})
    assert row is not None
    return row.chunks, row.counted or 0


async def count_frequencies(session: Session, space: UUID) -> list[tuple[int, int]]:
    """(key, chunks that hold it) over the live chunks of a space. Slow on purpose outside the write that stores it."""
    rows = await session.rows(_COUNT, {"organisation": session.organisation, "space": space})
    return [(row.key, row.frequency) for row in rows]


_CLOSE_FREQUENCIES = text(
    f"UPDATE lexeme_frequencies f SET system_to = :stamp WHERE {tenant('f')} AND f.space_id = CAST(:space AS uuid) "
    "AND f.system_to IS NULL"
)
_NEW_FREQUENCIES = text(
    "INSERT INTO lexeme_frequencies (organisation_id, space_id, key, frequency, system_from) "
    "SELECT :organisation, CAST(:space AS uuid), counted.key, counted.frequency, :stamp "
    "FROM unnest(CAST(:keys AS bigint[]), CAST(:frequencies AS int[])) AS counted(key, frequency)"
)
_CLOSE_STATISTICS = text(
    f"UPDATE lexical_statistics n SET system_to = :stamp WHERE {tenant('n')} AND n.space_id = CAST(:space AS uuid) "
    "AND n.system_to IS NULL"
)
_NEW_STATISTICS = text(
    "INSERT INTO lexical_statistics (organisation_id, space_id, chunk_count, system_from) "
    "VALUES (:organisation, :space, :chunks, :stamp)"
)


async def replace_frequencies(session: WriteSession, space: UUID, chunks: int, counted: list[tuple[int, int]]) -> None:
    """Close the frequencies of a space and open new ones, at the session's stamp."""
    base = {"organisation": session.organisation, "space": space, "stamp": session.stamp}
    await session.run(_CLOSE_FREQUENCIES, base)
    await session.run(_CLOSE_STATISTICS, base)
    await session.run(
        _NEW_FREQUENCIES, {**base, "keys": [key for key, _ in counted], "frequencies": [count for _, count in counted]}
    )
    await session.run(_NEW_STATISTICS, {**base, "chunks": chunks})
