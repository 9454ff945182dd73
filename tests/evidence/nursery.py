"""Sequencers in processes of their own that can be killed, and what must hold after each death."""

import asyncio
import os
import subprocess
import sys

from app.domain.chain import EMPTY, Outcome
from app.storage import evidence
from tests.evidence.support import assert_chained_once, both_of, found

#: Forks a sequencer for each line of input, "organisation moment": a turn that ends itself at that moment (how many
#: borders between statements it passes before), or a run until it is killed when the moment is negative. Forking
#: leaves the imports done, so a hundred deaths take seconds.
NURSERY = """
import asyncio, os, signal, sys
from pathlib import Path
from uuid import UUID
from sqlalchemy import event
from sqlalchemy.engine import Engine
from app.evidence import sequencer
from app.providers.head_file import HeadFile
from app.providers.keyring import KeyRing
from app.storage.engine import Database

URL, HOME = sys.argv[1], Path(sys.argv[2])

def border(*_):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1

class Heads(HeadFile):
    def advance(self, *arguments):
        border()
        head = super().advance(*arguments)
        border()
        return head

async def main(organisation):
    keys = KeyRing.load(HOME / "keys" / "evidence.json")
    heads = Heads(HOME / "heads", keys.organisation_key)
    one = sequencer.Sequencer(Database.connect(URL, 2), keys, heads)
    if left >= 0:
        await one.turn(organisation)
        return
    sequencer.BATCH = 5
    while True:
        await one.turn(organisation)

for line in sys.stdin:
    name, moment = line.split()
    child = os.fork()
    if child == 0:
        left = int(moment)
        if left >= 0:
            for moment in ("before_cursor_execute", "after_cursor_execute", "commit", "rollback"):
                event.listen(Engine, moment, border)
        asyncio.run(main(UUID(name)))
        os._exit(0)
    print(child, flush=True)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


class Nursery:
    def __init__(self, url, home):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-c", NURSERY, url, str(home)],
            stdin=pipe,
            stdout=pipe,
            text=True,
            bufsize=1,
            env=environment,
        )

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()

    async def number(self) -> int:
        return int(await asyncio.to_thread(self.process.stdout.readline))

    async def begin(self, organisation, moment: int = -1) -> int:
        """The process id of a sequencer at work."""
        self.process.stdin.write(f"{organisation} {moment}\n")
        return await self.number()

    async def end(self) -> int:
        """The exit code of the sequencer begun last, once it has ended."""
        return await self.number()


async def settled(office, organisation) -> None:
    """Until the database has noticed the death: it goes on with what it was told, and holds the lock meanwhile."""
    async with asyncio.timeout(60):
        while True:
            async with office.database.unstamped(organisation) as session:
                if await evidence.try_lock(session):
                    return
            await asyncio.sleep(0.005)


async def assert_nothing_lost(office, organisation, events) -> int:
    """Chain and queue together hold every event once; the number chained so far."""
    await settled(office, organisation)
    rows, waiting = await both_of(office.database, organisation)
    assert_chained_once(rows, events[: len(rows)])
    assert waiting == events[len(rows) :]
    head = office.heads.read(organisation)
    assert head in {None, EMPTY} or rows[head.sequence - 1].mac == head.mac
    assert await found(office, organisation) == (Outcome.VALID, None)
    return len(rows)
