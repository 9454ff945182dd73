"""Model calls joined to retrievals."""

import sqlalchemy as sa

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

ROLE = "muniment_app"


def upgrade() -> None:
    op.create_table(
        "model_calls",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column(
            "context_request_id",
            sa.Text(),
            nullable=False,
            comment="as the call named it: a request or an attribution",
        ),
        sa.Column("attribution_id", sa.Uuid(), nullable=True, comment="the retrieval, once it was linked"),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("duration_ms", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True, comment="of the provider's answer; NULL when there was none"),
        sa.Column("streamed", sa.Boolean(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=True, comment="NULL when there was no answer to link"),
        sa.Column("client_id", sa.Text(), nullable=True),
        sa.Column("client_name", sa.Text(), nullable=True),
        sa.Column("client_version", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("model_calls_pkey")),
    )
    op.create_index("model_calls_context_idx", "model_calls", ["organisation_id", "context_request_id", "id"])
    _walls()


def _walls() -> None:
    """One tenant at a time; a call that was noted is neither edited nor removed."""
    current = "nullif(current_setting('muniment.organisation', true), '')::uuid"
    op.execute(f"GRANT SELECT, INSERT ON model_calls TO {ROLE}")
    op.execute("ALTER TABLE model_calls ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE model_calls FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY tenant ON model_calls USING (organisation_id = {current}) "
        f"WITH CHECK (organisation_id = {current})"
    )


def downgrade() -> None:
    op.drop_table("model_calls")
