"""Edits that take records away or put some in, without the key and with it."""

from uuid import uuid4

from app.domain.chain import MAX_SEQUENCE, Head, Outcome, append
from tests.evidence.attack import Attack, Expected, edit, tampered
from tests.evidence.support import Row, chain_of

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
    place = attack.place(2, min(attack.end, len(theirs)))
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
