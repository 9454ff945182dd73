"""Grants as facts with a name, revisions that are turned down, and a second wall around what is written to postings."""

import sqlalchemy as sa

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

CURRENT = "nullif(current_setting('muniment.organisation', true), '')::uuid"
OWN = f"organisation_id = {CURRENT}"
#: What may be done with postings, and what a row must then be before and after it. They are read under no condition:
#: one would switch their index off, as array overlap is not leakproof.
POSTINGS = {
    "read": "FOR SELECT USING (true)",
    "insert": f"FOR INSERT WITH CHECK ({OWN})",
    "update": f"FOR UPDATE USING ({OWN}) WITH CHECK ({OWN})",
    "delete": f"FOR DELETE USING ({OWN})",
}


def upgrade() -> None:
    op.add_column(
        "grants",
        sa.Column(
            "grant_id",
            sa.Uuid(),
            sa.Computed("md5(principal_id::text || ' ' || space_id::text || ' ' || permission)::uuid", persisted=True),
            nullable=False,
            comment="the fact: this permission of this principal on this space",
        ),
    )
    op.add_column("grants", sa.Column("granted_by", sa.Uuid(), nullable=True, comment="NULL: the operator"))
    op.create_index("grants_fact_idx", "grants", ["organisation_id", "grant_id"], unique=False)
    op.create_index("grants_space_idx", "grants", ["organisation_id", "space_id", "id"], unique=False)
    op.add_column("memory_proposals", sa.Column("rejected_by", sa.Uuid(), nullable=True))
    op.add_column("memory_proposals", sa.Column("rejected_at", sa.DateTime(timezone=True), nullable=True))
    op.execute("ALTER TABLE postings ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE postings FORCE ROW LEVEL SECURITY")
    for name, rule in POSTINGS.items():
        op.execute(f"CREATE POLICY tenant_{name} ON postings {rule}")


def downgrade() -> None:
    for name in POSTINGS:
        op.execute(f"DROP POLICY tenant_{name} ON postings")
    op.execute("ALTER TABLE postings NO FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE postings DISABLE ROW LEVEL SECURITY")
    op.drop_column("memory_proposals", "rejected_at")
    op.drop_column("memory_proposals", "rejected_by")
    op.drop_index("grants_space_idx", table_name="grants")
    op.drop_index("grants_fact_idx", table_name="grants")
    op.drop_column("grants", "granted_by")
    op.drop_column("grants", "grant_id")
