"""Jobs that outlive the process that began them, and where sources are read from."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

ROLE = "muniment_app"
CURRENT = "nullif(current_setting('muniment.organisation', true), '')::uuid"
WORKER = "coalesce(current_setting('muniment.worker', true), '') = 'on'"


def _clock(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False)


def upgrade() -> None:
    op.create_table(
        "source_places",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("source_id", sa.Uuid(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False, comment="a folder of this deployment"),
        sa.PrimaryKeyConstraint("organisation_id", "source_id", name=op.f("source_places_pkey")),
    )
    op.create_table(
        "jobs",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), server_default="WAITING", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("done", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=True),
        sa.Column("outcome", postgresql.JSONB(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        _clock("due_at"),
        sa.Column("claimed_by", sa.Uuid(), nullable=True),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("jobs_pkey")),
        sa.CheckConstraint("state IN ('WAITING','RUNNING','DONE','PARKED')", name=op.f("jobs_state_check")),
    )
    op.create_index("jobs_source_idx", "jobs", ["organisation_id", "source_id", "id"])
    op.create_index(
        "jobs_open_idx", "jobs", ["organisation_id", "due_at"], postgresql_where="state IN ('WAITING','RUNNING')"
    )
    # One at a time: a second call for the same work while one waits is that one.
    op.create_index(
        "jobs_waiting_idx",
        "jobs",
        ["organisation_id", "source_id", "kind"],
        unique=True,
        postgresql_where="state = 'WAITING'",
    )
    for table in ("source_places", "jobs"):
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {ROLE}")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY tenant ON {table} USING (organisation_id = {CURRENT}) "
            f"WITH CHECK (organisation_id = {CURRENT})"
        )
    op.execute(f"CREATE POLICY worker ON jobs FOR SELECT USING ({WORKER})")


def downgrade() -> None:
    for table in ("jobs", "source_places"):
        op.drop_table(table)
