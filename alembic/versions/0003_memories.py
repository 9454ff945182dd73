"""Subjects, groups, memberships and memories, behind the same walls."""

import sqlalchemy as sa
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects import postgresql

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "client_keys",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("principal_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("outcome", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column(
            "subject_id", sa.Uuid(), nullable=True, comment="whose data the outcome is about; forgotten with them"
        ),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", "principal_id", "key", name=op.f("client_keys_pkey")),
    )
    op.create_table(
        "groups",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("groups_pkey")),
    )
    op.create_index("groups_key_idx", "groups", ["organisation_id", "key"], unique=True)
    op.create_table(
        "memberships",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("membership_id", sa.Uuid(), nullable=False, comment="one subject in one group"),
        sa.Column("group_id", sa.Uuid(), nullable=False),
        sa.Column("subject_id", sa.Uuid(), nullable=False),
        sa.Column("verified", sa.Boolean(), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(valid_from IS NULL OR isfinite(valid_from)) AND (valid_to IS NULL OR isfinite(valid_to))",
            name=op.f("memberships_valid_finite_check"),
        ),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("memberships_system_finite_check"),
        ),
        sa.CheckConstraint(
            "system_to IS NULL OR system_from < system_to", name=op.f("memberships_system_period_check")
        ),
        sa.CheckConstraint(
            "valid_from IS NULL OR valid_to IS NULL OR valid_from < valid_to",
            name=op.f("memberships_valid_period_check"),
        ),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("memberships_pkey")),
    )
    op.create_index(
        "memberships_fact_idx", "memberships", ["organisation_id", "membership_id", "system_from"], unique=False
    )
    op.create_index("memberships_subject_idx", "memberships", ["organisation_id", "subject_id"], unique=False)
    op.create_index(
        "memberships_current_idx",
        "memberships",
        ["organisation_id", "membership_id"],
        unique=False,
        postgresql_where="system_to IS NULL",
    )
    op.create_table(
        "memories",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("subject_id", sa.Uuid(), nullable=True),
        sa.Column("group_id", sa.Uuid(), nullable=True),
        sa.Column("space_id", sa.Uuid(), nullable=False, comment="its own space, or that of its subject or group"),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("subject_id IS NULL OR group_id IS NULL", name=op.f("memories_one_owner_check")),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("memories_pkey")),
    )
    for name, column, where in (
        ("memories_subject_idx", "subject_id", "subject_id IS NOT NULL"),
        ("memories_group_idx", "group_id", "group_id IS NOT NULL"),
        ("memories_space_idx", "space_id", "subject_id IS NULL AND group_id IS NULL"),
    ):
        op.create_index(name, "memories", ["organisation_id", column, "id"], unique=False, postgresql_where=where)
    op.create_table(
        "memory_accesses",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("memory_accesses_system_finite_check"),
        ),
        sa.CheckConstraint(
            "system_to IS NULL OR system_from < system_to", name=op.f("memory_accesses_system_period_check")
        ),
        sa.PrimaryKeyConstraint("organisation_id", "memory_id", "system_from", name=op.f("memory_accesses_pkey")),
    )
    op.create_index(
        "memory_accesses_current_idx",
        "memory_accesses",
        ["organisation_id", "memory_id"],
        unique=False,
        postgresql_where="system_to IS NULL",
    )
    op.create_table(
        "memory_embeddings",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("text_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("vector", HALFVEC(), nullable=False),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint(
            "organisation_id", "memory_id", "text_sha256", "model", name=op.f("memory_embeddings_pkey")
        ),
    )
    op.create_table(
        "memory_proposals",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("proposal", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("proposed_by", sa.Uuid(), nullable=False),
        sa.Column("accepted_by", sa.Uuid(), nullable=True),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", "memory_id", "revision", name=op.f("memory_proposals_pkey")),
    )
    op.create_table(
        "memory_versions",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("subject_id", sa.Uuid(), nullable=True),
        sa.Column("group_id", sa.Uuid(), nullable=True),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("importance", sa.Double(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=True),
        sa.Column("epistemic_status", sa.Text(), nullable=False),
        sa.Column("transform_type", sa.Text(), nullable=False),
        sa.Column("tags", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "epistemic_status IN ('observed','told','inferred','assumed')",
            name=op.f("memory_versions_epistemic_status_check"),
        ),
        sa.CheckConstraint(
            "transform_type IN ('manual','ingest','dream_synthesis','evolve','agent_write')",
            name=op.f("memory_versions_transform_type_check"),
        ),
        sa.CheckConstraint(
            "(valid_from IS NULL OR isfinite(valid_from)) AND (valid_to IS NULL OR isfinite(valid_to))",
            name=op.f("memory_versions_valid_finite_check"),
        ),
        sa.CheckConstraint("confidence BETWEEN 0 AND 1", name=op.f("memory_versions_confidence_check")),
        sa.CheckConstraint("importance BETWEEN 0 AND 1", name=op.f("memory_versions_importance_check")),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("memory_versions_system_finite_check"),
        ),
        sa.CheckConstraint(
            "system_to IS NULL OR system_from < system_to", name=op.f("memory_versions_system_period_check")
        ),
        sa.CheckConstraint(
            "valid_from IS NULL OR valid_to IS NULL OR valid_from < valid_to",
            name=op.f("memory_versions_valid_period_check"),
        ),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("memory_versions_pkey")),
    )
    op.create_index(
        "memory_versions_fact_idx", "memory_versions", ["organisation_id", "memory_id", "system_from"], unique=False
    )
    op.create_index(
        "memory_versions_current_idx",
        "memory_versions",
        ["organisation_id", "memory_id"],
        unique=False,
        postgresql_where="system_to IS NULL",
    )
    op.create_index(
        "memory_versions_group_idx",
        "memory_versions",
        ["organisation_id", "group_id"],
        unique=False,
        postgresql_where="group_id IS NOT NULL AND system_to IS NULL",
    )
    op.create_index(
        "memory_versions_space_idx",
        "memory_versions",
        ["organisation_id", "space_id"],
        unique=False,
        postgresql_where="subject_id IS NULL AND group_id IS NULL AND system_to IS NULL",
    )
    op.create_index(
        "memory_versions_subject_idx",
        "memory_versions",
        ["organisation_id", "subject_id"],
        unique=False,
        postgresql_where="subject_id IS NOT NULL AND system_to IS NULL",
    )
    op.create_table(
        "subjects",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column(
            "space_id", sa.Uuid(), nullable=False, comment="who may search here may ask for the subject's memories"
        ),
        sa.Column(
            "pseudonym_key",
            sa.LargeBinary(),
            nullable=False,
            comment="destroyed when the subject is forgotten",
        ),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("subjects_pkey")),
    )
    op.create_index("subjects_external_id_idx", "subjects", ["organisation_id", "external_id"], unique=True)
    _walls()


