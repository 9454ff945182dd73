"""Checking a chain end to end: what a run leaves behind, lost keys, spoilt head files, the memory that it takes."""

import asyncio
import json
import tracemalloc
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from app.domain.canonical import canonical
from app.domain.chain import EMPTY, Head, Outcome, append
from app.domain.errors import Code
from app.domain.principal import Permission
from app.evidence.tree import catch_up
from app.evidence.verification import verify_chain
from app.providers.head_file import HeadFile
from app.providers.ids import new_id
from app.providers.keyring import KeyRing
from app.storage import evidence
from tests.evidence.support import check, enqueue, found
from tests.schema.conftest import Api, connect, token_of

VALID = (Outcome.VALID, None)
RUNS = text(
    "SELECT verdict, first_bad_sequence, checked_records, requested_by, started_at, finished_at, duration_ms "
    "FROM chain_verifications WHERE organisation_id = :organisation ORDER BY finished_at"
)


async def runs_of(database, organisation):
    async with database.snapshot(organisation) as session:
        return await session.rows(RUNS, {"organisation": organisation})


async def chain(office, count: int) -> None:
    await enqueue(office.database, office.organisation, count)
    await office.drain()


def without(office, *lost: str) -> tuple[KeyRing, HeadFile]:
    """The key ring after keys were lost, and the head files as that ring reads them."""
    path = office.home / "keys" / "evidence.json"
    kept = json.loads(path.read_text())
    kept["keys"] = [key for key in kept["keys"] if key["id"] not in lost]
    kept["current"] = kept["keys"][-1]["id"]
    left = office.home / "left" / f"{uuid4()}.json"
    left.parent.mkdir(mode=0o700, exist_ok=True)
    left.write_text(json.dumps(kept))
    left.chmod(0o600)
    keys = KeyRing.load(left)
    return keys, HeadFile(office.home / "heads", keys.organisation_key)


async def untie(owner, organisation, statement: str) -> None:
    await owner.execute("SET session_replication_role = replica")
    await owner.execute(statement, organisation)


# What a run leaves behind


async def test_each_run_is_recorded(office, owner):
    asker = uuid4()
    before = datetime.now(UTC)
    assert await found(office, office.organisation) == VALID
    await chain(office, 5)
    await verify_chain(office.database, office.keys, office.heads, office.organisation, requested_by=asker)
    await untie(owner, office.organisation, "DELETE FROM evidence WHERE organisation_id = $1 AND sequence = 2")
    assert await found(office, office.organisation) == (Outcome.TAMPERED, 2)
    runs = await runs_of(office.database, office.organisation)
    assert [tuple(run)[:4] for run in runs] == [
        ("VALID", None, 0, None),
        ("VALID", None, 5, asker),
        ("TAMPERED", 2, 2, None),
    ]
    for run in runs:
        assert before <= run.started_at <= run.finished_at
        assert run.duration_ms >= 0


async def test_progress_counts_up_to_the_end(office):
    await chain(office, 7)
    told = []
    verdict = await verify_chain(office.database, office.keys, office.heads, office.organisation, progress=told.append)
    assert told[-1] == verdict.checked_records == 7
    assert told == sorted(told)


async def test_an_empty_chain_is_valid(office):
    verdict = await check(office, office.organisation)
    assert (verdict.verdict, verdict.checked_records) == (Outcome.VALID, 0)


async def test_events_chained_meanwhile_do_not_disturb(office):
    """A check sees one moment: the chain may be longer than the head that was read, never shorter."""
    stop = asyncio.Event()

    async def write() -> None:
        while not stop.is_set():
            await chain(office, 3)

    writer = asyncio.create_task(write())
    try:
        checked = []
        while len(checked) < 15:
            verdict = await check(office, office.organisation)
            assert verdict.verdict is Outcome.VALID
            checked.append(verdict.checked_records)
    finally:
        stop.set()
        await writer
    assert checked == sorted(checked)
    assert checked[-1] > checked[0]


