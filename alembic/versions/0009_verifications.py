"""Runs of verification: their range, and the mark that the next one may go on from; when the next daily one is due."""

import sqlalchemy as sa

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

ROLE = "muniment_app"
ADDED = ["occasion", "reason", "from_sequence", "to_sequence", "mark_mac", "mark_key_id", "mark_seal"]


def upgrade() -> None:
    op.add_column("chain_verifications", sa.Column("occasion", sa.Text(), nullable=False, server_default="REQUEST"))
    op.add_column("chain_verifications", sa.Column("reason", sa.Text(), nullable=False, server_default=""))
    op.add_column("chain_verifications", sa.Column("from_sequence", sa.BigInteger(), nullable=True))
    op.add_column("chain_verifications", sa.Column("to_sequence", sa.BigInteger(), nullable=True))
    op.add_column("chain_verifications", sa.Column("mark_mac", sa.LargeBinary(), nullable=True))
    op.add_column("chain_verifications", sa.Column("mark_key_id", sa.Text(), nullable=True))
    op.add_column("chain_verifications", sa.Column("mark_seal", sa.LargeBinary(), nullable=True))
    op.create_index(
        "chain_verifications_finished_idx",
        "chain_verifications",
        ["organisation_id", "finished_at", "id"],
        unique=False,
    )
    op.create_index(
        "chain_verifications_mark_idx",
        "chain_verifications",
        ["organisation_id", "to_sequence"],
        unique=False,
        postgresql_where="mark_seal IS NOT NULL",
    )
    op.create_table(
        "verification_schedules",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claimed_by", sa.Uuid(), nullable=True),
        sa.PrimaryKeyConstraint("organisation_id", name=op.f("verification_schedules_pkey")),
    )
    _walls()


def _walls() -> None:
    """One tenant at a time; the workers see of all when they are due."""
    current = "nullif(current_setting('muniment.organisation', true), '')::uuid"
    worker = "coalesce(current_setting('muniment.worker', true), '') = 'on'"
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON verification_schedules TO {ROLE}")
    op.execute("ALTER TABLE verification_schedules ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE verification_schedules FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY tenant ON verification_schedules USING (organisation_id = {current}) "
        f"WITH CHECK (organisation_id = {current})"
    )
    op.execute(f"CREATE POLICY worker ON verification_schedules FOR SELECT USING ({worker})")


def downgrade() -> None:
    op.drop_table("verification_schedules")
    op.drop_index("chain_verifications_mark_idx", "chain_verifications")
    op.drop_index("chain_verifications_finished_idx", "chain_verifications")
    for column in ADDED:
        op.drop_column("chain_verifications", column)
