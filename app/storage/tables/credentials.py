"""Keys of programs, and tokens that were revoked before their time."""

from sqlalchemy import ARRAY, CheckConstraint, Column, Index, LargeBinary, Table, Text, Uuid

from app.storage.tables.base import instant, metadata, organisation, system_period

#: A key holds from `system_from` until it is revoked, at `system_to`.
api_keys = Table(
    "api_keys",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("principal_id", Uuid, nullable=False, comment="the key as a holder of grants"),
    Column("prefix", Text, nullable=False, comment="the part of the key that is shown"),
    Column("secret_sha256", LargeBinary, nullable=False, comment="of the part that is not kept"),
    Column("name", Text, nullable=False),
    Column("actions", ARRAY(Text), nullable=False),
    Column("providers", ARRAY(Text), comment="NULL admits every provider"),
    Column("spaces", ARRAY(Uuid), comment="these and below; NULL admits every space"),
    Column("actor_type", Text, nullable=False),
    Column("made_by", Uuid, comment="the principal that made it; NULL for the operator"),
    instant("expires_at", nullable=True),
    instant("used_at", nullable=True, comment="within a minute"),
    *system_period(),
    Index("api_keys_prefix_idx", "organisation_id", "prefix", unique=True),
    Index("api_keys_principal_idx", "organisation_id", "principal_id", unique=True),
)

revoked_tokens = Table(
    "revoked_tokens",
    metadata,
    organisation(),
    Column("token_id", Text, primary_key=True, comment="its `jti`"),
    Column("revoked_by", Uuid, comment="NULL for the operator"),
    instant("system_from"),
    CheckConstraint("isfinite(system_from)", name="system_finite"),
)

revoked_subjects = Table(
    "revoked_subjects",
    metadata,
    organisation(),
    Column("principal_id", Uuid, primary_key=True),
    Column("subject", Text, nullable=False, comment="their name in the tokens"),
    instant("issued_before", primary_key=True, comment="their tokens from before this count for nothing"),
    Column("revoked_by", Uuid, comment="NULL for the operator"),
    instant("system_from"),
    CheckConstraint("isfinite(system_from) AND isfinite(issued_before)", name="finite"),
)