async def test_the_api_verifies_for_auditors_only(world):
    async with connect(world.parts) as http:
        api = Api(world, http)
        await world.ask("anything")
        await world.parts.sequencer.turn(world.organisation)
        query = "{ verifyChain { verdict firstBadSequence checkedRecords reason } }"
        everything = (await api.data(query))["verifyChain"]
        assert (everything["verdict"], everything["firstBadSequence"], everything["checkedRecords"]) == (
            "VALID",
            None,
            1,
        )
        await world.add_person("auditor", (world.root, Permission.AUDIT_READ))
        assert (await api.data(query, token=token_of(world, "auditor")))["verifyChain"]["verdict"] == "VALID"

        others = [permission for permission in Permission if permission is not Permission.AUDIT_READ]
        await world.add_person("other", *((world.root, permission) for permission in others))
        await world.add_person("below", (world.project, Permission.AUDIT_READ))
        await world.add_person("nobody")
        for subject in ("other", "below", "nobody", "unknown"):
            error = await api.error(query, token=token_of(world, subject))
            assert error["extensions"]["code"] == Code.FORBIDDEN
        assert (await api.error(query, token=""))["extensions"]["code"] == Code.UNAUTHENTICATED
    assert len(await runs_of(world.parts.database, world.organisation)) == 2
    assert (await runs_of(world.parts.database, world.organisation))[0].requested_by == world.principal.id


# Keys and heads


async def test_a_lost_key_is_unverifiable_from_its_first_entry(office):
    first = office.keys.current_id
    await chain(office, 2)
    second = office.keys.rotate()
    await chain(office, 3)
    third = office.keys.rotate()
    await chain(office, 2)
    assert await found(office, office.organisation) == VALID
    assert await found(office, office.organisation, *without(office, first)) == (Outcome.UNVERIFIABLE, 1)
    assert await found(office, office.organisation, *without(office, second)) == (Outcome.UNVERIFIABLE, 3)
    assert await found(office, office.organisation, *without(office, first, second)) == (Outcome.UNVERIFIABLE, 1)
    # The head's own key: the entries before it are still told apart.
    assert await found(office, office.organisation, *without(office, third)) == (Outcome.UNVERIFIABLE, 6)
    assert (await check(office, office.organisation, *without(office, third))).checked_records == 7
    assert await found(office, office.organisation) == VALID


async def test_a_missing_key_of_the_head_alone_is_unverifiable(office):
    """Sealed with a key that chained nothing here: the chain can be checked, its end cannot."""
    first = office.keys.current_id
    await chain(office, 3)
    second = office.keys.rotate()
    head = office.heads.read(office.organisation)
    office.heads.path(office.organisation).unlink()
    office.heads.advance(office.organisation, head, second)
    verdict = await check(office, office.organisation, *without(office, second))
    assert (verdict.verdict, verdict.first_bad_sequence, verdict.checked_records) == (Outcome.UNVERIFIABLE, None, 3)
    assert first in office.keys.ids
    assert await found(office, office.organisation) == VALID


async def test_tampering_outranks_a_lost_key(office, owner):
    first = office.keys.current_id
    await chain(office, 3)
    second = office.keys.rotate()
    await chain(office, 3)
    await untie(owner, office.organisation, "DELETE FROM evidence WHERE organisation_id = $1 AND sequence = 5")
    for lost in (first, second):
        assert await found(office, office.organisation, *without(office, lost)) == (Outcome.TAMPERED, 5)


SPOILT = {
    "another sequence": lambda text: text.replace(b'"sequence": 3', b'"sequence": 2'),
    "another mac": lambda text: text.replace(b'"mac": "', b'"mac": "00', 1),
    "another key": lambda text: text.replace(b'"key_id": "k1', b'"key_id": "k2'),
    "cut": lambda text: text[:40],
    "empty": lambda text: b"",
    "no object": lambda text: b"[]",
}


@pytest.mark.parametrize("spoilt", SPOILT)
async def test_a_head_file_that_cannot_be_believed(office, spoilt):
    """Its key missing is UNVERIFIABLE, all else TAMPERED; the reason names no file of ours."""
    await chain(office, 3)
    path = office.heads.path(office.organisation)
    content = SPOILT[spoilt](path.read_bytes())
    assert content != path.read_bytes()
    path.write_bytes(content)
    verdict = await check(office, office.organisation)
    expected = Outcome.UNVERIFIABLE if spoilt == "another key" else Outcome.TAMPERED
    assert (verdict.verdict, verdict.first_bad_sequence, verdict.checked_records) == (expected, None, 3)
    assert str(office.home) not in verdict.reason
    assert str(office.organisation) not in verdict.reason


async def test_a_spoilt_head_file_does_not_hide_where_the_chain_was_edited(office, owner):
    await chain(office, 4)
    office.heads.path(office.organisation).write_bytes(b"{}")
    await untie(
        owner,
        office.organisation,
        "UPDATE evidence SET payload = payload || ' ' WHERE organisation_id = $1 AND sequence = 3",
    )
    assert await found(office, office.organisation) == (Outcome.TAMPERED, 3)


