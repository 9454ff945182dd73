"""Retrieval traces, and the indexes that find when a fact next begins or ends."""

import sqlalchemy as sa

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

ROLE = "muniment_app"

#: Facts of the world that an answer may hold: it stands until the next of them begins or ends.
FACTS = ["document_versions", "memory_versions", "memberships"]
SIDES = {"beginning": "valid_from", "ending": "valid_to"}


def upgrade() -> None:
    op.create_table(
        "retrieval_traces",
        sa.Column("organisation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("request_id", sa.Uuid(), nullable=False),
        sa.Column("attribution_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=True),
        sa.Column("subject_id", sa.Uuid(), nullable=True, comment="whose memories were recalled; forgotten with them"),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organisation_id", "subject_id"],
            ["subjects.organisation_id", "subjects.id"],
            name=op.f("retrieval_traces_organisation_id_subject_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("organisation_id", "id", name=op.f("retrieval_traces_pkey")),
    )
    op.create_index("retrieval_traces_request_idx", "retrieval_traces", ["organisation_id", "request_id"], unique=True)
    op.create_index(
        "retrieval_traces_subject_idx",
        "retrieval_traces",
        ["organisation_id", "subject_id"],
        unique=False,
        postgresql_where="subject_id IS NOT NULL",
    )
    _walls()
    for table in FACTS:
        for name, column in SIDES.items():
            op.create_index(
                f"{table}_{name}_idx",
                table,
                ["organisation_id", column],
                unique=False,
                postgresql_where=f"system_to IS NULL AND {column} IS NOT NULL",
            )
    # Postings that will hold one day, without a look at those that do.
    op.create_index(
        "postings_beginning_idx",
        "postings",
        ["source_id", "valid_from"],
        unique=False,
        postgresql_where="system_to IS NULL AND valid_to IS NULL AND valid_from IS NOT NULL",
    )


def _walls() -> None:
    """One tenant at a time; nobody edits a trace, and only the erasure of its subject removes one."""
    current = "nullif(current_setting('muniment.organisation', true), '')::uuid"
    op.execute(f"GRANT SELECT, INSERT ON retrieval_traces TO {ROLE}")
    op.execute("ALTER TABLE retrieval_traces ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE retrieval_traces FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY tenant ON retrieval_traces USING (organisation_id = {current}) "
        f"WITH CHECK (organisation_id = {current})"
    )
    # Numbers hardly compress; to try costs more than the bytes.
    op.execute("ALTER TABLE retrieval_traces ALTER COLUMN payload SET STORAGE EXTERNAL")


def downgrade() -> None:
    op.drop_index("postings_beginning_idx", "postings")
    for table in FACTS:
        for name in SIDES:
            op.drop_index(f"{table}_{name}_idx", table)
    op.drop_table("retrieval_traces")
