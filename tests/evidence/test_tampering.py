"""What a superuser can do to a chain behind the application's back, and that the check says so at the right place."""

import random
from uuid import uuid4

import asyncpg
import pytest

from tests.evidence import edits_in_place, edits_of_rows, edits_outside
from tests.evidence.attack import EDITS, VALID, Attack, tampered
from tests.evidence.support import chain_of, enqueue, found, head_of

COLUMNS = "organisation_id, sequence, id, payload, previous_mac, mac, key_id, queued_at, appended_at"
TABLES = {"evidence": COLUMNS, "merkle_nodes": "organisation_id, level, position, hash"}
LENGTH = 24
ROUNDS = 4


@pytest.fixture
async def prepared(office):
    """A chain under three keys, and another organisation's."""
    other = uuid4()
    for organisation in (office.organisation, other):
        await enqueue(office.database, organisation, LENGTH // 3)
        await office.sequencer.turn(organisation)
    for _ in range(2):
        office.keys.rotate()
        for organisation in (office.organisation, other):
            await enqueue(office.database, organisation, LENGTH // 3)
            await office.sequencer.turn(organisation)
    return office, other


async def test_every_edit_is_found_at_its_place(prepared, owner):
    office, other = prepared
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    rows = await chain_of(office.database, office.organisation)
    assert len(rows) == LENGTH
    assert office.heads.read(office.organisation) == head_of(rows)
    names = [name for name in EDITS for _ in range(ROUNDS)]
    chance.shuffle(names)
    modules = (edits_in_place, edits_of_rows, edits_outside)
    assert {EDITS[name].__module__ for name in names} == {module.__name__ for module in modules}
    assert len(names) >= 100
    wrong = []
    both = [office.organisation, other]
    for table, columns in TABLES.items():
        await owner.execute(
            f"CREATE TEMPORARY TABLE untouched_{table} AS SELECT {columns} FROM {table} "
            "WHERE organisation_id = ANY($1)",
            both,
        )
    await owner.execute("SET session_replication_role = replica")
    kept = {path: path.read_bytes() for path in map(office.heads.path, (office.organisation, other))}
    for name in names:
        attack = Attack(owner, office, office.organisation, other, rows, chance)
        expected = await EDITS[name](attack)
        told = await found(office, office.organisation, heads=attack.heads)
        told_of_other = await found(office, other)
        for path, content in kept.items():
            path.write_bytes(content)
        async with owner.transaction():
            for table, columns in TABLES.items():
                await owner.execute(f"DELETE FROM {table} WHERE organisation_id = ANY($1)", both)
                await owner.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM untouched_{table}")
        if (told, told_of_other) != (expected, attack.expected_of_other):
            wrong.append((name, expected, told, told_of_other))
        assert await found(office, office.organisation) == VALID, name
    assert wrong == [], f"seed {seed}"


async def test_exact_copies_where_even_the_indexes_were_dropped(prepared, owner):
    office, _ = prepared
    rows = await chain_of(office.database, office.organisation)
    definitions = await owner.fetch(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'evidence' AND indexdef LIKE '%UNIQUE%' "
        "AND indexname <> 'evidence_pkey'"
    )
    remove = f"DELETE FROM evidence WHERE organisation_id = $1 AND sequence > {LENGTH}"
    await owner.execute("SET session_replication_role = replica")
    assert {row["indexname"] for row in definitions} == {"evidence_previous_mac_idx", "evidence_id_idx"}
    try:
        for definition in definitions:
            await owner.execute(f"DROP INDEX {definition['indexname']}")
        for place in (1, 2, LENGTH // 2, LENGTH):
            await owner.execute(
                f"INSERT INTO evidence ({COLUMNS}) SELECT organisation_id, $3, id, payload, previous_mac, mac, "
                "key_id, queued_at, appended_at FROM evidence WHERE organisation_id = $1 AND sequence = $2",
                office.organisation,
                rows[place - 1].sequence,
                LENGTH + 1,
            )
            assert await found(office, office.organisation) == tampered(LENGTH + 1)
            await owner.execute(remove, office.organisation)
    finally:
        await owner.execute(remove, office.organisation)
        for definition in definitions:
            await owner.execute(definition["indexdef"])
    assert await found(office, office.organisation) == VALID


@pytest.mark.parametrize("spoilt", [b"", b'{"category":', b"\xff\xfe", b'{"userId":"nobody"}', b'{"a":"\\u0000"}'])
async def test_a_payload_that_is_no_record_is_refused_by_the_table(prepared, owner, spoilt):
    """The computed columns cannot be made of it, so not even a superuser writes it while they stand."""
    office, _ = prepared
    await owner.execute("SET session_replication_role = replica")
    with pytest.raises(asyncpg.PostgresError):
        await owner.execute(
            "UPDATE evidence SET payload = $2 WHERE organisation_id = $1 AND sequence = 3",
            office.organisation,
            spoilt,
        )
    assert await found(office, office.organisation) == VALID


async def test_with_the_triggers_disabled_by_name(prepared, owner):
    """The other way to get past them."""
    office, _ = prepared
    await owner.execute("ALTER TABLE evidence DISABLE TRIGGER ALL")
    try:
        await owner.execute(
            "UPDATE evidence SET payload = payload || ' '::bytea WHERE organisation_id = $1 AND sequence = 5",
            office.organisation,
        )
    finally:
        await owner.execute("ALTER TABLE evidence ENABLE TRIGGER ALL")
    assert await found(office, office.organisation) == tampered(5)