async def test_another_organisations_head_is_not_ours(office):
    other = uuid4()
    await chain(office, 3)
    await enqueue(office.database, other, 3)
    await office.sequencer.turn(other)
    office.heads.path(office.organisation).write_bytes(office.heads.path(other).read_bytes())
    assert await found(office, office.organisation) == (Outcome.TAMPERED, None)


async def test_without_a_recorded_head_the_verdict_says_what_it_cannot_tell(office, owner):
    await chain(office, 3)
    office.heads.path(office.organisation).unlink()
    await untie(owner, office.organisation, "DELETE FROM evidence WHERE organisation_id = $1 AND sequence = 3")
    restarted = HeadFile(office.home / "heads", office.keys.organisation_key)
    # The tree still tells that there was more.
    assert await found(office, office.organisation, heads=restarted) == (Outcome.TRUNCATED, 3)
    await untie(owner, office.organisation, "DELETE FROM merkle_nodes WHERE organisation_id = $1")
    for heads in (restarted, HeadFile(office.home / "elsewhere", office.keys.organisation_key)):
        verdict = await check(office, office.organisation, heads=heads)
        assert (verdict.verdict, verdict.first_bad_sequence, verdict.checked_records) == (Outcome.UNVERIFIABLE, None, 2)
        assert "No head is recorded" in verdict.reason
    # Who saw the head knows better, and an operator may vouch for the chain as it is.
    assert await found(office, office.organisation) == (Outcome.TRUNCATED, 3)
    verdict = await verify_chain(office.database, office.keys, restarted, office.organisation, adopt=True)
    assert verdict.verdict is Outcome.VALID
    assert restarted.read(office.organisation).sequence == 2
    # Who saw the head that is given up, and runs on, is told so by the file itself.
    assert await found(office, office.organisation) == VALID
    await chain(office, 1)
    assert restarted.read(office.organisation).sequence == office.heads.read(office.organisation).sequence > 2
    assert (
        await found(office, office.organisation) == await found(office, office.organisation, heads=restarted) == VALID
    )


# Memory


async def filled(office, count: int) -> UUID:
    """A long chain, without the way through the queue."""
    organisation, key_id, when = uuid4(), office.keys.current_id, datetime.now(UTC)
    key = office.keys.organisation_key(organisation, key_id)
    head = EMPTY
    for start in range(0, count, 2000):
        payloads = [canonical({"number": number, "filler": "x" * 400}) for number in range(start, start + 2000)]
        entries = append(organisation, head, payloads, key, key_id)
        head = Head(entries[-1].sequence, entries[-1].mac)
        async with office.database.unstamped(organisation) as session:
            await evidence.append(session, entries, [new_id() for _ in entries], [when] * len(entries))
    office.heads.advance(organisation, head, key_id)
    return organisation


async def test_memory_does_not_grow_with_the_chain(office, owner):
    """Ten times the entries, the same memory: they come through a cursor, in batches."""

    async def peak(organisation: UUID) -> int:
        tracemalloc.start()
        try:
            assert await found(office, organisation) == VALID
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = await filled(office, 2_000), await filled(office, 20_000)
    await found(office, few)
    least = await peak(few)
    # One batch of rows at the least, so that there is something to compare with; two while one follows the other.
    assert least > 200 * 400
    assert await peak(many) < 3 * least

    # A check that stops early leaves its cursor half read, and the connection as good as new.
    await untie(owner, many, "DELETE FROM evidence WHERE organisation_id = $1 AND sequence = 7")
    for _ in range(3):
        verdict = await check(office, many)
        assert (verdict.verdict, verdict.first_bad_sequence, verdict.checked_records) == (Outcome.TAMPERED, 7, 7)
    assert await found(office, few) == VALID


async def test_nodes_of_a_tree_of_many_blocks_are_compared(office, owner):
    """Nodes are digested in blocks; an edit shows in any of them."""
    organisation = await filled(office, 20_000)
    await catch_up(office.database, organisation)

    async def checked() -> Outcome:
        heads = office.heads
        return (await verify_chain(office.database, office.keys, heads, organisation, signed=[])).verdict

    assert await checked() is Outcome.VALID
    for place in (17_000, 16_383):
        await untie(
            owner,
            organisation,
            "UPDATE merkle_nodes SET hash = sha256(hash) WHERE organisation_id = $1 AND level = 0 "
            f"AND position = {place}",
        )
        assert await checked() is Outcome.TAMPERED
