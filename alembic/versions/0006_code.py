"""Definitions and references of code, links of documents."""

import sqlalchemy as sa

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ROLE = "muniment_app"
TABLES = ["content_graphs", "code_definitions", "code_references", "code_imports", "document_links"]

OPEN, CLOSED = "system_to IS NULL", "system_to IS NOT NULL"
INDEXES = [
    ("document_versions_content_idx", "document_versions", ["content_sha256", "valid_to"], OPEN),
    ("document_versions_content_closed_idx", "document_versions", ["content_sha256"], CLOSED),
    ("document_versions_name_idx", "document_versions", ["source_id", "external_id", "valid_to"], OPEN),
    ("document_versions_name_closed_idx", "document_versions", ["source_id", "external_id"], CLOSED),
    ("chunks_document_closed_idx", "chunks", ["document_id"], CLOSED),
]


def upgrade() -> None:
    op.create_table(
        "content_graphs",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("content_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("reader", sa.Text(), nullable=False, comment="the language or markup it was read as"),
        sa.PrimaryKeyConstraint("organisation_id", "content_sha256", name=op.f("content_graphs_pkey")),
    )
    _of_content(
        "code_definitions",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("qualified_name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("start_offset", sa.Integer(), nullable=False, comment="code points into the content"),
        sa.Column("end_offset", sa.Integer(), nullable=False),
        sa.Column("is_test", sa.Boolean(), nullable=False, comment="named as a test; the file's name decides too"),
        sa.CheckConstraint("kind IN ('function','method','class')", name=op.f("code_definitions_kind_check")),
    )
    _of_content(
        "code_references",
        sa.Column("name", sa.Text(), nullable=False, comment="the callee's own name"),
        sa.Column("qualifier", sa.Text(), nullable=True, comment="the name before the last dot; NULL for a plain name"),
        sa.Column("target", sa.Text(), nullable=True, comment="the callee's path, where the file tells it"),
        sa.Column(
            "within",
            sa.Integer(),
            nullable=True,
            comment="number of the definition it stands in; NULL at module level",
        ),
        sa.Column("start_offset", sa.Integer(), nullable=False, comment="code points into the content"),
    )
    _of_content(
        "code_imports",
        sa.Column("local_name", sa.Text(), nullable=False),
        sa.Column("module", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True, comment="NULL for the module itself, * for all its names"),
        sa.Column("start_offset", sa.Integer(), nullable=False, comment="code points into the content"),
    )
    _of_content("document_links", sa.Column("target", sa.Text(), nullable=False, comment="as written"))
    for table in ("code_definitions", "code_references"):
        op.create_index(f"{table}_name_idx", table, ["organisation_id", "name", "content_sha256"], unique=False)
    for name, table, columns, where in INDEXES:
        op.create_index(name, table, ["organisation_id", *columns], unique=False, postgresql_where=where)
    op.drop_index("chunks_document_idx", "chunks")
    op.create_index(
        "chunks_document_idx",
        "chunks",
        ["organisation_id", "document_id", "valid_to"],
        unique=False,
        postgresql_where=OPEN,
    )
    current = "nullif(current_setting('muniment.organisation', true), '')::uuid"
    for table in TABLES:
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {ROLE}")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY tenant ON {table} USING (organisation_id = {current}) "
            f"WITH CHECK (organisation_id = {current})"
        )


def _of_content(table: str, *columns: sa.schema.SchemaItem) -> None:
    op.create_table(
        table,
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("content_sha256", sa.LargeBinary(), nullable=False),
        sa.Column(
            "number", sa.Integer(), autoincrement=False, nullable=False, comment="in the order of the text, from 0"
        ),
        *columns,
        sa.PrimaryKeyConstraint("organisation_id", "content_sha256", "number", name=op.f(f"{table}_pkey")),
    )


def downgrade() -> None:
    op.drop_index("chunks_document_idx", "chunks")
    op.create_index(
        "chunks_document_idx", "chunks", ["organisation_id", "document_id"], unique=False, postgresql_where=OPEN
    )
    for name, table, _, _ in reversed(INDEXES):
        op.drop_index(name, table)
    for table in reversed(TABLES):
        op.drop_table(table)
