"""Retrieval traces: beside the evidence, unsigned and erasable."""

from sqlalchemy import Column, ForeignKeyConstraint, Index, LargeBinary, Table, Uuid

from app.storage.tables.base import instant, metadata, organisation

#: The key to subjects does what no grant could: a subject's traces go with it, and a retrieval that was still running
#: when the subject was forgotten cannot leave one behind.
retrieval_traces = Table(
    "retrieval_traces",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("request_id", Uuid, nullable=False),
    Column("attribution_id", Uuid, nullable=False),
    Column("user_id", Uuid, nullable=False),
    Column("space_id", Uuid),
    Column("subject_id", Uuid, comment="whose memories were recalled; forgotten with them"),
    instant("issued_at"),
    Column("payload", LargeBinary, nullable=False),
    ForeignKeyConstraint(
        ["organisation_id", "subject_id"], ["subjects.organisation_id", "subjects.id"], ondelete="CASCADE"
    ),
    Index("retrieval_traces_request_idx", "organisation_id", "request_id", unique=True),
    Index(
        "retrieval_traces_subject_idx",
        "organisation_id",
        "subject_id",
        postgresql_where="subject_id IS NOT NULL",
    ),
)
