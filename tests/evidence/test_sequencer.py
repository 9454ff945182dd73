"""From the queue to the chain: in order, without a gap, once each, whoever and however many do it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

from app.domain.chain import EMPTY, Outcome, append
from app.evidence import sequencer
from app.evidence.sequencer import Sequencer
from app.providers.head_file import HeadFile
from app.providers.private_file import ensure_folder
from app.storage import queue
from tests.evidence.support import (
    assert_chained_once,
    chain_of,
    enqueue,
    found,
    head_of,
    make_event,
    queue_of,
)

VALID = (Outcome.VALID, None)


@asynccontextmanager
async def running(*sequencers: Sequencer) -> AsyncIterator[asyncio.Event]:
    rung = asyncio.Event()
    tasks = [asyncio.create_task(one.run(rung, interval=0.01)) for one in sequencers]
    try:
        yield rung
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(condition: Callable[[], Awaitable[bool]], patience: float = 60.0) -> None:
    async with asyncio.timeout(patience):
        while not await condition():
            await asyncio.sleep(0.02)


async def test_events_are_chained_in_the_order_of_the_queue(office):
    events = await enqueue(office.database, office.organisation, 25)
    assert await queue_of(office.database, office.organisation) == events
    assert await office.sequencer.turn(office.organisation) == 25
    later = await enqueue(office.database, office.organisation, 5)
    assert await office.sequencer.turn(office.organisation) == 5
    assert await office.sequencer.turn(office.organisation) == 0

    rows = await chain_of(office.database, office.organisation)
    assert [(row.id, row.payload) for row in rows] == events + later
    assert [row.sequence for row in rows] == list(range(1, 31))
    assert await queue_of(office.database, office.organisation) == []
    key_id = office.keys.current_id
    key = office.keys.organisation_key(office.organisation, key_id)
    expected = append(office.organisation, EMPTY, [row.payload for row in rows], key, key_id)
    assert [(row.previous_mac, row.mac) for row in rows] == [(entry.previous_mac, entry.mac) for entry in expected]


async def test_a_backlog_of_several_turns(office, monkeypatch):
    monkeypatch.setattr(sequencer, "BATCH", 7)
    events = await enqueue(office.database, office.organisation, 30)
    assert await office.sequencer.turn(office.organisation) == 7
    assert await office.drain() == 23
    assert_chained_once(await chain_of(office.database, office.organisation), events)


async def test_several_in_one_process_while_events_arrive(parts, monkeypatch):
    """Small turns, so that they meet often."""
    monkeypatch.setattr(sequencer, "BATCH", 3)
    organisations = [uuid4() for _ in range(3)]
    events = {organisation: [] for organisation in organisations}
    rivals = [Sequencer(parts.database, parts.keys, parts.heads) for _ in range(4)]

    async def produce(organisation: UUID) -> None:
        for number in range(20):
            events[organisation] += await enqueue(parts.database, organisation, 2, f"{number}.")

    async with running(*rivals) as rung:
        await asyncio.gather(*(produce(organisation) for organisation in organisations for _ in range(2)))
        rung.set()
        for organisation in organisations:
            await until(lambda one=organisation: _empty(parts.database, one))
    for organisation in organisations:
        rows = await chain_of(parts.database, organisation)
        assert_chained_once(rows, events[organisation])
        assert await found(parts, organisation) == VALID


async def _empty(database, organisation) -> bool:
    return not await queue_of(database, organisation)


RIVAL = """
import asyncio, sys
from pathlib import Path
from uuid import UUID
from app.evidence import sequencer
from app.providers.head_file import HeadFile
from app.providers.keyring import KeyRing
from app.storage.engine import Database

async def main(url, home, organisations):
    sequencer.BATCH = 4
    keys = KeyRing.load(Path(home, "keys", "evidence.json"))
    database = Database.connect(url, 2)
    one = sequencer.Sequencer(database, keys, HeadFile(Path(home, "heads"), keys.organisation_key))
    print("ready", flush=True)
    while sys.stdin.readline().strip() == "turn":
        print(sum([await one.turn(organisation) for organisation in organisations]), flush=True)
    await database.close()

