"""How often each caller called. Unlogged: to lose it with a crash costs a minute's counts, to log it a write a call."""

from sqlalchemy import ARRAY, BigInteger, Column, Integer, Table, Text, Uuid

from app.storage.tables.base import metadata, organisation

rate_counts = Table(
    "rate_counts",
    metadata,
    organisation(),
    Column("caller_id", Uuid, primary_key=True, comment="a person or an API key"),
    Column("action", Text, primary_key=True),
    Column("newest", BigInteger, nullable=False, comment="number of the newest bucket, since the epoch"),
    Column("counts", ARRAY(Integer), nullable=False, comment="calls by bucket, the newest first"),
    Column("granted", Integer, nullable=False, comment="what the last call that asked was given"),
    prefixes=["UNLOGGED"],
)
