"""The walls around the tables: partitions, no overlap on both clocks, append-only evidence, one tenant at a time."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ROLE = "muniment_app"

#: Under row security: all tenant tables but the postings, whose index a policy would switch off.
PROTECTED = [
    "organisations",
    "spaces",
    "level_weights",
    "principals",
    "grants",
    "sources",
    "source_syncs",
    "documents",
    "contents",
    "document_versions",
    "texts",
    "chunks",
    "embeddings",
    "embeddings_live",
    "embeddings_past",
    "lexeme_frequencies",
    "lexical_statistics",
    "evidence",
    "response_links",
    "chain_verifications",
]

#: Read across organisations by the background workers, which say so (`muniment.worker`), written within one.
SHARED_BY_WORKERS = ["organisation_clocks", "attribution_queue", "embedding_queue"]

OURS = ", ".join([*PROTECTED, *SHARED_BY_WORKERS, "postings"])

CURRENT = "nullif(current_setting('muniment.organisation', true), '')::uuid"
WORKER = "coalesce(current_setting('muniment.worker', true), '') = 'on'"


def upgrade() -> None:
    op.execute("CREATE TABLE embeddings_live PARTITION OF embeddings FOR VALUES IN (true)")
    op.execute("CREATE TABLE embeddings_past PARTITION OF embeddings FOR VALUES IN (false)")
    _no_overlap()
    _storage()
    _roles()
    _row_security()
    _append_only()


def _no_overlap() -> None:
    """Two versions of one fact never overlap on both clocks. Range types of one value stand in for btree_gist."""
    op.execute("CREATE TYPE uuid_range AS RANGE (subtype = uuid)")
    op.execute("CREATE TYPE text_range AS RANGE (subtype = text)")
    for table, fact in (
        ("document_versions", {"document_id": "uuid_range"}),
        ("grants", {"principal_id": "uuid_range", "space_id": "uuid_range", "permission": "text_range"}),
    ):
        same = ", ".join(f"{kind}({column}, {column}, '[]') WITH &&" for column, kind in fact.items())
        op.execute(
            f"""
            ALTER TABLE {table} ADD CONSTRAINT {table}_no_overlap EXCLUDE USING gist (
                {same}, tstzrange(valid_from, valid_to) WITH &&, tstzrange(system_from, system_to) WITH &&)
            """
        )
    for table, fact in (("spaces", "id"), ("sources", "id")):
        op.execute(
            f"""
            ALTER TABLE {table} ADD CONSTRAINT {table}_no_overlap EXCLUDE USING gist (
                uuid_range({fact}, {fact}, '[]') WITH &&, tstzrange(system_from, system_to) WITH &&)
            """
        )


def _storage() -> None:
    """Rows that a leg scores stay in one piece; tables with churn are vacuumed by count, not by share."""
    op.execute("ALTER TABLE postings SET (toast_tuple_target = 8160)")
    for table in ("embeddings_live", "embeddings_past"):
        op.execute(f"ALTER TABLE {table} SET (toast_tuple_target = 8160)")
        op.execute(f"ALTER TABLE {table} ALTER COLUMN vector SET STORAGE PLAIN")
    for table in ("postings", "embeddings_live", "embeddings_past", "chunks", "document_versions"):
        op.execute(
            f"ALTER TABLE {table} SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)"
        )
    # A bitmap visits dead entries. Few for the table, and so left by default, may be many for one organisation.
    for table in ("postings", "embeddings_live"):
        op.execute(f"ALTER TABLE {table} SET (vacuum_index_cleanup = on)")
    for table in ("attribution_queue", "embedding_queue", "organisation_clocks"):
        op.execute(
            f"ALTER TABLE {table} SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, "
            "autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000)"
        )


def _roles() -> None:
    """The application's role: it owns nothing and cannot edit evidence."""
    op.execute(
        f"""
        DO $$ BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}') THEN
                CREATE ROLE {ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;  -- another database's migration was faster
        END $$
        """
    )
    op.execute(f"GRANT USAGE ON SCHEMA public TO {ROLE}")
    op.execute(
        f"""
        DO $$ BEGIN
            EXECUTE (SELECT format('GRANT USAGE ON SCHEMA %I TO {ROLE}', n.nspname) FROM pg_extension e
                JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector');
        END $$
        """
    )
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {OURS} TO {ROLE}")
    op.execute(f"GRANT SELECT ON alembic_version TO {ROLE}")
    op.execute(f"REVOKE UPDATE, DELETE ON evidence, chain_verifications, response_links FROM {ROLE}")
    op.execute(f"REVOKE UPDATE ON attribution_queue FROM {ROLE}")


def _row_security() -> None:
    for table in [*PROTECTED, *SHARED_BY_WORKERS]:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY tenant ON {table} USING (organisation_id = {CURRENT}) "
            f"WITH CHECK (organisation_id = {CURRENT})"
        )
    for table in SHARED_BY_WORKERS:
        op.execute(f"CREATE POLICY worker ON {table} FOR SELECT USING ({WORKER})")


def _append_only() -> None:
    op.execute(
        """
        CREATE FUNCTION refuse_edit() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation'; END $$
        """
    )
    for table in ("evidence", "chain_verifications", "response_links"):
        op.execute(
            f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_edit()"
        )
        op.execute(
            f"CREATE TRIGGER no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION refuse_edit()"
        )


def downgrade() -> None:
    for table in ("evidence", "chain_verifications", "response_links"):
        op.execute(f"DROP TRIGGER append_only ON {table}")
        op.execute(f"DROP TRIGGER no_truncate ON {table}")
    op.execute("DROP FUNCTION refuse_edit")
    for table in [*PROTECTED, *SHARED_BY_WORKERS]:
        op.execute(f"DROP POLICY tenant ON {table}")
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    for table in SHARED_BY_WORKERS:
        op.execute(f"DROP POLICY worker ON {table}")
    op.execute(f"REVOKE ALL ON {OURS}, alembic_version FROM {ROLE}")
    op.execute(f"REVOKE ALL ON SCHEMA public FROM {ROLE}")
    for table in ("document_versions", "grants", "spaces", "sources"):
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_no_overlap")
    op.execute("DROP TYPE uuid_range")
    op.execute("DROP TYPE text_range")
    op.execute("DROP TABLE embeddings_live, embeddings_past")
