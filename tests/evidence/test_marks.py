"""Parts of a chain, and going on from where the last run ended: never on the word of who can write tables."""

import os
from uuid import uuid4

import pytest

from app.domain.chain import Outcome, Span
from app.domain.errors import MunimentError
from app.evidence.verification import Stretch, verify_chain
from tests.evidence.support import chain_of, enqueue, queue_of
from tests.evidence.test_verification import chain, untie, without

SINCE = Stretch(incremental=True)
VALID = Outcome.VALID


async def told(office, stretch, keys=None, heads=None, organisation=None):
    verdict = await verify_chain(
        office.database,
        keys or office.keys,
        heads or office.heads,
        organisation or office.organisation,
        stretch=stretch,
    )
    return verdict.verdict, verdict.first_bad_sequence, verdict.checked_records


async def edit(owner, organisation, place: int) -> None:
    await untie(
        owner,
        organisation,
        f"UPDATE evidence SET payload = payload || ' ' WHERE organisation_id = $1 AND sequence = {place}",
    )


async def test_a_part_is_checked_alone(office, owner):
    await chain(office, 9)
    assert await told(office, Stretch(4, 6)) == (VALID, None, 3)
    assert await told(office, Stretch(last=1)) == (VALID, None, 1)
    assert await told(office, Stretch(9)) == (VALID, None, 1)
    assert await told(office, Stretch(8, 100)) == (VALID, None, 2)
    with pytest.raises(MunimentError, match="the chain ends at 9"):
        await told(office, Stretch(11))
    await edit(owner, office.organisation, 5)
    for part, expected in (
        (Stretch(1, 4), (VALID, None, 4)),
        (Stretch(6), (VALID, None, 4)),
        (Stretch(5, 5), (Outcome.TAMPERED, 5, 1)),
        (Stretch(2, 8), (Outcome.TAMPERED, 5, 4)),
    ):
        assert await told(office, part) == expected
    await untie(owner, office.organisation, "DELETE FROM evidence WHERE organisation_id = $1 AND sequence > 7")
    assert await told(office, Stretch(6, 7)) == (VALID, None, 2)
    assert await told(office, Stretch(6, 8)) == (Outcome.TRUNCATED, 8, 2)
    assert await told(office, Stretch(6)) == (Outcome.TRUNCATED, 8, 2)
    assert await told(office, Stretch(9)) == (Outcome.TRUNCATED, 8, 0)
    await untie(owner, office.organisation, "DELETE FROM evidence WHERE organisation_id = $1 AND sequence = 6")
    assert await told(office, Stretch(7, 7)) == (Outcome.TAMPERED, 6, 0)
    # None of the runs was over the whole chain, so none of them is gone on from.
    assert await told(office, SINCE) == (Outcome.TAMPERED, 5, 5)


async def test_a_run_goes_on_where_a_valid_one_ended(office, owner):
    assert await told(office, SINCE) == (VALID, None, 0)
    await chain(office, 4)
    assert await told(office, SINCE) == (VALID, None, 4)
    assert await told(office, SINCE) == (VALID, None, 0)
    office.keys.rotate()
    await chain(office, 3)
    assert await told(office, Stretch(1, 7)) == (VALID, None, 7)
    await chain(office, 2)
    assert await told(office, SINCE) == (VALID, None, 2)
    # What it goes on from is trusted; a whole run trusts nothing.
    await edit(owner, office.organisation, 3)
    assert await told(office, SINCE) == (VALID, None, 0)
    assert await told(office, Stretch()) == (Outcome.TAMPERED, 3, 3)
    # What was found bad is chained, and read by the next run.
    assert await office.drain() == 1
    assert await told(office, SINCE) == (VALID, None, 1)


async def test_a_mark_needs_the_key(office, owner):
    await chain(office, 4)
    await edit(owner, office.organisation, 2)
    rows = await chain_of(office.database, office.organisation)
    await owner.execute(
        "INSERT INTO chain_verifications (organisation_id, id, started_at, finished_at, verdict, checked_records, "
        "duration_ms, from_sequence, to_sequence, mark_mac, mark_key_id, mark_seal) "
        "VALUES ($1, $2, now(), now(), 'VALID', 4, 1, 1, 4, $3, $4, $5)",
        office.organisation,
        uuid4(),
        rows[3].mac,
        rows[3].key_id,
        os.urandom(32),
    )
    assert await told(office, SINCE) == (Outcome.TAMPERED, 2, 2)


async def test_another_organisations_mark_is_not_ours(office, owner):
    """Nor is one of another chain of the same length."""
    other = uuid4()
    await chain(office, 4)
    await enqueue(office.database, other, 4)
    await office.sequencer.turn(other)
    assert await told(office, SINCE, organisation=other) == (VALID, None, 4)
    await edit(owner, office.organisation, 2)
    await owner.execute(
        "INSERT INTO chain_verifications (organisation_id, id, started_at, finished_at, verdict, checked_records, "
        "duration_ms, from_sequence, to_sequence, mark_mac, mark_key_id, mark_seal) "
        "SELECT $1, gen_random_uuid(), started_at, finished_at, verdict, checked_records, duration_ms, from_sequence, "
        "to_sequence, mark_mac, mark_key_id, mark_seal FROM chain_verifications WHERE organisation_id = $2",
        office.organisation,
        other,
    )
    assert await told(office, SINCE) == (Outcome.TAMPERED, 2, 2)


async def test_a_mark_that_the_chain_does_not_hold_is_a_missing_end(office, owner):
    """Even where the head file is lost with it."""
    await chain(office, 5)
    assert await told(office, SINCE) == (VALID, None, 5)
    await untie(owner, office.organisation, "DELETE FROM evidence WHERE organisation_id = $1 AND sequence > 2")
    assert await told(office, SINCE) == (Outcome.TRUNCATED, 3, 2)
    office.heads.path(office.organisation).unlink()
    keys, heads = without(office)
    assert await told(office, SINCE, keys, heads) == (Outcome.TRUNCATED, 3, 2)


async def test_a_lost_key_leaves_the_rest_checked(office, owner):
    for _ in range(3):
        await chain(office, 3)
        office.keys.rotate()
    lost = office.keys.ids[1]
    keys, heads = without(office, lost)
    verdict = await verify_chain(office.database, keys, heads, office.organisation)
    assert (verdict.verdict, verdict.first_bad_sequence, verdict.checked_records) == (Outcome.UNVERIFIABLE, 4, 9)
    assert verdict.unverifiable == (Span(4, 6),)
    assert await told(office, Stretch(7), keys, heads) == (VALID, None, 3)
    assert await told(office, Stretch(1, 3), keys, heads) == (VALID, None, 3)
    await edit(owner, office.organisation, 8)
    assert await told(office, Stretch(), keys, heads) == (Outcome.TAMPERED, 8, 8)


async def test_what_was_found_bad_is_chained(office, owner):
    await chain(office, 3)
    assert await told(office, Stretch()) == (VALID, None, 3)
    assert await queue_of(office.database, office.organisation) == []
    await edit(owner, office.organisation, 2)
    await told(office, Stretch())
    (event,) = await queue_of(office.database, office.organisation)
    assert b'"category":"chain_verification"' in event.payload
    assert b'"firstBadSequence":2' in event.payload
    assert b'"verdict":"TAMPERED"' in event.payload
