"""Where each delivered item went, what was erased, and how to find what moved since."""

import sqlalchemy as sa

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

ROLE = "muniment_app"
TABLES = {
    "delivered_items": "SELECT, INSERT",
    "delivered_progress": "SELECT, INSERT, UPDATE, DELETE",
    "erased_items": "SELECT, INSERT",
}
#: Versions whose rows may be delivered, with what they are versions of.
ERASABLE = {"chunks": "document_id", "memory_versions": "memory_id"}


def upgrade() -> None:
    op.create_table(
        "delivered_items",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("item_id", sa.Uuid(), nullable=False, comment="a chunk, or a version of a memory"),
        sa.Column("attribution_id", sa.Uuid(), nullable=False),
        sa.Column("whole_id", sa.Uuid(), nullable=False, comment="its document, or the memory"),
        sa.Column("source_id", sa.Uuid(), nullable=True, comment="NULL for a memory"),
        sa.Column("sha256", sa.LargeBinary(), nullable=False, comment="of the text that was delivered"),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("space_id", sa.Uuid(), nullable=True),
        sa.Column("valid_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", "item_id", "attribution_id", name=op.f("delivered_items_pkey")),
    )
    for column in ("whole_id", "sha256"):
        op.create_index(
            f"delivered_items_{column.removesuffix('_id')}_idx",
            "delivered_items",
            ["organisation_id", column, "attribution_id"],
            unique=False,
        )
    op.create_table(
        "delivered_progress",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", name=op.f("delivered_progress_pkey")),
    )
    op.create_table(
        "erased_items",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("item_id", sa.Uuid(), nullable=False),
        sa.Column("whole_id", sa.Uuid(), nullable=False),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation_id", "item_id", name=op.f("erased_items_pkey")),
    )
    op.create_index("erased_items_erased_idx", "erased_items", ["organisation_id", "erased_at"], unique=False)
    _walls()
    _closed()
    _erasure()


def _walls() -> None:
    """One tenant at a time; nothing is taken back from what was derived."""
    current = "nullif(current_setting('muniment.organisation', true), '')::uuid"
    for table, rights in TABLES.items():
        op.execute(f"GRANT {rights} ON {table} TO {ROLE}")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY tenant ON {table} USING (organisation_id = {current}) "
            f"WITH CHECK (organisation_id = {current})"
        )


def _closed() -> None:
    """What was believed no longer since an instant."""
    for table in ERASABLE:
        op.create_index(
            f"{table}_since_idx",
            table,
            ["organisation_id", "system_to"],
            unique=False,
            postgresql_where="system_to IS NOT NULL",
        )


def _erasure() -> None:
    """A row that is deleted leaves its id, whichever way it goes. What the same transaction wrote nobody was given."""
    op.execute(
        """
        CREATE FUNCTION note_erased() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            EXECUTE format('INSERT INTO erased_items (organisation_id, item_id, whole_id, erased_at) '
                'SELECT e.organisation_id, e.id, e.%I, k.system_at FROM erased e JOIN organisation_clocks k '
                'ON k.organisation_id = e.organisation_id WHERE e.system_from < k.system_at '
                'ON CONFLICT DO NOTHING', TG_ARGV[0]);
            RETURN NULL;
        END $$
        """
    )
    for table, whole in ERASABLE.items():
        op.execute(
            f"CREATE TRIGGER note_erased AFTER DELETE ON {table} REFERENCING OLD TABLE AS erased "
            f"FOR EACH STATEMENT EXECUTE FUNCTION note_erased('{whole}')"
        )


def downgrade() -> None:
    for table in ERASABLE:
        op.execute(f"DROP TRIGGER note_erased ON {table}")
        op.drop_index(f"{table}_since_idx", table)
    op.execute("DROP FUNCTION note_erased")
    for table in reversed(TABLES):
        op.drop_table(table)
