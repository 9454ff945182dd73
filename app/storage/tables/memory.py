"""Subjects, groups, memberships and memories: what is remembered, of whom, as of when."""

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.storage.tables.base import both_clocks, boundaries, instant, metadata, organisation, system_period

#: The people that memories are about. `external_id` is the client's own name for them; it is compared whole. Names of
#: subjects and of groups are unique in a space.
subjects = Table(
    "subjects",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("external_id", Text, nullable=False),
    Column("space_id", Uuid, nullable=False, comment="who may search here may ask for the subject's memories"),
    Column("pseudonym_key", LargeBinary, nullable=False, comment="destroyed when the subject is forgotten"),
    instant("system_from"),
    Index("subjects_external_id_idx", "organisation_id", "external_id", "space_id", unique=True),
)

groups = Table(
    "groups",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("key", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("space_id", Uuid, nullable=False),
    instant("system_from"),
    Index("groups_key_idx", "organisation_id", "key", "space_id", unique=True),
)

memberships = Table(
    "memberships",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("membership_id", Uuid, nullable=False, comment="one subject in one group"),
    Column("group_id", Uuid, nullable=False),
    Column("subject_id", Uuid, nullable=False),
    Column("verified", Boolean, nullable=False),
    *both_clocks(),
    Index("memberships_fact_idx", "organisation_id", "membership_id", "system_from"),
    Index("memberships_current_idx", "organisation_id", "membership_id", postgresql_where="system_to IS NULL"),
    Index("memberships_subject_idx", "organisation_id", "subject_id"),
    *boundaries("memberships"),
)

memories = Table(
    "memories",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("subject_id", Uuid),
    Column("group_id", Uuid),
    Column("space_id", Uuid, nullable=False, comment="its own space, or that of its subject or group"),
    instant("system_from"),
    Index("memories_subject_idx", "organisation_id", "subject_id", "id", postgresql_where="subject_id IS NOT NULL"),
    Index("memories_group_idx", "organisation_id", "group_id", "id", postgresql_where="group_id IS NOT NULL"),
    Index(
        "memories_space_idx",
        "organisation_id",
        "space_id",
        "id",
        postgresql_where="subject_id IS NULL AND group_id IS NULL",
    ),
    CheckConstraint("subject_id IS NULL OR group_id IS NULL", name="one_owner"),
)

memory_versions = Table(
    "memory_versions",
    metadata,
    organisation(),
    Column("id", Uuid, primary_key=True),
    Column("memory_id", Uuid, nullable=False),
    Column("subject_id", Uuid),
    Column("group_id", Uuid),
    Column("space_id", Uuid, nullable=False),
    Column("text", Text, nullable=False),
    Column("text_sha256", LargeBinary, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("importance", Double, nullable=False),
    Column("confidence", Double),
    Column("epistemic_status", Text, nullable=False),
    Column("transform_type", Text, nullable=False),
    Column("tags", ARRAY(Text), nullable=False),
    Column("revision", Integer, nullable=False),
    *both_clocks(),
    Index("memory_versions_fact_idx", "organisation_id", "memory_id", "system_from"),
    # What is believed now is found at once, however long the history.
    Index("memory_versions_current_idx", "organisation_id", "memory_id", postgresql_where="system_to IS NULL"),
    Index("memory_versions_since_idx", "organisation_id", "system_to", postgresql_where="system_to IS NOT NULL"),
    Index(
        "memory_versions_subject_idx",
        "organisation_id",
        "subject_id",
        postgresql_where="subject_id IS NOT NULL AND system_to IS NULL",
    ),
    Index(
        "memory_versions_group_idx",
        "organisation_id",
        "group_id",
        postgresql_where="group_id IS NOT NULL AND system_to IS NULL",
    ),
    Index(
        "memory_versions_space_idx",
        "organisation_id",
        "space_id",
        postgresql_where="subject_id IS NULL AND group_id IS NULL AND system_to IS NULL",
    ),
    *boundaries("memory_versions"),
    CheckConstraint("importance BETWEEN 0 AND 1", name="importance"),
    CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence"),
    CheckConstraint("epistemic_status IN ('observed','told','inferred','assumed')", name="epistemic_status"),
    CheckConstraint(
        "transform_type IN ('manual','ingest','dream_synthesis','evolve','agent_write')", name="transform_type"
    ),
)

#: Revisions of team memories that wait to be accepted, and what became of them.
memory_proposals = Table(
    "memory_proposals",
    metadata,
    organisation(),
    Column("memory_id", Uuid, primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("proposal", JSONB, nullable=False),
    Column("proposed_by", Uuid, nullable=False),
    Column("accepted_by", Uuid),
    instant("accepted_at", nullable=True),
    Column("rejected_by", Uuid),
    instant("rejected_at", nullable=True),
    instant("system_from"),
)

#: How often responses used a memory, on the system clock: ranking reads it.
memory_accesses = Table(
    "memory_accesses",
    metadata,
    organisation(),
    Column("memory_id", Uuid, primary_key=True),
    Column("count", BigInteger, nullable=False),
    instant("system_from", primary_key=True),
    *system_period()[1:],
    Index("memory_accesses_current_idx", "organisation_id", "memory_id", postgresql_where="system_to IS NULL"),
)

#: By text, so that no text is embedded twice; `system_from` is when the vector was attached.
memory_embeddings = Table(
    "memory_embeddings",
    metadata,
    organisation(),
    Column("memory_id", Uuid, primary_key=True),
    Column("text_sha256", LargeBinary, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("vector", HALFVEC, nullable=False),
    instant("system_from"),
)

#: What a client's own key has already done: the same call again gives the same answer and changes nothing.
client_keys = Table(
    "client_keys",
    metadata,
    organisation(),
    Column("principal_id", Uuid, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("outcome", JSONB, nullable=False),
    Column("subject_id", Uuid, comment="whose data the outcome is about; forgotten with them"),
    instant("system_from"),
)
