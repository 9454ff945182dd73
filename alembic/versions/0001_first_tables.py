"""first tables"""

import sqlalchemy as sa
from pgvector.sqlalchemy import HALFVEC, SPARSEVEC
from sqlalchemy.dialects import postgresql

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    # Immutable in a UTF-8 database, which env.py insists on; PostgreSQL calls convert_from merely stable.
    op.execute(
        "CREATE FUNCTION evidence_field(payload bytea, field text) RETURNS text LANGUAGE sql IMMUTABLE STRICT "
        "PARALLEL SAFE RETURN convert_from(payload, 'UTF8')::jsonb ->> field"
    )
    op.create_table(
        "attribution_queue",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column(
            "category", sa.Text(), sa.Computed("evidence_field(payload, 'category')", persisted=True), nullable=True
        ),
        sa.Column(
            "request_id", sa.Text(), sa.Computed("evidence_field(payload, 'requestId')", persisted=True), nullable=True
        ),
        sa.Column(
            "attribution_id",
            sa.Uuid(),
            sa.Computed("evidence_field(payload, 'attributionId')::uuid", persisted=True),
            nullable=True,
        ),
        sa.Column(
            "user_id", sa.Uuid(), sa.Computed("evidence_field(payload, 'userId')::uuid", persisted=True), nullable=True
        ),
        sa.Column(
            "space_id",
            sa.Uuid(),
            sa.Computed("evidence_field(payload, 'spaceId')::uuid", persisted=True),
            nullable=True,
        ),
        sa.Column("queued_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.CheckConstraint(
            "id = evidence_field(payload, 'id')::uuid", name=op.f("attribution_queue_id_of_payload_check")
        ),
        sa.PrimaryKeyConstraint("organisation_id", "position", name=op.f("attribution_queue_pkey")),
    )
    op.create_index("attribution_queue_id_idx", "attribution_queue", ["organisation_id", "id"], unique=True)
    op.create_index(
        "attribution_queue_request_idx", "attribution_queue", ["organisation_id", "request_id"], unique=False
    )
    op.create_table(
        "chain_verifications",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("first_bad_sequence", sa.BigInteger(), nullable=True),
        sa.Column("checked_records", sa.BigInteger(), nullable=False),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("chain_verifications_pkey")),
    )
    op.create_table(
        "chunks",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("source_id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column(
            "identity", sa.LargeBinary(), nullable=False, comment="SHA-256 of title, heading path, place and text"
        ),
        sa.Column("text_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("content_sha256", sa.LargeBinary(), nullable=False, comment="the content it was cut from"),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("start_offset", sa.Integer(), nullable=False, comment="code points into the content"),
        sa.Column("end_offset", sa.Integer(), nullable=False),
        sa.Column("heading_path", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("sheet", sa.Text(), nullable=True),
        sa.Column("table_name", sa.Text(), nullable=True),
        sa.Column("row_start", sa.Integer(), nullable=True),
        sa.Column("row_end", sa.Integer(), nullable=True),
        sa.Column("index_version", sa.Integer(), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(valid_from IS NULL OR isfinite(valid_from)) AND (valid_to IS NULL OR isfinite(valid_to))",
            name=op.f("chunks_valid_finite_check"),
        ),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("chunks_system_finite_check"),
        ),
        sa.CheckConstraint("system_to IS NULL OR system_from < system_to", name=op.f("chunks_system_period_check")),
        sa.CheckConstraint(
            "valid_from IS NULL OR valid_to IS NULL OR valid_from < valid_to", name=op.f("chunks_valid_period_check")
        ),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("chunks_pkey")),
    )
    op.create_index(
        "chunks_document_idx",
        "chunks",
        ["organisation_id", "document_id"],
        unique=False,
        postgresql_where="system_to IS NULL",
    )
    op.create_table(
        "contents",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", "sha256", name=op.f("contents_pkey")),
    )
    op.create_table(
        "document_versions",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("source_id", sa.Uuid(), nullable=False),
        sa.Column("content_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("mime", sa.Text(), nullable=False),
        sa.Column("etag", sa.Text(), nullable=True, comment="the source's own name for the bytes it was read from"),
        sa.Column("source_created_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("source_updated_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("confidence", sa.Numeric(precision=4, scale=3), nullable=True),
        sa.Column("epistemic_status", sa.Text(), nullable=False),
        sa.Column("transform_type", sa.Text(), nullable=False),
        sa.Column("tags", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "epistemic_status IN ('observed','told','inferred','assumed')",
            name=op.f("document_versions_epistemic_status_check"),
        ),
        sa.CheckConstraint(
            "transform_type IN ('manual','ingest','dream_synthesis','evolve','agent_write')",
            name=op.f("document_versions_transform_type_check"),
        ),
        sa.CheckConstraint(
            "(valid_from IS NULL OR isfinite(valid_from)) AND (valid_to IS NULL OR isfinite(valid_to))",
            name=op.f("document_versions_valid_finite_check"),
        ),
        sa.CheckConstraint("confidence BETWEEN 0 AND 1", name=op.f("document_versions_confidence_check")),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("document_versions_system_finite_check"),
        ),
        sa.CheckConstraint(
            "system_to IS NULL OR system_from < system_to", name=op.f("document_versions_system_period_check")
        ),
        sa.CheckConstraint(
            "valid_from IS NULL OR valid_to IS NULL OR valid_from < valid_to",
            name=op.f("document_versions_valid_period_check"),
        ),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("document_versions_pkey")),
    )
    op.create_index(
        "document_versions_current_idx",
        "document_versions",
        ["organisation_id", "document_id", sa.text("valid_from DESC NULLS LAST")],
        unique=False,
        postgresql_where="system_to IS NULL",
    )
    op.create_index(
        "document_versions_document_idx",
        "document_versions",
        ["organisation_id", "document_id", "system_from"],
        unique=False,
    )
    op.create_index(
        "document_versions_source_idx",
        "document_versions",
        ["organisation_id", "source_id"],
        unique=False,
        postgresql_where="system_to IS NULL",
    )
    op.create_table(
        "documents",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("source_id", sa.Uuid(), nullable=False),
        sa.Column("external_key", sa.Text(), nullable=False, comment="what names the document at its source for ever"),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("documents_pkey")),
    )
    op.create_index(
        "documents_external_key_idx", "documents", ["organisation_id", "source_id", "external_key"], unique=True
    )
    op.create_table(
        "embedding_queue",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("chunk_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("organisation_id", "chunk_id", name=op.f("embedding_queue_pkey")),
    )
    op.create_index("embedding_queue_position_idx", "embedding_queue", ["organisation_id", "position"], unique=False)
    op.create_table(
        "embeddings",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False, comment="open on both clocks"),
        sa.Column("chunk_id", sa.Uuid(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("source_id", sa.Uuid(), nullable=False),
        sa.Column("vector", HALFVEC(), nullable=False, comment="unit length"),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(valid_from IS NULL OR isfinite(valid_from)) AND (valid_to IS NULL OR isfinite(valid_to))",
            name=op.f("embeddings_valid_finite_check"),
        ),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("embeddings_system_finite_check"),
        ),
        sa.CheckConstraint("system_to IS NULL OR system_from < system_to", name=op.f("embeddings_system_period_check")),
        sa.CheckConstraint(
            "valid_from IS NULL OR valid_to IS NULL OR valid_from < valid_to",
            name=op.f("embeddings_valid_period_check"),
        ),
        sa.PrimaryKeyConstraint("organisation_id", "live", "chunk_id", "model", name=op.f("embeddings_pkey")),
        postgresql_partition_by="LIST (live)",
    )
    op.create_index(
        "embeddings_ending_idx",
        "embeddings",
        ["organisation_id", "source_id", "valid_to"],
        unique=False,
        postgresql_where="system_to IS NULL AND valid_to IS NOT NULL",
    )
    op.create_index("embeddings_source_idx", "embeddings", ["organisation_id", "source_id"], unique=False)
    op.create_table(
        "evidence",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column(
            "category", sa.Text(), sa.Computed("evidence_field(payload, 'category')", persisted=True), nullable=True
        ),
        sa.Column(
            "request_id", sa.Text(), sa.Computed("evidence_field(payload, 'requestId')", persisted=True), nullable=True
        ),
        sa.Column(
            "attribution_id",
            sa.Uuid(),
            sa.Computed("evidence_field(payload, 'attributionId')::uuid", persisted=True),
            nullable=True,
        ),
        sa.Column(
            "user_id", sa.Uuid(), sa.Computed("evidence_field(payload, 'userId')::uuid", persisted=True), nullable=True
        ),
        sa.Column(
            "space_id",
            sa.Uuid(),
            sa.Computed("evidence_field(payload, 'spaceId')::uuid", persisted=True),
            nullable=True,
        ),
        sa.Column("previous_mac", sa.LargeBinary(), nullable=False),
        sa.Column("mac", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "appended_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.CheckConstraint("id = evidence_field(payload, 'id')::uuid", name=op.f("evidence_id_of_payload_check")),
        sa.PrimaryKeyConstraint("organisation_id", "sequence", name=op.f("evidence_pkey")),
    )
    op.create_index("evidence_attribution_idx", "evidence", ["organisation_id", "attribution_id"], unique=False)
    op.create_index("evidence_id_idx", "evidence", ["organisation_id", "id"], unique=True)
    op.create_index("evidence_previous_mac_idx", "evidence", ["organisation_id", "previous_mac"], unique=True)
    op.create_index("evidence_request_idx", "evidence", ["organisation_id", "request_id"], unique=False)
    op.create_table(
        "grants",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("principal_id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False, comment="the permission holds here and below"),
        sa.Column("permission", sa.Text(), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(valid_from IS NULL OR isfinite(valid_from)) AND (valid_to IS NULL OR isfinite(valid_to))",
            name=op.f("grants_valid_finite_check"),
        ),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("grants_system_finite_check"),
        ),
        sa.CheckConstraint("system_to IS NULL OR system_from < system_to", name=op.f("grants_system_period_check")),
        sa.CheckConstraint(
            "valid_from IS NULL OR valid_to IS NULL OR valid_from < valid_to", name=op.f("grants_valid_period_check")
        ),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("grants_pkey")),
    )
    op.create_index(
        "grants_principal_idx",
        "grants",
        ["organisation_id", "principal_id"],
        unique=False,
        postgresql_where="system_to IS NULL",
    )
    op.create_table(
        "level_weights",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("weight", sa.Numeric(precision=6, scale=4), nullable=False),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("level_weights_system_finite_check"),
        ),
        sa.CheckConstraint(
            "system_to IS NULL OR system_from < system_to", name=op.f("level_weights_system_period_check")
        ),
        sa.CheckConstraint("weight > 0 AND weight <= 10", name=op.f("level_weights_weight_check")),
        sa.PrimaryKeyConstraint("organisation_id", "level", "system_from", name=op.f("level_weights_pkey")),
    )
    op.create_table(
        "lexeme_frequencies",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.BigInteger(), nullable=False),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("frequency", sa.Integer(), nullable=False, comment="chunks of the space that hold the lexeme"),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("lexeme_frequencies_system_finite_check"),
        ),
        sa.CheckConstraint(
            "system_to IS NULL OR system_from < system_to", name=op.f("lexeme_frequencies_system_period_check")
        ),
        sa.PrimaryKeyConstraint("organisation_id", "key", "system_from", name=op.f("lexeme_frequencies_pkey")),
    )
    op.create_index(
        "lexeme_frequencies_space_idx",
        "lexeme_frequencies",
        ["organisation_id", "space_id"],
        unique=False,
        postgresql_where="system_to IS NULL",
    )
    op.create_table(
        "lexical_statistics",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("chunk_count", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("lexical_statistics_system_finite_check"),
        ),
        sa.CheckConstraint(
            "system_to IS NULL OR system_from < system_to", name=op.f("lexical_statistics_system_period_check")
        ),
        sa.PrimaryKeyConstraint("organisation_id", "space_id", "system_from", name=op.f("lexical_statistics_pkey")),
    )
    op.create_table(
        "organisation_clocks",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("system_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", name=op.f("organisation_clocks_pkey")),
    )
    op.create_table(
        "organisations",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", name=op.f("organisations_pkey")),
        sa.UniqueConstraint("key", name=op.f("organisations_key_key")),
    )
    op.create_table(
        "postings",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("chunk_id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("source_id", sa.Uuid(), nullable=False),
        sa.Column("keys", sa.ARRAY(sa.BigInteger()), nullable=False, comment="64-bit hashes of (space, lexeme)"),
        sa.Column("terms", SPARSEVEC(dim=1000000000), nullable=False, comment="saturated term weights of BM25"),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(valid_from IS NULL OR isfinite(valid_from)) AND (valid_to IS NULL OR isfinite(valid_to))",
            name=op.f("postings_valid_finite_check"),
        ),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("postings_system_finite_check"),
        ),
        sa.CheckConstraint("system_to IS NULL OR system_from < system_to", name=op.f("postings_system_period_check")),
        sa.CheckConstraint(
            "valid_from IS NULL OR valid_to IS NULL OR valid_from < valid_to", name=op.f("postings_valid_period_check")
        ),
        sa.PrimaryKeyConstraint("organisation_id", "chunk_id", name=op.f("postings_pkey")),
    )
    op.create_index(
        "postings_ending_idx",
        "postings",
        ["source_id", "valid_to"],
        unique=False,
        postgresql_where="system_to IS NULL AND valid_to IS NOT NULL",
    )
    op.create_index(
        "postings_live_idx",
        "postings",
        ["keys"],
        unique=False,
        postgresql_using="gin",
        postgresql_where="system_to IS NULL AND valid_to IS NULL",
        postgresql_with={"fastupdate": "off"},
    )
    op.create_index(
        "postings_closed_idx",
        "postings",
        ["keys"],
        unique=False,
        postgresql_using="gin",
        postgresql_where="system_to IS NOT NULL",
        postgresql_with={"fastupdate": "off"},
    )
    op.create_index(
        "postings_ended_idx",
        "postings",
        ["keys"],
        unique=False,
        postgresql_using="gin",
        postgresql_where="system_to IS NULL AND valid_to IS NOT NULL",
        postgresql_with={"fastupdate": "off"},
    )
    op.create_table(
        "principals",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False, comment="person, group or key"),
        sa.Column(
            "external_id", sa.Text(), nullable=False, comment="the token's subject, the group's name, the key's prefix"
        ),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("kind IN ('person', 'group', 'key')", name=op.f("principals_kind_check")),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("principals_system_finite_check"),
        ),
        sa.CheckConstraint("system_to IS NULL OR system_from < system_to", name=op.f("principals_system_period_check")),
        sa.PrimaryKeyConstraint("organisation_id", "id", "system_from", name=op.f("principals_pkey")),
    )
    op.create_table(
        "response_links",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("attribution_id", sa.Uuid(), nullable=False),
        sa.Column("response_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", "attribution_id", "response_id", name=op.f("response_links_pkey")),
    )
    op.create_table(
        "source_syncs",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("source_id", sa.Uuid(), nullable=False),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("cursor", sa.Text(), nullable=True, comment="how far it was read, in the provider's own terms"),
        sa.PrimaryKeyConstraint("organisation_id", "source_id", "system_from", name=op.f("source_syncs_pkey")),
    )
    op.create_table(
        "sources",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("classification", sa.Text(), nullable=False),
        sa.Column("access_policy", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("language", sa.Text(), nullable=False, comment="Snowball language of its prose"),
        sa.Column("index_version", sa.Integer(), nullable=False),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "classification IN ('public','internal','confidential','restricted','regulated')",
            name=op.f("sources_classification_check"),
        ),
        sa.CheckConstraint(
            "kind IN ('codebase','docs','conversations','issues','workspace_live','regulatory','custom')",
            name=op.f("sources_kind_check"),
        ),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("sources_system_finite_check"),
        ),
        sa.CheckConstraint("system_to IS NULL OR system_from < system_to", name=op.f("sources_system_period_check")),
        sa.PrimaryKeyConstraint("organisation_id", "id", "system_from", name=op.f("sources_pkey")),
    )
    op.create_index(
        "sources_space_idx",
        "sources",
        ["organisation_id", "space_id"],
        unique=False,
        postgresql_where="system_to IS NULL",
    )
    op.create_table(
        "spaces",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("parent_id", sa.Uuid(), nullable=True),
        sa.Column(
            "path", sa.ARRAY(sa.Uuid()), nullable=False, comment="ids from the root to this space, both included"
        ),
        sa.Column("key_path", sa.Text(), nullable=False, comment="keys below the root joined by '/'; the root is '/'"),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=True, comment="the one person whose personal space this is"),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("spaces_system_finite_check"),
        ),
        sa.CheckConstraint("system_to IS NULL OR system_from < system_to", name=op.f("spaces_system_period_check")),
        sa.PrimaryKeyConstraint("organisation_id", "id", "system_from", name=op.f("spaces_pkey")),
    )
    op.create_index(
        "spaces_key_path_idx",
        "spaces",
        ["organisation_id", "key_path"],
        unique=True,
        postgresql_where="system_to IS NULL",
    )
    op.create_table(
        "texts",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", "sha256", name=op.f("texts_pkey")),
    )


def downgrade() -> None:
    op.drop_table("texts")
    op.drop_table("spaces")
    op.drop_table("sources")
    op.drop_table("source_syncs")
    op.drop_table("response_links")
    op.drop_table("principals")
    op.drop_table("postings")
    op.drop_table("organisations")
    op.drop_table("organisation_clocks")
    op.drop_table("lexical_statistics")
    op.drop_table("lexeme_frequencies")
    op.drop_table("level_weights")
    op.drop_table("grants")
    op.drop_table("evidence")
    op.drop_table("embeddings")
    op.drop_table("embedding_queue")
    op.drop_table("documents")
    op.drop_table("document_versions")
    op.drop_table("contents")
    op.drop_table("chunks")
    op.drop_table("chain_verifications")
    op.drop_table("attribution_queue")
    op.execute("DROP FUNCTION evidence_field")
