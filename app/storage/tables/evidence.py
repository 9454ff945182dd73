"""The attribution queue and the chained evidence. Neither is ever edited; evidence is never deleted from."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Column,
    Computed,
    DateTime,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.schema import SchemaItem

from app.storage.record_fields import field, raw
from app.storage.tables.base import instant, metadata, organisation


def _record() -> list[SchemaItem]:
    """The canonical bytes that are hashed, and what is looked up in them: computed, so that it cannot differ. The id is
    in them too, under the MAC: a row under another name would not pass."""
    return [
        Column("id", Uuid, nullable=False),
        Column("payload", LargeBinary, nullable=False),
        Column("fields", ARRAY(Text), Computed("record_fields(payload)", persisted=True)),
        CheckConstraint(f"id = {field('id')}", name="id_of_payload"),
    ]


attribution_queue = Table(
    "attribution_queue",
    metadata,
    organisation(),
    Column("position", BigInteger, Identity(always=True), primary_key=True),
    *_record(),
    Column("queued_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    Index("attribution_queue_id_idx", "organisation_id", "id", unique=True),
    Index("attribution_queue_request_idx", "organisation_id", text(field("request_id"))),
)

evidence = Table(
    "evidence",
    metadata,
    organisation(),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    *_record(),
    Column("previous_mac", LargeBinary, nullable=False),
    Column("mac", LargeBinary, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("queued_at", DateTime(timezone=True), nullable=False),
    Column("appended_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    Index("evidence_previous_mac_idx", "organisation_id", "previous_mac", unique=True),
    Index("evidence_id_idx", "organisation_id", "id", unique=True),
    Index("evidence_request_idx", "organisation_id", text(field("request_id"))),
    Index(
        "evidence_link_idx",
        "organisation_id",
        text(raw("attribution_id")),
        postgresql_where=text(f"{raw('category')} = 'context_attribution_link'"),
    ),
    *(
        Index(f"evidence_{name}_idx", "organisation_id", text(column), "sequence", postgresql_where=text(condition))
        for name, column, condition in (
            ("user", raw("user_id"), f"{raw('user_id')} IS NOT NULL"),
            ("space", raw("space_id"), f"{raw('space_id')} IS NOT NULL"),
            ("subject", raw("subject_pseudonym"), f"{raw('subject_pseudonym')} IS NOT NULL"),
            ("client", raw("client_id"), f"{raw('client_id')} IS NOT NULL"),
            ("issued", raw("issued_at"), f"{field('issued_at')} IS NOT NULL"),
            ("category", raw("category"), f"{raw('category')} <> 'context_attribution'"),
        )
    ),
)

#: One row a response that used a retrieval, so that linking twice records once.
response_links = Table(
    "response_links",
    metadata,
    organisation(),
    Column("attribution_id", Uuid, primary_key=True),
    Column("response_id", Text, primary_key=True),
    Column("user_id", Uuid, nullable=False),
)

#: Each verification of a chain, with what it found. One that makes a later start possible carries a sealed mark.
chain_verifications = Table(
    "chain_verifications",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    instant("started_at"),
    instant("finished_at"),
    Column("verdict", Text, nullable=False),
    Column("first_bad_sequence", BigInteger),
    Column("checked_records", BigInteger, nullable=False),
    Column("requested_by", Uuid),
    Column("duration_ms", Integer, nullable=False),
    Column("occasion", Text, nullable=False, server_default="REQUEST"),
    Column("reason", Text, nullable=False, server_default=""),
    Column("from_sequence", BigInteger),
    Column("to_sequence", BigInteger),
    Column("mark_mac", LargeBinary),
    Column("mark_key_id", Text),
    Column("mark_seal", LargeBinary),
    Index("chain_verifications_finished_idx", "organisation_id", "finished_at", "id"),
    Index(
        "chain_verifications_mark_idx",
        "organisation_id",
        "to_sequence",
        postgresql_where=text("mark_seal IS NOT NULL"),
    ),
)

#: When an organisation's chain is to be verified next, and which process is at it, until when.
verification_schedules = Table(
    "verification_schedules",
    metadata,
    organisation(),
    Column("due_at", DateTime(timezone=True), nullable=False),
    Column("claimed_until", DateTime(timezone=True)),
    Column("claimed_by", Uuid),
)
