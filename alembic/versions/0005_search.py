"""What search reads is swept by count: a big table by its share, and quickly once it is begun.

The index of a model's vectors is not made here: which models there are is a matter of settings
(`app/storage/vector_index.py`).
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Entries of superseded rows are visited until they are swept: a search through the vector index takes longer, and
    # the index grows. A sweep reads all of that index, so it is due less often than those of smaller tables, and then
    # it does not pause: by default it would sleep most of its time.
    op.execute(
        "ALTER TABLE embeddings_live SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500, "
        "autovacuum_vacuum_cost_limit = 2000)"
    )
    op.execute("ALTER TABLE postings SET (autovacuum_vacuum_cost_limit = 2000)")


def downgrade() -> None:
    op.execute("ALTER TABLE postings RESET (autovacuum_vacuum_cost_limit)")
    op.execute(
        "ALTER TABLE embeddings_live SET (autovacuum_vacuum_scale_factor = 0.02), "
        "RESET (autovacuum_vacuum_threshold, autovacuum_vacuum_cost_limit)"
    )
