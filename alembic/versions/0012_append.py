"""Fields of evidence read once: one generated array in place of five columns, each of which parsed the payload."""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

#: In order; a field that is to be a UUID is cast, so that a payload in which it is none is refused.
FIELDS = {
    "id": True,
    "category": False,
    "requestId": False,
    "attributionId": True,
    "userId": True,
    "spaceId": True,
    "subjectPseudonym": False,
}
COLUMNS = {
    "category": ("text", "category", ""),
    "request_id": ("text", "requestId", ""),
    "attribution_id": ("uuid", "attributionId", "::uuid"),
    "user_id": ("uuid", "userId", "::uuid"),
    "space_id": ("uuid", "spaceId", "::uuid"),
}
TABLES = ["attribution_queue", "evidence"]


def upgrade() -> None:
    # Immutable in a UTF-8 database, which env.py insists on; PostgreSQL calls convert_from merely stable.
    op.execute(
        "CREATE FUNCTION record_fields(payload bytea) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE "
        "AS $$ DECLARE record jsonb := convert_from(payload, 'UTF8')::jsonb; BEGIN RETURN ARRAY["
        + ", ".join(
            f"(record ->> '{name}')::uuid::text" if uuid else f"record ->> '{name}'" for name, uuid in FIELDS.items()
        )
        + ", record -> 'client' ->> 'id']; END $$"
    )
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_id_of_payload_check")
        for column in COLUMNS:
            op.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        op.execute(
            f"ALTER TABLE {table} ADD COLUMN fields text[] GENERATED ALWAYS AS (record_fields(payload)) STORED, "
            f"ADD CONSTRAINT {table}_id_of_payload_check CHECK (id = (fields[1])::uuid)"
        )
        op.execute(f"CREATE INDEX {table}_request_idx ON {table} (organisation_id, (fields[3]))")
    op.execute(
        "CREATE INDEX evidence_link_idx ON evidence (organisation_id, ((fields[4])::uuid)) "
        "WHERE fields[2] = 'context_attribution_link'"
    )
    op.execute("DROP FUNCTION evidence_field")


def downgrade() -> None:
    op.execute(
        "CREATE FUNCTION evidence_field(payload bytea, field text) RETURNS text LANGUAGE sql IMMUTABLE STRICT "
        "PARALLEL SAFE RETURN convert_from(payload, 'UTF8')::jsonb ->> field"
    )
    op.execute("DROP INDEX evidence_link_idx")
    for table in TABLES:
        op.execute(f"DROP INDEX {table}_request_idx")
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_id_of_payload_check, DROP COLUMN fields")
        for column, (type_, name, cast) in COLUMNS.items():
            op.execute(
                f"ALTER TABLE {table} ADD COLUMN {column} {type_} "
                f"GENERATED ALWAYS AS (evidence_field(payload, '{name}'){cast}) STORED"
            )
        op.execute(
            f"ALTER TABLE {table} ADD CONSTRAINT {table}_id_of_payload_check "
            "CHECK (id = evidence_field(payload, 'id')::uuid)"
        )
        op.execute(f"CREATE INDEX {table}_request_idx ON {table} (organisation_id, request_id)")
    op.execute("CREATE INDEX evidence_attribution_idx ON evidence (organisation_id, attribution_id)")
    op.execute("DROP FUNCTION record_fields")
