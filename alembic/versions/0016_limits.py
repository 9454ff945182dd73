"""Limits shared by processes."""

import sqlalchemy as sa

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

ROLE = "muniment_app"


def upgrade() -> None:
    op.create_table(
        "rate_counts",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("caller_id", sa.Uuid(), nullable=False, comment="a person or an API key"),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("newest", sa.BigInteger(), nullable=False, comment="number of the newest bucket, since the epoch"),
        sa.Column("counts", sa.ARRAY(sa.Integer()), nullable=False, comment="calls by bucket, the newest first"),
        sa.Column("granted", sa.Integer(), nullable=False, comment="what the last call that asked was given"),
        sa.PrimaryKeyConstraint("organisation_id", "caller_id", "action", name=op.f("rate_counts_pkey")),
        prefixes=["UNLOGGED"],
    )
    # Rows are rewritten all the time and no index changes: half a page is left for their next versions.
    op.execute(
        "ALTER TABLE rate_counts SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, "
        "autovacuum_vacuum_threshold = 2000)"
    )
    _walls()


def _walls() -> None:
    """One tenant at a time."""
    current = "nullif(current_setting('muniment.organisation', true), '')::uuid"
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON rate_counts TO {ROLE}")
    op.execute("ALTER TABLE rate_counts ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE rate_counts FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY tenant ON rate_counts USING (organisation_id = {current}) "
        f"WITH CHECK (organisation_id = {current})"
    )


def downgrade() -> None:
    op.drop_table("rate_counts")
