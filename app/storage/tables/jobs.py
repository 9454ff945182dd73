"""Jobs that outlive the process that began them, and where sources are read from."""

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, Index, Integer, Table, Text, Uuid, text
from sqlalchemy.dialects.postgresql import JSONB

from app.storage.tables.base import instant, metadata, organisation

source_places = Table(
    "source_places",
    metadata,
    organisation(),
    Column("source_id", Uuid, primary_key=True),
    Column("place", Text, nullable=False, comment="a folder of this deployment"),
)

jobs = Table(
    "jobs",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("source_id", Uuid, nullable=False),
    Column("state", Text, nullable=False, server_default="WAITING"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("done", BigInteger, nullable=False, server_default="0"),
    Column("total", BigInteger),
    Column("outcome", JSONB),
    Column("error", Text),
    Column("requested_by", Uuid),
    instant("created_at", server_default=text("clock_timestamp()")),
    Column("finished_at", DateTime(timezone=True)),
    instant("due_at", server_default=text("clock_timestamp()")),
    Column("claimed_by", Uuid),
    Column("claimed_until", DateTime(timezone=True)),
    CheckConstraint("state IN ('WAITING','RUNNING','DONE','PARKED')", name="state"),
    Index("jobs_source_idx", "organisation_id", "source_id", "id"),
    Index("jobs_open_idx", "organisation_id", "due_at", postgresql_where=text("state IN ('WAITING','RUNNING')")),
    Index(
        "jobs_waiting_idx",
        "organisation_id",
        "source_id",
        "kind",
        unique=True,
        postgresql_where=text("state = 'WAITING'"),
    ),
)