asyncio.run(main(sys.argv[1], sys.argv[2], [UUID(name) for name in sys.argv[3:]]))
"""


async def test_several_processes_at_once(office, installation):
    """Three processes go for the same two organisations, turn by turn; one wins each, and nothing is chained twice."""
    organisations = [office.organisation, uuid4()]
    events = {one: await enqueue(office.database, one, 60) for one in organisations}
    command = [sys.executable, "-c", RIVAL, installation.url, str(office.home), *map(str, organisations)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = subprocess.PIPE
    rivals = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1, env=environment) for _ in range(3)
    ]

    def line(rival: subprocess.Popen[str]) -> str:
        return rival.stdout.readline().strip()

    try:
        for rival in rivals:
            assert await asyncio.to_thread(line, rival) == "ready"
        chained = [0, 0, 0]
        async with asyncio.timeout(60):
            while sum(chained) < 120:
                for rival in rivals:
                    rival.stdin.write("turn\n")
                for place, rival in enumerate(rivals):
                    chained[place] += int(await asyncio.to_thread(line, rival))
        for rival in rivals:
            rival.stdin.write("end\n")
            assert rival.wait(30) == 0
    finally:
        for rival in rivals:
            rival.kill()
            rival.communicate()
    assert sum(chained) == 120
    for one in organisations:
        rows = await chain_of(office.database, one)
        assert_chained_once(rows, events[one])
        assert office.heads.read(one) == head_of(rows)


async def test_organisations_never_mix(office):
    other = uuid4()
    ours, theirs = [], []
    for number in range(6):
        ours += await enqueue(office.database, office.organisation, 2, f"ours{number}.")
        theirs += await enqueue(office.database, other, 3, f"theirs{number}.")
        assert await office.sequencer.turn(other) == 3
    assert await queue_of(office.database, office.organisation) == ours
    assert await office.drain() == 12
    assert_chained_once(await chain_of(office.database, office.organisation), ours)
    assert_chained_once(await chain_of(office.database, other), theirs)
    key_id = office.keys.current_id
    assert office.keys.organisation_key(other, key_id) != office.keys.organisation_key(office.organisation, key_id)
    for one in (office.organisation, other):
        assert await found(office, one) == VALID


async def test_the_same_event_id_may_stand_in_two_organisations(office):
    """Uniqueness is an organisation's own: another's ids neither collide nor can be guessed by colliding."""
    other = uuid4()
    (event,) = await enqueue(office.database, office.organisation, 1)
    async with office.database.unstamped(other) as session:
        await queue.enqueue(session, event.id, event.payload)
    assert await office.sequencer.turn(other) == 1
    assert await office.sequencer.turn(office.organisation) == 1


async def test_rotation_in_the_middle(office):
    first = office.keys.current_id
    await enqueue(office.database, office.organisation, 3)
    await office.drain()
    second = office.keys.rotate()
    await enqueue(office.database, office.organisation, 3)
    await office.drain()
    third = office.keys.rotate()
    await enqueue(office.database, office.organisation, 1)
    await office.drain()
    rows = await chain_of(office.database, office.organisation)
    assert [row.key_id for row in rows] == [first] * 3 + [second] * 3 + [third]
    assert await found(office, office.organisation) == VALID


async def test_the_recorded_head_advances_with_each_turn(office):
    assert office.heads.read(office.organisation) is None
    for _ in range(3):
        await enqueue(office.database, office.organisation, 2)
        await office.sequencer.turn(office.organisation)
        rows = await chain_of(office.database, office.organisation)
        assert office.heads.read(office.organisation) == head_of(rows)
    assert head_of(rows).sequence == 6


async def test_a_cut_chain_does_not_heal_itself(office, owner):
    """New events are chained, the recorded head stays where it was, and every later check says TRUNCATED or FORKED."""
    await enqueue(office.database, office.organisation, 6)
    await office.drain()
    recorded = office.heads.read(office.organisation)
    await owner.execute("SET session_replication_role = replica")
    await owner.execute("DELETE FROM evidence WHERE organisation_id = $1 AND sequence > 3", office.organisation)
    assert await found(office, office.organisation) == (Outcome.TRUNCATED, 4)

    # What a check found is itself an event.
    later = [one.id for one in await queue_of(office.database, office.organisation)]
    later += [one.id for one in await enqueue(office.database, office.organisation, 1)]
    assert await office.drain() == 2
    assert [row.id for row in await chain_of(office.database, office.organisation)][3:] == later
    assert office.heads.read(office.organisation) == recorded
    assert await found(office, office.organisation) == (Outcome.TRUNCATED, 6)

    await enqueue(office.database, office.organisation, 4)
    assert await office.drain() == 5
    assert office.heads.read(office.organisation) == recorded
    assert await found(office, office.organisation) == (Outcome.FORKED, 6)


async def test_a_chain_deleted_whole_does_not_begin_anew_unseen(office, owner):
    await enqueue(office.database, office.organisation, 2)
    await office.drain()
    recorded = office.heads.read(office.organisation)
    await owner.execute("SET session_replication_role = replica")
    await owner.execute("DELETE FROM evidence WHERE organisation_id = $1", office.organisation)
    await enqueue(office.database, office.organisation, 5)
    assert await office.drain() == 5
    assert office.heads.read(office.organisation) == recorded
    assert await found(office, office.organisation) == (Outcome.FORKED, 2)


async def test_a_head_that_was_removed_is_not_made_anew(office, owner):
    """The process that saw it puts it back; a later one chains the events, and leaves the head to an operator."""
    await enqueue(office.database, office.organisation, 3)
    await office.drain()
    path = office.heads.path(office.organisation)
    path.unlink()
    await enqueue(office.database, office.organisation, 1)
    await office.drain()
    assert office.heads.read(office.organisation) == head_of(await chain_of(office.database, office.organisation))
    assert path.exists()

    path.unlink()
    restarted = HeadFile(office.home / "heads", office.keys.organisation_key)
    later = Sequencer(office.database, office.keys, restarted)
    await enqueue(office.database, office.organisation, 1)
    assert await later.turn(office.organisation) == 1
    assert not path.exists()
    assert await found(office, office.organisation, heads=restarted) == (Outcome.UNVERIFIABLE, None)

    await owner.execute("SET session_replication_role = replica")
    await owner.execute("DELETE FROM evidence WHERE organisation_id = $1", office.organisation)
    # Its tree would tell what is missing.
    await owner.execute("DELETE FROM merkle_nodes WHERE organisation_id = $1", office.organisation)
    assert await found(office, office.organisation, heads=restarted) == (Outcome.UNVERIFIABLE, None)
    await enqueue(office.database, office.organisation, 1)
    assert await later.turn(office.organisation) == 3
    assert not path.exists()
    # Who saw the head can still tell what is missing.
    assert await found(office, office.organisation) == (Outcome.TRUNCATED, 4)


async def test_a_head_file_that_was_put_back_is_found_out(office):
    await enqueue(office.database, office.organisation, 2)
    await office.drain()
    path = office.heads.path(office.organisation)
    older = path.read_bytes()
    await enqueue(office.database, office.organisation, 2)
    await office.drain()
    head = office.heads.read(office.organisation)
    path.write_bytes(older)
    assert office.heads.read(office.organisation) == head


async def test_a_head_file_that_was_changed_is_not_overwritten(office):
    await enqueue(office.database, office.organisation, 2)
    await office.drain()
    path = office.heads.path(office.organisation)
    changed = path.read_bytes().replace(b'"sequence": 2', b'"sequence": 1')
    path.write_bytes(changed)
    events = await enqueue(office.database, office.organisation, 1)
    assert await office.drain() == 1
    assert (await chain_of(office.database, office.organisation))[2].id == events[0].id
    assert path.read_bytes() == changed
    assert await found(office, office.organisation) == (Outcome.TAMPERED, None)


async def test_one_organisation_in_trouble_holds_up_no_other(office):
    """An event with the id of a chained one cannot be chained. It is told and dropped; everybody goes on."""
    stuck = office.organisation
    (event,) = await enqueue(office.database, stuck, 1)
    assert await office.sequencer.turn(stuck) == 1
    async with office.database.unstamped(stuck) as session:
        await queue.enqueue(session, event.id, make_event(stuck).payload)
    events = {one: await enqueue(office.database, one, 2) for one in [uuid4() for _ in range(8)]}
    async with running(office.sequencer):
        for one in events:
            await until(lambda one=one: _empty(office.database, one))
    for one, expected in events.items():
        assert_chained_once(await chain_of(office.database, one), expected)
        await until(lambda: _empty(office.database, stuck))
    assert [row.payload for row in await chain_of(office.database, stuck)] == [event.payload]
    assert await found(office, stuck) == VALID


async def test_heads_of_a_folder_that_others_may_write_are_refused_and_nothing_is_lost(office):
    """The events are chained; only the head on disk stays, and advances once the folder is right again."""
    folder = office.home / "heads"
    ensure_folder(folder)
    folder.chmod(0o777)
    events = await enqueue(office.database, office.organisation, 2)
    async with running(office.sequencer):
        await until(lambda: _empty(office.database, office.organisation))
    assert not office.heads.path(office.organisation).exists()
    folder.chmod(0o700)
    events += await enqueue(office.database, office.organisation, 1)
    await office.drain()
    rows = await chain_of(office.database, office.organisation)
    assert_chained_once(rows, events)
    assert office.heads.read(office.organisation) == head_of(rows)


async def test_the_bell_is_enough(office):
    """Long before the interval is over."""
    rung = asyncio.Event()
    task = asyncio.create_task(office.sequencer.run(rung, interval=3600))
    try:
        await asyncio.sleep(0)
        events = await enqueue(office.database, office.organisation, 2)
        rung.set()
        await until(lambda: _empty(office.database, office.organisation))
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert_chained_once(await chain_of(office.database, office.organisation), events)


async def test_a_sequencer_without_its_key_chains_nothing(office):
    class Empty:
        current_id = "k9"

        def organisation_key(self, organisation: UUID, key_id: str) -> None:
            return None

    keys = Empty()
    events = await enqueue(office.database, office.organisation, 1)
    keyless = Sequencer(office.database, keys, HeadFile(office.home / "none", keys.organisation_key))
    await keyless.sweep()
    assert await queue_of(office.database, office.organisation) == events
    assert await chain_of(office.database, office.organisation) == []
    await office.drain()
    assert_chained_once(await chain_of(office.database, office.organisation), events)


async def test_where_the_disk_takes_no_first_head_the_first_events_wait(office):
    """Chained without a head, they would look as if somebody had removed it."""
    folder = office.heads.path(office.organisation).parent
    assert not folder.exists()
    folder.write_text("in the way")
    await enqueue(office.database, office.organisation, 3)
    assert await office.sequencer.sweep() == 0
    assert await chain_of(office.database, office.organisation) == []
    folder.unlink()
    assert await office.sequencer.turn(office.organisation) == 3
    assert await found(office, office.organisation) == VALID