ROLE = "muniment_app"
TABLES = [
    "subjects",
    "groups",
    "memberships",
    "memories",
    "memory_versions",
    "memory_proposals",
    "memory_accesses",
    "memory_embeddings",
    "client_keys",
]


def _walls() -> None:
    """One tenant at a time, and no two versions of a fact that overlap on both clocks."""
    current = "nullif(current_setting('muniment.organisation', true), '')::uuid"
    for table in TABLES:
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {ROLE}")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY tenant ON {table} USING (organisation_id = {current}) "
            f"WITH CHECK (organisation_id = {current})"
        )
    for table, fact in (("memberships", "membership_id"), ("memory_versions", "memory_id")):
        op.execute(
            f"""
            ALTER TABLE {table} ADD CONSTRAINT {table}_no_overlap EXCLUDE USING gist (
                uuid_range({fact}, {fact}, '[]') WITH &&,
                tstzrange(valid_from, valid_to) WITH &&,
                tstzrange(system_from, system_to) WITH &&)
            """
        )
    op.execute("ALTER TABLE memory_embeddings ALTER COLUMN vector SET STORAGE PLAIN")


def downgrade() -> None:
    op.drop_table("subjects")
    op.drop_table("memory_versions")
    op.drop_table("memory_proposals")
    op.drop_table("memory_embeddings")
    op.drop_table("memory_accesses")
    op.drop_table("memories")
    op.drop_table("memberships")
    op.drop_table("groups")
    op.drop_table("client_keys")
