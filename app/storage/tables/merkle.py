"""The Merkle tree over each chain, and the checkpoints that were signed of it. Neither is ever edited."""

from sqlalchemy import BigInteger, Column, LargeBinary, SmallInteger, Table, Text

from app.storage.tables.base import instant, metadata, organisation

#: Complete subtrees: the one at `position` of `level` spans the 2^level leaves from position · 2^level on.
merkle_nodes = Table(
    "merkle_nodes",
    metadata,
    organisation(),
    Column("level", SmallInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("hash", LargeBinary, nullable=False),
)

#: Signed notes, byte for byte.
checkpoints = Table(
    "checkpoints",
    metadata,
    organisation(),
    Column("size", BigInteger, primary_key=True, autoincrement=False),
    Column("key_id", Text, primary_key=True),
    Column("note", LargeBinary, nullable=False),
    instant("issued_at"),
)
