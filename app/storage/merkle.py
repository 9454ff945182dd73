"""The stored nodes of a chain's Merkle tree, and its signed checkpoints."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import text

from app.domain.merkle import HASH_BYTES, Node
from app.domain.tree_digest import BLOCK_BITS
from app.storage.engine import Session
from app.storage.scope import tenant

#: No tree of 2^63 leaves has a node above.
MAX_LEVEL = 63

# One signer of an organisation's checkpoints at a time.
_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended(CAST(:organisation AS text), 8))")
_SIZE = text(
    f"SELECT m.position + 1 FROM merkle_nodes m WHERE {tenant('m')} AND m.level = 0 ORDER BY m.position DESC LIMIT 1"
)
_NODES = text(
    # One look into the index for each, whatever is believed of the table's size.
    "SELECT w.level, w.position, n.hash FROM unnest(CAST(:levels AS smallint[]), CAST(:positions AS bigint[])) "
    f"AS w (level, position) CROSS JOIN LATERAL (SELECT m.hash FROM merkle_nodes m WHERE {tenant('m')} "
    "AND m.level = w.level AND m.position = w.position OFFSET 0) n"
)
_ADD = text(
    "INSERT INTO merkle_nodes (organisation_id, level, position, hash) SELECT :organisation, * "
    "FROM unnest(CAST(:levels AS smallint[]), CAST(:positions AS bigint[]), CAST(:hashes AS bytea[]))"
)


async def lock(session: Session) -> None:
    """Become the organisation's signer until the transaction ends."""
    await session.run(_LOCK, {"organisation": str(session.organisation)})


async def size(session: Session) -> int:
    """Leaves of the stored tree."""
    return int(await session.value(_SIZE, {"organisation": session.organisation}) or 0)


async def nodes(session: Session, wanted: Collection[Node]) -> dict[Node, bytes]:
    """The hashes of those of the nodes that are stored, each reached by its key."""
    if not wanted:
        return {}
    levels, positions = zip(*wanted, strict=True)
    rows = await session.fetch(
        _NODES, {"organisation": session.organisation, "levels": list(levels), "positions": list(positions)}
    )
    return {(level, position): digest for level, position, digest in rows}


async def add(session: Session, made: Sequence[tuple[Node, bytes]]) -> None:
    await session.run(
        _ADD,
        {
            "organisation": session.organisation,
            "levels": [level for (level, _), _ in made],
            "positions": [position for (_, position), _ in made],
            "hashes": [digest for _, digest in made],
        },
    )


# Of the nodes that leaves from `first` to `last` complete, the digest of each level, as `NodeDigests` computes it; NULL
# where places are left out or something is no hash.
_DIGESTS = text(
    f"""
    SELECT b.level, CASE WHEN sum(b.nodes) = max(b.top) + 1 - (CAST(:first AS bigint) >> CAST(b.level AS integer))
        AND bool_and(b.sized) THEN sha256(string_agg(b.digest, CAST('' AS bytea) ORDER BY b.block)) END AS digest
    FROM (
        SELECT m.level, m.position >> {BLOCK_BITS} AS block, count(*) AS nodes, max(m.position) AS top,
            bool_and(octet_length(m.hash) = {HASH_BYTES}) AS sized,
            sha256(string_agg(m.hash, CAST('' AS bytea) ORDER BY m.position)) AS digest
        FROM generate_series(0, {MAX_LEVEL}) AS w (level) JOIN merkle_nodes m ON {tenant("m")}
            AND m.level = w.level AND m.position >= CAST(:first AS bigint) >> w.level
            AND (CAST(:last AS bigint) IS NULL OR m.position < CAST(:last AS bigint) >> w.level)
        GROUP BY m.level, m.position >> {BLOCK_BITS}) b
    GROUP BY b.level
    """
)


async def digests(session: Session, start: int, end: int | None) -> dict[int, bytes | None]:
    """By level, the digest of the nodes that came into being while the tree grew from `start` to `end` leaves; with
    None, of all that are stored from there on."""
    rows = await session.rows(_DIGESTS, {"organisation": session.organisation, "first": start, "last": end})
    return {row.level: row.digest for row in rows}


class StoredCheckpoint(NamedTuple):
    """A signed note of a tree of `size` leaves, and the id of the key that signed it."""

    size: int
    key_id: str
    note: bytes
    issued_at: datetime


_COLUMNS = "c.size, c.key_id, c.note, c.issued_at"
_LATEST = text(
    f"SELECT {_COLUMNS} FROM checkpoints c WHERE {tenant('c')} ORDER BY c.size DESC, c.issued_at DESC LIMIT 1"
)
_COVERING = text(
    f"SELECT {_COLUMNS} FROM checkpoints c WHERE {tenant('c')} AND c.size >= :size ORDER BY c.size, c.key_id LIMIT 1"
)
_AT = text(f"SELECT {_COLUMNS} FROM checkpoints c WHERE {tenant('c')} AND c.size = :size ORDER BY c.key_id LIMIT 1")
_SIGN = text(
    "INSERT INTO checkpoints (organisation_id, size, key_id, note, issued_at) "
    "VALUES (:organisation, :size, :key_id, :note, :issued_at) ON CONFLICT DO NOTHING"
)


async def latest(session: Session) -> StoredCheckpoint | None:
    """The checkpoint of the largest tree."""
    row = await session.row(_LATEST, {"organisation": session.organisation})
    return None if row is None else StoredCheckpoint(*row)


async def covering(session: Session, least: int) -> StoredCheckpoint | None:
    """The earliest checkpoint of a tree of at least so many leaves."""
    row = await session.row(_COVERING, {"organisation": session.organisation, "size": least})
    return None if row is None else StoredCheckpoint(*row)


async def at(session: Session, leaves: int) -> StoredCheckpoint | None:
    """A checkpoint of the tree of exactly so many leaves."""
    row = await session.row(_AT, {"organisation": session.organisation, "size": leaves})
    return None if row is None else StoredCheckpoint(*row)


async def keep(session: Session, checkpoint: StoredCheckpoint) -> None:
    """Store it; the same one twice is one."""
    await session.run(_SIGN, {"organisation": session.organisation, **checkpoint._asdict()})
