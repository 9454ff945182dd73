"""Policies against leaks, what was found in each slice, and the sources that wait to be indexed anew."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

ROLE = "muniment_app"
TABLES = ("dlp_policies", "reindex_queue")


def upgrade() -> None:
    # Constants: no row is written anew. A slice from before has no tag, so its text is looked at when it is given.
    op.add_column(
        "chunks", sa.Column("dlp_tag", sa.Text(), nullable=False, server_default="", comment="how it was indexed")
    )
    op.add_column(
        "chunks",
        sa.Column("findings", sa.ARRAY(sa.Integer()), nullable=True, comment="start, end, detector; NULL: nothing"),
    )
    op.create_index(
        "chunks_findings_idx",
        "chunks",
        ["organisation_id", "source_id"],
        postgresql_where="system_to IS NULL AND findings IS NOT NULL",
    )
    op.create_table(
        "dlp_policies",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("policy_id", sa.Uuid(), nullable=False, comment="the organisation's one policy"),
        sa.Column("number", sa.Integer(), nullable=False, comment="counts its policies from 1"),
        sa.Column("actions", postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment="action by class"),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(valid_from IS NULL OR isfinite(valid_from)) AND (valid_to IS NULL OR isfinite(valid_to))",
            name=op.f("dlp_policies_valid_finite_check"),
        ),
        sa.CheckConstraint(
            "valid_from IS NULL OR valid_to IS NULL OR valid_from < valid_to",
            name=op.f("dlp_policies_valid_period_check"),
        ),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("dlp_policies_system_finite_check"),
        ),
        sa.CheckConstraint(
            "system_to IS NULL OR system_from < system_to", name=op.f("dlp_policies_system_period_check")
        ),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("dlp_policies_pkey")),
    )
    op.create_index("dlp_policies_fact_idx", "dlp_policies", ["organisation_id", "policy_id", "system_from"])
    op.create_table(
        "reindex_queue",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("source_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("whole", sa.Boolean(), nullable=False, comment="every slice, not just those under another policy"),
        sa.Column("after", sa.Uuid(), nullable=True, comment="documents up to this id are done"),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("organisation_id", "source_id", name=op.f("reindex_queue_pkey")),
    )
    _walls()


def _walls() -> None:
    """One tenant at a time; workers see who waits; one policy at a point of both clocks."""
    current = "nullif(current_setting('muniment.organisation', true), '')::uuid"
    for table in TABLES:
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {ROLE}")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY tenant ON {table} USING (organisation_id = {current}) "
            f"WITH CHECK (organisation_id = {current})"
        )
    op.execute(
        "CREATE POLICY worker ON reindex_queue FOR SELECT "
        "USING (coalesce(current_setting('muniment.worker', true), '') = 'on')"
    )
    op.execute(
        """
        ALTER TABLE dlp_policies ADD CONSTRAINT dlp_policies_no_overlap EXCLUDE USING gist (
            uuid_range(policy_id, policy_id, '[]') WITH &&,
            tstzrange(valid_from, valid_to) WITH &&,
            tstzrange(system_from, system_to) WITH &&)
        """
    )


def downgrade() -> None:
    op.drop_table("reindex_queue")
    op.drop_table("dlp_policies")
    op.drop_index("chunks_findings_idx", "chunks")
    op.drop_column("chunks", "findings")
    op.drop_column("chunks", "dlp_tag")
