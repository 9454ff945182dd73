"""Kill sequencers with SIGKILL at random moments while events arrive: none is lost, none is chained twice.

`python -m tests.resilience.sequencing --kills 200` prints the figures, and ends with 1 when something was lost. After
each death queue and chain together must hold every event once, in order, and the chain must be VALID.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from uuid import uuid4

from app.domain.chain import Outcome
from app.evidence.sequencer import Sequencer
from app.providers.head_file import HeadFile
from app.providers.keyring import KeyRing
from tests.evidence.conftest import Office
from tests.evidence.nursery import Nursery, assert_nothing_lost
from tests.evidence.support import assert_chained_once, chain_of, enqueue, found, head_of
from tests.fixtures.own import own_store_of

EVENTS = 15
#: Seconds that a sequencer lives.
LIFE = (0.05, 0.5)


async def run(kills: int, seed: int) -> list[str]:
    """The figures; AssertionError when something was lost."""
    chance = random.Random(seed)
    started = perf_counter()
    with tempfile.TemporaryDirectory(prefix="muniment-") as folder:
        home = Path(folder)
        keys = KeyRing.load_or_create(home / "keys" / "evidence.json")
        heads = HeadFile(home / "heads", keys.organisation_key)
        async with own_store_of(embedder="none") as (parts, installation):
            office = Office(parts.database, home, uuid4(), keys, heads, Sequencer(parts.database, keys, heads))
            nursery = Nursery(installation.url, home)
            events, chained = [], [0]
            try:
                for death in range(kills):
                    events += await enqueue(parts.database, office.organisation, EVENTS, f"{death}.")
                    pid = await nursery.begin(office.organisation)
                    await asyncio.sleep(chance.uniform(*LIFE))
                    os.kill(pid, signal.SIGKILL)
                    assert await nursery.end() == -signal.SIGKILL
                    chained.append(await assert_nothing_lost(office, office.organisation, events))
            finally:
                nursery.close()
            idle = sum(after == before for before, after in pairwise(chained))
            await office.drain()
            rows = await chain_of(parts.database, office.organisation)
            assert_chained_once(rows, events)
            assert heads.read(office.organisation) == head_of(rows)
            assert await found(office, office.organisation) == (Outcome.VALID, None)
    return [
        f"killed {kills}, of these {idle} before anything was chained",
        f"events {len(events)}, records {len(rows)}: each once, chain VALID",
        f"{perf_counter() - started:.0f} s",
    ]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.resilience.sequencing", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    given = parser.parse_args(arguments)
    print(f"seed {given.seed}", flush=True)
    try:
        lines = asyncio.run(run(given.kills, given.seed))
    except AssertionError as lost:
        print(f"LOST: {lost}", flush=True)
        return 1
    print("\n".join(lines), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
