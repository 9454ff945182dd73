"""Sources, documents, their versions on both clocks, and the chunks cut from them."""

from sqlalchemy import ARRAY, CheckConstraint, Column, Index, Integer, LargeBinary, Numeric, Table, Text, Uuid, text
from sqlalchemy.dialects.postgresql import JSONB

from app.storage.tables.base import both_clocks, boundaries, instant, metadata, organisation, system_period

sources = Table(
    "sources",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("space_id", Uuid, nullable=False),
    Column("kind", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("classification", Text, nullable=False),
    Column("access_policy", JSONB(none_as_null=True)),
    Column("language", Text, nullable=False, comment="Snowball language of its prose"),
    Column("index_version", Integer, nullable=False),
    instant("system_from", primary_key=True),
    *system_period()[1:],
    Index("sources_space_idx", "organisation_id", "space_id", postgresql_where="system_to IS NULL"),
    CheckConstraint(
        "kind IN ('codebase','docs','conversations','issues','workspace_live','regulatory','custom')", name="kind"
    ),
    CheckConstraint(
        "classification IN ('public','internal','confidential','restricted','regulated')", name="classification"
    ),
)

#: One row a completed synchronisation of a source with where it came from.
source_syncs = Table(
    "source_syncs",
    metadata,
    organisation(),
    Column("source_id", Uuid, primary_key=True),
    instant("system_from", primary_key=True),
    Column("cursor", Text, comment="how far it was read, in the provider's own terms"),
)

documents = Table(
    "documents",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("source_id", Uuid, nullable=False),
    Column("external_key", Text, nullable=False, comment="what names the document at its source for ever"),
    instant("system_from"),
    Index("documents_external_key_idx", "organisation_id", "source_id", "external_key", unique=True),
)

#: Original texts by the SHA-256 of their UTF-8 bytes.
contents = Table(
    "contents",
    metadata,
    organisation(),
    Column("sha256", LargeBinary, primary_key=True),
    Column("text", Text, nullable=False),
)

document_versions = Table(
    "document_versions",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("document_id", Uuid, nullable=False),
    Column("source_id", Uuid, nullable=False),
    Column("content_sha256", LargeBinary, nullable=False),
    Column("external_id", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("url", Text),
    Column("mime", Text, nullable=False),
    Column("etag", Text, comment="the source's own name for the bytes it was read from"),
    instant("source_created_at", nullable=True),
    instant("source_updated_at", nullable=True),
    Column("confidence", Numeric(4, 3)),
    Column("epistemic_status", Text, nullable=False),
    Column("transform_type", Text, nullable=False),
    Column("tags", ARRAY(Text), nullable=False),
    *both_clocks(),
    Index("document_versions_document_idx", "organisation_id", "document_id", "system_from"),
    # What holds now is found first, however long the history.
    Index(
        "document_versions_current_idx",
        "organisation_id",
        "document_id",
        text("valid_from DESC NULLS LAST"),
        postgresql_where="system_to IS NULL",
    ),
    Index("document_versions_source_idx", "organisation_id", "source_id", postgresql_where="system_to IS NULL"),
    # From a content or a name to the documents that it is believed of.
    Index(
        "document_versions_content_idx",
        "organisation_id",
        "content_sha256",
        "valid_to",
        postgresql_where="system_to IS NULL",
    ),
    Index(
        "document_versions_content_closed_idx",
        "organisation_id",
        "content_sha256",
        postgresql_where="system_to IS NOT NULL",
    ),
    Index(
        "document_versions_name_idx",
        "organisation_id",
        "source_id",
        "external_id",
        "valid_to",
        postgresql_where="system_to IS NULL",
    ),
    Index(
        "document_versions_name_closed_idx",
        "organisation_id",
        "source_id",
        "external_id",
        postgresql_where="system_to IS NOT NULL",
    ),
    *boundaries("document_versions"),
    CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence"),
    CheckConstraint("epistemic_status IN ('observed','told','inferred','assumed')", name="epistemic_status"),
    CheckConstraint(
        "transform_type IN ('manual','ingest','dream_synthesis','evolve','agent_write')", name="transform_type"
    ),
)

#: Texts of chunks by the SHA-256 of their UTF-8 bytes, with their cl100k_base token count.
texts = Table(
    "texts",
    metadata,
    organisation(),
    Column("sha256", LargeBinary, primary_key=True),
    Column("text", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
)

#: A slice of a document and the one rectangle of both clocks in which it is part of it. Rows are never edited but for
#: system_to; a text that stays through a change of its document keeps its row.
chunks = Table(
    "chunks",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("document_id", Uuid, nullable=False),
    Column("source_id", Uuid, nullable=False),
    Column("space_id", Uuid, nullable=False),
    Column("identity", LargeBinary, nullable=False, comment="SHA-256 of title, heading path, place and text"),
    Column("text_sha256", LargeBinary, nullable=False),
    Column("content_sha256", LargeBinary, nullable=False, comment="the content it was cut from"),
    Column("ordinal", Integer, nullable=False),
    Column("start_offset", Integer, nullable=False, comment="code points into the content"),
    Column("end_offset", Integer, nullable=False),
    Column("heading_path", ARRAY(Text), nullable=False),
    Column("page", Integer),
    Column("sheet", Text),
    Column("table_name", Text),
    Column("row_start", Integer),
    Column("row_end", Integer),
    Column("index_version", Integer, nullable=False),
    *both_clocks(),
    Column("dlp_tag", Text, nullable=False, server_default="", comment="how it was indexed"),
    Column("findings", ARRAY(Integer), comment="start, end, detector; NULL: nothing"),
    Index(
        "chunks_findings_idx",
        "organisation_id",
        "source_id",
        postgresql_where="system_to IS NULL AND findings IS NOT NULL",
    ),
    Index("chunks_document_idx", "organisation_id", "document_id", "valid_to", postgresql_where="system_to IS NULL"),
    Index("chunks_document_closed_idx", "organisation_id", "document_id", postgresql_where="system_to IS NOT NULL"),
    Index("chunks_since_idx", "organisation_id", "system_to", postgresql_where="system_to IS NOT NULL"),
)
