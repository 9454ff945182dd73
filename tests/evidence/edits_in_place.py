"""Edits that leave the number of records as it is: of one record, and of where records stand."""

import json

from app.domain.chain import MAX_SEQUENCE, Outcome
from tests.evidence.attack import VALID, Attack, Expected, edit, tampered

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
