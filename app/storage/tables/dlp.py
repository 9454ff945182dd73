"""An organisation's policy against leaks, and the sources that wait to be indexed anew."""

from sqlalchemy import BigInteger, Boolean, Column, Identity, Index, Integer, Table, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from app.storage.tables.base import both_clocks, instant, metadata, organisation

dlp_policies = Table(
    "dlp_policies",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("policy_id", Uuid, nullable=False, comment="the organisation's one policy"),
    Column("number", Integer, nullable=False, comment="counts its policies from 1"),
    Column("actions", JSONB, nullable=False, comment="action by class"),
    *both_clocks(),
    Index("dlp_policies_fact_idx", "organisation_id", "policy_id", "system_from"),
)

#: One row a source. Who claims it has it for a while; the claim of a killed worker lapses, and `after` says how far it
#: had come.
reindex_queue = Table(
    "reindex_queue",
    metadata,
    organisation(),
    Column("source_id", Uuid, primary_key=True),
    Column("position", BigInteger, Identity(always=True), nullable=False),
    Column("whole", Boolean, nullable=False, comment="every slice, not just those under another policy"),
    Column("after", Uuid, comment="documents up to this id are done"),
    instant("claimed_until", nullable=True),
)
