"""A chain takes new entries at its end and nothing else, from the application's role and from its owner."""

import re
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.domain.chain import Outcome
from tests.evidence.support import chain_of, enqueue, found

COLUMNS = "sequence, id, payload, previous_mac, mac, key_id, queued_at"
EDITS = [
    "UPDATE evidence SET payload = payload WHERE organisation_id = $1",
    "UPDATE evidence SET queued_at = now() WHERE organisation_id = $1 AND sequence = 2",
    "DELETE FROM evidence WHERE organisation_id = $1",
    "DELETE FROM evidence WHERE organisation_id = $1 AND sequence = 3",
    f"INSERT INTO evidence (organisation_id, {COLUMNS}) SELECT organisation_id, {COLUMNS} FROM evidence "
    "WHERE organisation_id = $1 ON CONFLICT (organisation_id, sequence) DO UPDATE SET mac = excluded.mac",
    "MERGE INTO evidence e USING (SELECT 3 AS sequence) m ON e.organisation_id = $1 AND e.sequence = m.sequence "
    "WHEN MATCHED THEN DELETE",
]


@pytest.fixture
async def chained(office) -> UUID:
    """An organisation with three entries."""
    await enqueue(office.database, office.organisation, 3)
    await office.drain()
    return office.organisation


@pytest.mark.parametrize("statement", EDITS)
async def test_the_application_edits_no_entry_of_its_own_organisation(application, office, chained, statement):
    await application.execute("SELECT set_config('muniment.organisation', $1, false)", str(chained))
    assert await application.fetchval("SELECT count(*) FROM evidence") == 3
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await application.execute(statement, chained)
    assert await found(office, chained) == (Outcome.VALID, None)


@pytest.mark.parametrize("statement", EDITS)
async def test_the_owner_is_stopped_by_the_trigger(owner, office, chained, statement):
    with pytest.raises(asyncpg.RestrictViolationError, match="evidence is append-only"):
        await owner.execute(statement, chained)
    assert await found(office, chained) == (Outcome.VALID, None)


async def test_both_triggers_stand_on_each_table_of_the_evidence(owner):
    tables = ["evidence", "chain_verifications", "response_links"]
    rows = await owner.fetch(
        "SELECT tgrelid::regclass::text AS name, pg_get_triggerdef(oid) AS definition, tgenabled FROM pg_trigger "
        "WHERE NOT tgisinternal AND tgrelid::regclass::text = ANY($1)",
        tables,
    )
    walls = {(row["name"], re.search(r"BEFORE ([A-Z ]+?) ON", row["definition"]).group(1)) for row in rows}
    assert walls == {(table, events) for table in tables for events in ("DELETE OR UPDATE", "TRUNCATE")}
    assert {row["tgenabled"] for row in rows} == {b"O"}


@pytest.mark.parametrize(
    ("column", "constraint"),
    [("sequence", "evidence_pkey"), ("id", "evidence_id_idx"), ("previous_mac", "evidence_previous_mac_idx")],
)
async def test_no_fork(owner, chained, column, constraint):
    """Neither two entries in one place, nor two that follow the same one, nor one event twice."""
    taken = {"sequence": "99", "id": "gen_random_uuid()", "previous_mac": "sha256('other')", column: column}
    with pytest.raises(asyncpg.UniqueViolationError, match=constraint):
        await owner.execute(
            f"INSERT INTO evidence (organisation_id, {COLUMNS}) SELECT organisation_id, {taken['sequence']}, "
            f"{taken['id']}, payload, {taken['previous_mac']}, mac, key_id, queued_at "
            "FROM evidence WHERE organisation_id = $1 AND sequence = 2",
            chained,
        )


async def test_what_is_unique_is_so_within_an_organisation(owner, office, chained):
    """Another one begins at 1 after the same genesis, and cannot learn of ours by colliding with it."""
    other = uuid4()
    status = await owner.execute(
        f"INSERT INTO evidence (organisation_id, {COLUMNS}) SELECT $2, {COLUMNS} FROM evidence "
        "WHERE organisation_id = $1",
        chained,
        other,
    )
    assert status == "INSERT 0 3"
    assert [row.sequence for row in await chain_of(office.database, other)] == [1, 2, 3]
    # And yet it is not that one's chain.
    assert await found(office, other) == (Outcome.TAMPERED, 1)
