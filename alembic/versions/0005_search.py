"""Words are counted by source. What search reads is swept by count: a big table by its share, and quickly once begun.

The index of a model's vectors is not made here: which models there are is a matter of settings
(`app/storage/vector_index.py`).
"""

import sqlalchemy as sa

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


#: What is counted by source from here on: a caller who may not read from one must not learn its words from a score.
COUNTED = {"lexeme_frequencies": ["key"], "lexical_statistics": ["space_id"]}
LIVE = "p.system_to IS NULL AND p.valid_to IS NULL"


def upgrade() -> None:
    for table, columns in COUNTED.items():
        # What was counted by space cannot be told apart any more: it is counted anew, as of each organisation's first
        # text. The owner must be let through its own walls for that.
        op.execute(f"TRUNCATE {table}")
        op.add_column(table, sa.Column("source_id", sa.Uuid(), nullable=False))
        op.drop_constraint(f"{table}_pkey", table)
        op.create_primary_key(f"{table}_pkey", table, ["organisation_id", *columns, "source_id", "system_from"])
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    op.alter_column("lexeme_frequencies", "frequency", comment="chunks of the source that hold the lexeme")
    first = "(SELECT min(f.system_from) FROM postings f WHERE f.organisation_id = h.organisation_id)"
    op.execute(
        f"""
        INSERT INTO lexeme_frequencies (organisation_id, key, source_id, space_id, frequency, system_from)
        SELECT h.organisation_id, h.key, h.source_id, h.space_id, count(*), {first}
        FROM (SELECT p.organisation_id, p.source_id, p.space_id, unnest(p.keys) AS key FROM postings p
            WHERE {LIVE}) AS h
        GROUP BY 1, 2, 3, 4
        """
    )
    op.execute(
        f"""
        INSERT INTO lexical_statistics (organisation_id, space_id, source_id, chunk_count, system_from)
        SELECT h.organisation_id, h.space_id, h.source_id, count(*), {first}
        FROM (SELECT p.organisation_id, p.space_id, p.source_id FROM postings p WHERE {LIVE}) AS h GROUP BY 1, 2, 3
        """
    )
    for table in COUNTED:
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    # Entries of superseded rows are visited until they are swept: a search through the vector index takes longer, and
    # the index grows. A sweep reads all of that index, so it is due less often than those of smaller tables, and then
    # it does not pause: by default it would sleep most of its time.
    op.execute(
        "ALTER TABLE embeddings_live SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500, "
        "autovacuum_vacuum_cost_limit = 2000)"
    )
    op.execute("ALTER TABLE postings SET (autovacuum_vacuum_cost_limit = 2000)")


def downgrade() -> None:
    op.alter_column("lexeme_frequencies", "frequency", comment="chunks of the space that hold the lexeme")
    for table, columns in COUNTED.items():
        op.execute(f"TRUNCATE {table}")
        op.drop_constraint(f"{table}_pkey", table)
        op.drop_column(table, "source_id")
        op.create_primary_key(f"{table}_pkey", table, ["organisation_id", *columns, "system_from"])
    op.execute("ALTER TABLE postings RESET (autovacuum_vacuum_cost_limit)")
    op.execute(
        "ALTER TABLE embeddings_live SET (autovacuum_vacuum_scale_factor = 0.02), "
        "RESET (autovacuum_vacuum_threshold, autovacuum_vacuum_cost_limit)"
    )
