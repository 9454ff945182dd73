"""What a superuser can do to a chain behind the application's back, and that the check says so at the right place."""

import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.domain.chain import MAX_SEQUENCE, Head, Outcome, append
from tests.evidence.support import Row, chain_of, enqueue, found, head_of

COLUMNS = "organisation_id, sequence, id, payload, previous_mac, mac, key_id, queued_at, appended_at"
LENGTH = 24
ROUNDS = 4


class Expected(NamedTuple):
    outcome: Outcome
    first_bad: int | None


VALID = Expected(Outcome.VALID, None)


def tampered(sequence: int) -> Expected:
    return Expected(Outcome.TAMPERED, sequence)


@dataclass
class Attack:
    """A superuser's connection with the triggers off, a chain under three keys, and chance."""

    connection: asyncpg.Connection
    office: object
    organisation: UUID
    other: UUID
    rows: list[Row]
    chance: random.Random
    expected_of_other: Expected = VALID

    @property
    def end(self) -> int:
        return len(self.rows)

    def place(self, first: int = 1, last: int | None = None) -> int:
        return self.chance.randint(first, self.end if last is None else last)

    def row(self, sequence: int) -> Row:
        return self.rows[sequence - 1]

    async def set(self, at: int, /, **values: object) -> None:
        for column, value in values.items():
            status = await self.connection.execute(
                f"UPDATE evidence SET {column} = $3 WHERE organisation_id = $1 AND sequence = $2",
                self.organisation,
                at,
                value,
            )
            assert status == "UPDATE 1"

    async def delete(self, condition: str = "true") -> None:
        await self.connection.execute(
            f"DELETE FROM evidence WHERE organisation_id = $1 AND {condition}", self.organisation
        )

    async def insert(self, organisation: UUID, sequence: int, row: Row, **changes: object) -> None:
        """A copy of `row`, at another place and under another id."""
        copy = row._replace(sequence=sequence, id=uuid4())._replace(**changes)
        await self.connection.execute(
            "INSERT INTO evidence (organisation_id, sequence, id, payload, previous_mac, mac, key_id, queued_at) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            organisation,
            *copy,
        )

    def flipped(self, data: bytes) -> bytes:
        changed = bytearray(data)
        changed[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)
        return bytes(changed)


Edit = Callable[[Attack], Awaitable[Expected]]
EDITS: dict[str, Edit] = {}


def edit(function: Edit) -> Edit:
    EDITS[function.__name__] = function
    return function


# One record changed


@edit
async def payload_byte(attack: Attack) -> Expected:
    """One character of a value: the payload stays JSON, as the computed columns demand."""
    place = attack.place()
    record = json.loads(attack.row(place).payload)
    name = attack.chance.choice(["attributionId", "requestId", "organisationId", "userId", "spaceId"])
    digits = list(record[name])
    spot = attack.chance.choice([number for number, digit in enumerate(digits) if digit != "-"])
    digits[spot] = "0" if digits[spot] != "0" else "1"
    old, new = record[name].encode(), "".join(digits).encode()
    await attack.set(place, payload=attack.row(place).payload.replace(old, new, 1))
    return tampered(place)


@edit
async def payload_spaced(attack: Attack) -> Expected:
    """The same JSON in other bytes."""
    place = attack.place()
    await attack.set(place, payload=attack.row(place).payload.replace(b'":', b'": ', 1))
    return tampered(place)


@edit
async def payload_longer(attack: Attack) -> Expected:
    place = attack.place()
    await attack.set(place, payload=attack.row(place).payload + attack.chance.choice([b" ", b"\n", b"\t"]))
    return tampered(place)


@edit
async def payload_truncated(attack: Attack) -> Expected:
    """Fields cut off the end. What is no longer JSON the table refuses by itself: tested below."""
    place = attack.place()
    record = json.loads(attack.row(place).payload)
    kept = dict(list(record.items())[: attack.chance.randrange(len(record))])
    await attack.set(place, payload=json.dumps(kept, separators=(",", ":")).encode())
    return tampered(place)


@edit
async def payload_of_another(attack: Attack) -> Expected:
    place, other = attack.chance.sample(range(1, attack.end + 1), 2)
    await attack.set(place, payload=attack.row(other).payload)
    return tampered(place)


@edit
async def mac_bit(attack: Attack) -> Expected:
    place = attack.place()
    await attack.set(place, mac=attack.flipped(attack.row(place).mac))
    return tampered(place)


@edit
async def mac_shortened(attack: Attack) -> Expected:
    place = attack.place()
    await attack.set(place, mac=attack.row(place).mac[: attack.chance.randrange(32)])
    return tampered(place)


@edit
async def mac_and_the_next_ones_link(attack: Attack) -> Expected:
    """The link is mended, so that only the MAC itself can tell."""
    place = attack.place(last=attack.end - 1)
    forged = attack.flipped(attack.row(place).mac)
    await attack.set(place, mac=forged)
    await attack.set(place + 1, previous_mac=forged)
    return tampered(place)


