"""Document frequencies of each source, on the system clock: counted anew when a space has grown or shrunk by a tenth.

Inverse document frequency hardly moves in between, so the versions of a space stay logarithmic in number, and a past
answer finds the very frequencies that it was scored with.
"""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Session, WriteSession
from app.storage.scope import tenant

_LIVE = f"{tenant('p')} AND p.space_id = CAST(:space AS uuid) AND p.system_to IS NULL AND p.valid_to IS NULL"
_GROWTH = text(
    f"""
    SELECT (SELECT count(*) FROM postings p WHERE {_LIVE}) AS chunks,
        (SELECT sum(n.chunk_count) FROM lexical_statistics n WHERE {tenant("n")} AND n.space_id = CAST(:space AS uuid)
            AND n.system_to IS NULL) AS counted
    """
)
_COUNT = text(
    "SELECT source_id, key, count(*)::int AS frequency FROM "
    f"(SELECT p.source_id, unnest(p.keys) AS key FROM postings p WHERE {_LIVE}) AS held GROUP BY source_id, key"
)
_CHUNKS = text(f"SELECT p.source_id, count(*)::int AS chunks FROM postings p WHERE {_LIVE} GROUP BY p.source_id")


async def growth(session: Session, space: UUID) -> tuple[int, int]:
    """Live chunks of a space now, and how many there were when its frequencies were last counted (0 = never)."""
    row = await session.row(_GROWTH, {"organisation": session.organisation, "space": space})
    assert row is not None
    return row.chunks, int(row.counted or 0)


@dataclass(frozen=True, slots=True)
class Counted:
    """The live chunks of a space: how many each source has, and (source, key, chunks of it that hold the key)."""

    chunks: list[tuple[UUID, int]]
    frequencies: list[tuple[UUID, int, int]]


async def count_frequencies(session: Session, space: UUID) -> Counted:
    """Slow on purpose outside the write that stores it."""
    named = {"organisation": session.organisation, "space": space}
    return Counted(
        [(row.source_id, row.chunks) for row in await session.rows(_CHUNKS, named)],
        [(row.source_id, row.key, row.frequency) for row in await session.rows(_COUNT, named)],
    )


_CLOSE_FREQUENCIES = text(
    f"UPDATE lexeme_frequencies f SET system_to = :stamp WHERE {tenant('f')} AND f.space_id = CAST(:space AS uuid) "
    "AND f.system_to IS NULL"
)
_NEW_FREQUENCIES = text(
    "INSERT INTO lexeme_frequencies (organisation_id, space_id, source_id, key, frequency, system_from) "
    "SELECT :organisation, CAST(:space AS uuid), counted.source, counted.key, counted.frequency, :stamp "
    "FROM unnest(CAST(:sources AS uuid[]), CAST(:keys AS bigint[]), CAST(:frequencies AS int[])) "
    "AS counted(source, key, frequency)"
)
_CLOSE_STATISTICS = text(
    f"UPDATE lexical_statistics n SET system_to = :stamp WHERE {tenant('n')} AND n.space_id = CAST(:space AS uuid) "
    "AND n.system_to IS NULL"
)
_NEW_STATISTICS = text(
    "INSERT INTO lexical_statistics (organisation_id, space_id, source_id, chunk_count, system_from) "
    "VALUES (:organisation, :space, :source, :chunks, :stamp)"
)


async def replace_frequencies(session: WriteSession, space: UUID, counted: Counted) -> None:
    """Close the frequencies of a space and open new ones, at the session's stamp."""
    base = {"organisation": session.organisation, "space": space, "stamp": session.stamp}
    await session.run(_CLOSE_FREQUENCIES, base)
    await session.run(_CLOSE_STATISTICS, base)
    await session.run(
        _NEW_FREQUENCIES,
        {
            **base,
            "sources": [source for source, _, _ in counted.frequencies],
            "keys": [key for _, key, _ in counted.frequencies],
            "frequencies": [count for _, _, count in counted.frequencies],
        },
    )
    await session.run(
        _NEW_STATISTICS, [{**base, "source": source, "chunks": chunks} for source, chunks in counted.chunks]
    )
