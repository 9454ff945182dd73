"""Lenses, active spaces, and what else belongs to the tree of spaces."""

import sqlalchemy as sa

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ROLE = "muniment_app"
#: Each new table, with the column that names a fact in it.
TABLES = {"lenses": "id", "active_spaces": "principal_id"}


def _system_period(table: str) -> list[sa.schema.SchemaItem]:
    return [
        sa.Column("system_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("system_to", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "isfinite(system_from) AND (system_to IS NULL OR isfinite(system_to))",
            name=op.f(f"{table}_system_finite_check"),
        ),
        sa.CheckConstraint("system_to IS NULL OR system_from < system_to", name=op.f(f"{table}_system_period_check")),
    ]


def upgrade() -> None:
    op.create_table(
        "lenses",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False, comment="whoever may see this space may use the lens"),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column(
            "space_ids", sa.ARRAY(sa.Uuid()), nullable=True, comment="NULL: no filter, as in the columns that follow"
        ),
        sa.Column("source_kinds", sa.ARRAY(sa.Text()), nullable=True),
        sa.Column("providers", sa.ARRAY(sa.Text()), nullable=True),
        sa.Column("tags", sa.ARRAY(sa.Text()), nullable=True),
        *_system_period("lenses"),
        sa.PrimaryKeyConstraint("organisation_id", "id", "system_from", name=op.f("lenses_pkey")),
    )
    op.create_index(
        "lenses_space_idx",
        "lenses",
        ["organisation_id", "space_id", "id"],
        unique=False,
        postgresql_where="system_to IS NULL",
    )
    op.create_table(
        "active_spaces",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("principal_id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        *_system_period("active_spaces"),
        sa.PrimaryKeyConstraint("organisation_id", "principal_id", "system_from", name=op.f("active_spaces_pkey")),
    )
    _walls()
    # A name is its space's own: that it is taken in a space that somebody may not see tells them nothing.
    _names("organisation_id", "{name}", "space_id")


def _walls() -> None:
    """One tenant at a time, and one version of a fact at each point of system time."""
    current = "nullif(current_setting('muniment.organisation', true), '')::uuid"
    for table, fact in TABLES.items():
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {ROLE}")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY tenant ON {table} USING (organisation_id = {current}) "
            f"WITH CHECK (organisation_id = {current})"
        )
        # A principal's or a lens's id belongs to one organisation, so it needs no tenant here.
        op.execute(
            f"""
            ALTER TABLE {table} ADD CONSTRAINT {table}_no_overlap EXCLUDE USING gist (
                uuid_range({fact}, {fact}, '[]') WITH &&, tstzrange(system_from, system_to) WITH &&)
            """
        )


def _names(*columns: str) -> None:
    """By what the names of subjects and groups are unique."""
    for table, index, name in (
        ("subjects", "subjects_external_id_idx", "external_id"),
        ("groups", "groups_key_idx", "key"),
    ):
        op.drop_index(index, table_name=table)
        op.create_index(index, table, [column.format(name=name) for column in columns], unique=True)


def downgrade() -> None:
    _names("organisation_id", "{name}")
    op.drop_table("active_spaces")
    op.drop_table("lenses")