@edit
async def previous_mac_bit(attack: Attack) -> Expected:
    place = attack.place()
    await attack.set(place, previous_mac=attack.flipped(attack.row(place).previous_mac))
    return tampered(place)


@edit
async def previous_mac_shortened(attack: Attack) -> Expected:
    place = attack.place()
    await attack.set(place, previous_mac=attack.row(place).previous_mac[: attack.chance.randrange(1, 32)])
    return tampered(place)


@edit
async def key_id_of_another_key(attack: Attack) -> Expected:
    place = attack.place()
    others = [name for name in attack.office.keys.ids if name != attack.row(place).key_id]
    await attack.set(place, key_id=attack.chance.choice(others))
    return tampered(place)


@edit
async def key_id_unknown(attack: Attack) -> Expected:
    """Nobody can tell who wrote it: never VALID, and apart from tampering."""
    place = attack.place()
    await attack.set(place, key_id=attack.chance.choice(["k9-00000000", "", "k" * 300, "schlüssel"]))
    return Expected(Outcome.UNVERIFIABLE, place)


@edit
async def key_id_unknown_hides_no_other_edit(attack: Attack) -> Expected:
    first, second = sorted(attack.chance.sample(range(1, attack.end + 1), 2))
    await attack.set(first, key_id="k9-00000000")
    await attack.set(second, payload=attack.row(second).payload + b" ")
    return tampered(second)


# Places changed


@edit
async def two_swapped(attack: Attack) -> Expected:
    first, second = sorted(attack.chance.sample(range(1, attack.end + 1), 2))
    await attack.set(first, sequence=-1)
    await attack.set(second, sequence=first)
    await attack.set(-1, sequence=second)
    return tampered(first)


@edit
async def neighbours_swapped(attack: Attack) -> Expected:
    first = attack.place(last=attack.end - 1)
    await attack.set(first, sequence=-1)
    await attack.set(first + 1, sequence=first)
    await attack.set(-1, sequence=first + 1)
    return tampered(first)


@edit
async def moved_behind_the_end(attack: Attack) -> Expected:
    place = attack.place(last=attack.end - 1)
    await attack.set(place, sequence=attack.chance.choice([attack.end + 1, attack.end + 9, 2**62 + 1, MAX_SEQUENCE]))
    return tampered(place)


@edit
async def moved_before_the_beginning(attack: Attack) -> Expected:
    target = attack.chance.choice([0, -1, -(2**62) - 1, -(2**63)])
    await attack.set(attack.place(), sequence=target)
    return tampered(target)


@edit
async def one_deleted_and_the_rest_moved_up(attack: Attack) -> Expected:
    place = attack.place(last=attack.end - 1)
    await attack.delete(f"sequence = {place}")
    for sequence in range(place + 1, attack.end + 1):
        await attack.set(sequence, sequence=sequence - 1)
    return tampered(place)


# Records taken away


@edit
async def middle_deleted(attack: Attack) -> Expected:
    place = attack.place(2, attack.end - 1)
    await attack.delete(f"sequence = {place}")
    return tampered(place)


@edit
async def several_deleted(attack: Attack) -> Expected:
    first = attack.place(2, attack.end - 2)
    await attack.delete(f"sequence BETWEEN {first} AND {attack.place(first, attack.end - 1)}")
    return tampered(first)


@edit
async def first_deleted(attack: Attack) -> Expected:
    await attack.delete(f"sequence <= {attack.place(1, attack.end - 1)}")
    return tampered(1)


@edit
async def tail_deleted(attack: Attack) -> Expected:
    first = attack.place(2)
    await attack.delete(f"sequence >= {first}")
    return Expected(Outcome.TRUNCATED, first)


@edit
async def all_deleted(attack: Attack) -> Expected:
    await attack.delete()
    return Expected(Outcome.TRUNCATED, 1)


@edit
async def tail_deleted_behind_an_edit(attack: Attack) -> Expected:
    """Both happened; the edit is the graver."""
    place = attack.place(1, attack.end - 2)
    await attack.set(place, mac=attack.flipped(attack.row(place).mac))
    await attack.delete(f"sequence >= {attack.place(place + 1)}")
    return tampered(place)


# Records put in


@edit
async def copy_inserted(attack: Attack) -> Expected:
    """At a free place; the unique index asks for another predecessor."""
    target = attack.chance.choice([attack.end + 1, attack.end + 5, 2**62 + 1, MAX_SEQUENCE, 0, -7, -(2**63)])
    await attack.insert(
        attack.organisation, target, attack.row(attack.place()), previous_mac=attack.chance.randbytes(32)
    )
    return tampered(min(target, attack.end + 1))


