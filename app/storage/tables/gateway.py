"""Calls of a model that named a retrieval: when, which, how they ended; nothing of what was said."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Table, Text, Uuid

from app.storage.tables.base import instant, metadata, organisation

model_calls = Table(
    "model_calls",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("user_id", Uuid, nullable=False),
    Column("context_request_id", Text, nullable=False, comment="as the call named it: a request or an attribution"),
    Column("attribution_id", Uuid, comment="the retrieval, once it was linked"),
    Column("endpoint", Text, nullable=False),
    Column("model", Text),
    instant("started_at"),
    Column("duration_ms", BigInteger, nullable=False),
    Column("status", Integer, comment="of the provider's answer; NULL when there was none"),
    Column("streamed", Boolean, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("link", Text, comment="NULL when there was no answer to link"),
    Column("client_id", Text),
    Column("client_name", Text),
    Column("client_version", Text),
    Index("model_calls_context_idx", "organisation_id", "context_request_id", "id"),
)
