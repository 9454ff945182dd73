"""Evidence in reports: when a record was made is read from its bytes too, and each filter has an index in the order of
the chain."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

TABLES = ["attribution_queue", "evidence"]
#: In order, as in 0012; a field that is to be a UUID is cast.
FIELDS = {
    "id": True,
    "category": False,
    "requestId": False,
    "attributionId": True,
    "userId": True,
    "spaceId": True,
    "subjectPseudonym": False,
}
#: Place in `fields`, and which records have an entry. Of deliveries there are so many that no index is needed to find
#: the next one.
INDEXES = {
    "user": ("(fields[5])", "(fields[5]) IS NOT NULL"),
    "space": ("(fields[6])", "(fields[6]) IS NOT NULL"),
    "subject": ("(fields[7])", "(fields[7]) IS NOT NULL"),
    "client": ("(fields[8])", "(fields[8]) IS NOT NULL"),
    "issued": ("(fields[9])", "(fields[9]) IS NOT NULL"),
    "category": ("(fields[2])", "(fields[2]) <> 'context_attribution'"),
}


def upgrade() -> None:
    _function(", record ->> 'issuedAt'")
    _column()
    op.execute(
        "CREATE INDEX evidence_link_idx ON evidence (organisation_id, (fields[4])) "
        "WHERE (fields[2]) = 'context_attribution_link'"
    )
    for name, (expression, condition) in INDEXES.items():
        op.execute(
            f"CREATE INDEX evidence_{name}_idx ON evidence (organisation_id, {expression}, sequence) WHERE {condition}"
        )


def downgrade() -> None:
    _function("")
    _column()
    op.execute(
        "CREATE INDEX evidence_link_idx ON evidence (organisation_id, ((fields[4])::uuid)) "
        "WHERE fields[2] = 'context_attribution_link'"
    )


def _function(more: str) -> None:
    op.execute(
        "CREATE OR REPLACE FUNCTION record_fields(payload bytea) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT "
        "PARALLEL SAFE AS $$ DECLARE record jsonb := convert_from(payload, 'UTF8')::jsonb; BEGIN RETURN ARRAY["
        + ", ".join(
            f"(record ->> '{name}')::uuid::text" if uuid else f"record ->> '{name}'" for name, uuid in FIELDS.items()
        )
        + f", record -> 'client' ->> 'id'{more}]; END $$"
    )


def _column() -> None:
    """Computed anew; its indexes go with it."""
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_id_of_payload_check, DROP COLUMN fields")
        op.execute(
            f"ALTER TABLE {table} ADD COLUMN fields text[] GENERATED ALWAYS AS (record_fields(payload)) STORED, "
            f"ADD CONSTRAINT {table}_id_of_payload_check CHECK (id = (fields[1])::uuid)"
        )
        op.execute(f"CREATE INDEX {table}_request_idx ON {table} (organisation_id, (fields[3]))")