@edit
async def copy_appended_as_if_it_followed(attack: Attack) -> Expected:
    row = attack.row(attack.place(last=attack.end - 1))
    await attack.insert(attack.organisation, attack.end + 1, row, previous_mac=attack.row(attack.end).mac)
    return tampered(attack.end + 1)


@edit
async def copy_from_another_organisation_appended(attack: Attack) -> Expected:
    theirs = await chain_of(attack.office.database, attack.other)
    row = attack.chance.choice(theirs)
    changes = {} if row.sequence > 1 else {"previous_mac": attack.row(attack.end).mac}
    await attack.insert(attack.organisation, attack.end + 1, row, **changes)
    return tampered(attack.end + 1)


@edit
async def replaced_by_another_organisations(attack: Attack) -> Expected:
    theirs = await chain_of(attack.office.database, attack.other)
    place = attack.place(2, len(theirs))
    row = theirs[place - 1]
    await attack.delete(f"sequence = {place}")
    await attack.insert(attack.organisation, place, row)
    return tampered(place)


@edit
async def whole_chain_replaced_by_another_organisations(attack: Attack) -> Expected:
    await attack.delete()
    for row in await chain_of(attack.office.database, attack.other):
        await attack.insert(attack.organisation, row.sequence, row)
    return tampered(1)


@edit
async def moved_to_another_organisation(attack: Attack) -> Expected:
    theirs = len(await chain_of(attack.office.database, attack.other))
    place = attack.place(2, attack.end - 1)
    await attack.connection.execute(
        "UPDATE evidence SET organisation_id = $3, sequence = $4 WHERE organisation_id = $1 AND sequence = $2",
        attack.organisation,
        place,
        attack.other,
        theirs + 1,
    )
    attack.expected_of_other = tampered(theirs + 1)
    return tampered(place)


# Edits by who holds the key, as a restored backup that was written on


def forged(attack: Attack, start: int, count: int) -> list[Row]:
    """Authentic entries behind `start`, other than those that were there."""
    keys = attack.office.keys
    key = keys.organisation_key(attack.organisation, keys.current_id)
    head = Head(start, attack.row(start).mac) if start else Head(0, bytes(32))
    payloads = [b'{"forged":%d}' % number for number in range(count)]
    made = append(attack.organisation, head, payloads, key, keys.current_id)
    when = attack.row(1).queued_at
    return [Row(one.sequence, uuid4(), one.payload, one.previous_mac, one.mac, one.key_id, when) for one in made]


@edit
async def tail_rewritten_with_the_key(attack: Attack) -> Expected:
    start = attack.place(0, attack.end - 1)
    await attack.delete(f"sequence > {start}")
    for row in forged(attack, start, attack.end - start + attack.place(0, 3)):
        await attack.insert(attack.organisation, row.sequence, row)
    return Expected(Outcome.FORKED, attack.end)


@edit
async def shorter_tail_written_with_the_key(attack: Attack) -> Expected:
    start = attack.place(0, attack.end - 2)
    await attack.delete(f"sequence > {start}")
    length = attack.place(1, attack.end - start - 1)
    for row in forged(attack, start, length):
        await attack.insert(attack.organisation, row.sequence, row)
    return Expected(Outcome.TRUNCATED, start + length + 1)


@edit
async def middle_rewritten_with_the_key(attack: Attack) -> Expected:
    """Authentic by itself; its successor follows another one."""
    place = attack.place(1, attack.end - 1)
    (row,) = forged(attack, place - 1, 1)
    await attack.set(place, payload=row.payload, mac=row.mac, key_id=row.key_id)
    return Expected(Outcome.FORKED, place)


# What is not part of the record


@edit
async def times_of_queue_and_chain(attack: Attack) -> Expected:
    """When a row was queued and appended is the table's own knowledge; the record holds its own `issuedAt`."""
    place = attack.place()
    column = attack.chance.choice(["queued_at", "appended_at"])
    await attack.connection.execute(
        f"UPDATE evidence SET {column} = {column} - interval '1 day' WHERE organisation_id = $1 AND sequence = $2",
        attack.organisation,
        place,
    )
    return VALID


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
    assert len(names) >= 100
    wrong = []
    await owner.execute(
        f"CREATE TEMPORARY TABLE untouched AS SELECT {COLUMNS} FROM evidence WHERE organisation_id = ANY($1)",
        [office.organisation, other],
    )
    await owner.execute("SET session_replication_role = replica")
    for name in names:
        attack = Attack(owner, office, office.organisation, other, rows, chance)
        expected = await EDITS[name](attack)
        told = await found(office, office.organisation)
        told_of_other = await found(office, other)
        async with owner.transaction():
            await owner.execute("DELETE FROM evidence WHERE organisation_id = ANY($1)", [office.organisation, other])
            await owner.execute(f"INSERT INTO evidence ({COLUMNS}) SELECT {COLUMNS} FROM untouched")
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
