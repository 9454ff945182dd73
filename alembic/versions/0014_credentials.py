"""Keys of programs and tokens that were revoked."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

ROLE = "muniment_app"


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("principal_id", sa.Uuid(), nullable=False, comment="the key as a holder of grants"),
        sa.Column("prefix", sa.Text(), nullable=False, comment="the part of the key that is shown"),
        sa.Column("secret_sha256", sa.LargeBinary(), nullable=False, comment="of the part that is not kept"),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("actions", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("providers", postgresql.ARRAY(sa.Text()), nullable=True, comment="NULL admits every provider"),
        sa.Column(
            "spaces", postgresql.ARRAY(sa.Uuid()), nullable=True, comment="these and below; NULL admits every space"
        ),
        sa.Column("actor_type", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Uuid(), nullable=True, comment="the principal that made it; NULL for the operator"),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True, comment="within a minute"),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f("api_keys_system_finite_check"),
        ),
        sa.CheckConstraint("system_to IS NULL OR system_from < system_to", name=op.f("api_keys_system_period_check")),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("api_keys_pkey")),
    )
    # Never given out again: the prefix names the key in grants and records.
    op.create_index("api_keys_prefix_idx", "api_keys", ["organisation_id", "prefix"], unique=True)
    op.create_index("api_keys_principal_idx", "api_keys", ["organisation_id", "principal_id"], unique=True)
    op.create_table(
        "revoked_tokens",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("token_id", sa.Text(), nullable=False, comment="its `jti`"),
        sa.Column("revoked_by", sa.Uuid(), nullable=True, comment="NULL for the operator"),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("isfinite(system_from)", name=op.f("revoked_tokens_system_finite_check")),
        sa.PrimaryKeyConstraint("organisation_id", "token_id", name=op.f("revoked_tokens_pkey")),
    )
    op.create_table(
        "revoked_subjects",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("principal_id", sa.Uuid(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False, comment="their name in the tokens"),
        sa.Column(
            "issued_before",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="their tokens from before this count for nothing",
        ),
        sa.Column("revoked_by", sa.Uuid(), nullable=True, comment="NULL for the operator"),
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "isfinite(system_from) AND isfinite(issued_before)", name=op.f("revoked_subjects_finite_check")
        ),
        sa.PrimaryKeyConstraint("organisation_id", "principal_id", "issued_before", name=op.f("revoked_subjects_pkey")),
    )
    _name_of_a_key("the key's id", before="the key's prefix")
    _walls()


def _name_of_a_key(now: str, before: str) -> None:
    others = "the token's subject, the group's name, "
    op.alter_column(
        "principals",
        "external_id",
        comment=others + now,
        existing_comment=others + before,
        existing_type=sa.Text(),
        existing_nullable=False,
    )


def _walls() -> None:
    """One tenant at a time. A key is made, used and closed, never removed; a token that was revoked stays so."""
    current = "nullif(current_setting('muniment.organisation', true), '')::uuid"
    op.execute(f"GRANT SELECT, INSERT ON api_keys, revoked_tokens, revoked_subjects TO {ROLE}")
    op.execute(f"GRANT UPDATE (used_at, system_to) ON api_keys TO {ROLE}")
    for table in ("api_keys", "revoked_tokens", "revoked_subjects"):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY tenant ON {table} USING (organisation_id = {current}) "
            f"WITH CHECK (organisation_id = {current})"
        )


def downgrade() -> None:
    _name_of_a_key("the key's prefix", before="the key's id")
    op.drop_table("revoked_subjects")
    op.drop_table("revoked_tokens")
    op.drop_table("api_keys")
