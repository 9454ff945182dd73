"""Nodes of the Merkle trees and their signed checkpoints."""

import sqlalchemy as sa

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ROLE = "muniment_app"
TABLES = ["merkle_nodes", "checkpoints"]


def upgrade() -> None:
    op.create_table(
        "merkle_nodes",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("level", sa.SmallInteger(), nullable=False, autoincrement=False),
        sa.Column("position", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", "level", "position", name=op.f("merkle_nodes_pkey")),
    )
    op.create_table(
        "checkpoints",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("note", sa.LargeBinary(), nullable=False),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", "size", "key_id", name=op.f("checkpoints_pkey")),
    )
    _walls()


def _walls() -> None:
    """One tenant at a time, and nothing is ever edited, as for the records themselves."""
    current = "nullif(current_setting('muniment.organisation', true), '')::uuid"
    for table in TABLES:
        op.execute(f"GRANT SELECT, INSERT ON {table} TO {ROLE}")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY tenant ON {table} USING (organisation_id = {current}) "
            f"WITH CHECK (organisation_id = {current})"
        )
        op.execute(
            f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_edit()"
        )
        op.execute(
            f"CREATE TRIGGER no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION refuse_edit()"
        )
    # A hash does not compress; to try costs more than the bytes.
    op.execute("ALTER TABLE merkle_nodes ALTER COLUMN hash SET STORAGE PLAIN")


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
