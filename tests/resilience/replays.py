"""Many retrievals, each made again after many later writes.

python -m tests.resilience.replays --retrievals 1000 --writes 10000 --seed 1
"""

import argparse
import asyncio
import sys
from collections import Counter
from time import perf_counter

from app.domain.replay import Drift
from tests.evidence.random_history import RandomHistory
from tests.evidence.replaying import replayed, why
from tests.fixtures.own import own_store
from tests.fixtures.store import make_world
from tests.memory.conftest import Memories
from tests.schema.conftest import Api, connect


async def campaign(retrievals: int, writes: int, seed: int) -> int:
    """The number of retrievals that drifted at their own clocks."""
    async with own_store() as parts, connect(parts) as http:
        world = await make_world(parts)
        history = await RandomHistory.of(world, Memories(Api(world, http)), seed)
        for _ in range(20):
            await history.write()
        written, drifted, compared = 20, 0, 0
        while len(history.answers) < retrievals or written < writes:
            if len(history.answers) < retrievals:
                await history.ask()
            for _ in range(max(1, round(writes / retrievals))):
                await history.write()
                written += 1
        now: Counter[Drift] = Counter()
        started = perf_counter()
        for number, answer in enumerate(history.answers, 1):
            found = await replayed(world, answer)
            drifted += bool(found.reasons)
            compared += found.compared
            now.update(why(await replayed(world, answer, now=True)))
            if number % 100 == 0:
                sys.stdout.write(f"{number} made again, {drifted} drifted\n")
        sys.stdout.write(
            f"{len(history.answers)} retrievals, {written} writes, {compared} candidates compared bit for bit: "
            f"{len(history.answers) - drifted} REPRODUCED, {drifted} DRIFTED "
            f"({(perf_counter() - started) * 500 / len(history.answers):.1f} ms a replay).\n"
            f"Against now: {', '.join(f'{reason.value} {count}' for reason, count in now.most_common())}.\n"
        )
        return drifted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--retrievals", type=int, default=1000)
    parser.add_argument("--writes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sys.exit(1 if asyncio.run(campaign(given.retrievals, given.writes, given.seed)) else 0)


if __name__ == "__main__":
    main()
