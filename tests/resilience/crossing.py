"""Whether the time of an answer tells that something exists: each operation by each name, many times.

python -m tests.resilience.crossing --rounds 200 --seed 1

`across`: what belongs to another organisation against what nobody has. `within`: what lies in a space that the caller
may not see against the same. The two calls of a round follow each other in an order that is drawn; the differences
within rounds are compared with nothing by Wilcoxon's signed-rank test. A pair is suspected below a level of 1 % divided
by the number of pairs, and then measured anew: only one that is suspected twice tells.
"""

import argparse
import asyncio
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from time import perf_counter

import numpy as np

from app.domain.principal import Level, Permission
from tests.fixtures.inhabited import NAMES, inhabit
from tests.fixtures.own import own_store
from tests.fixtures.store import make_world
from tests.schema.asking import ask
from tests.schema.conftest import Api, connect, token_of
from tests.schema.crossing import Pair, nobodys, pairs

LEVEL = 0.01
#: The name is made where it is not found, so the second call would find it.
MAKERS = {"remember", "ensureSpace"}


@dataclass(frozen=True)
class Timed:
    """Milliseconds of both calls, round by round."""

    theirs: Sequence[float]
    nobodys: Sequence[float]

    @property
    def difference(self) -> float:
        """Median of the differences, in milliseconds."""
        return median(a - b for a, b in zip(self.theirs, self.nobodys, strict=True))

    @property
    def p(self) -> float:
        return signed_rank(np.subtract(self.theirs, self.nobodys))


def signed_rank(differences: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
    """Two-sided p of Wilcoxon's signed-rank test, by its normal approximation with average ranks for ties."""
    found = differences[differences != 0]
    count = len(found)
    if count == 0:
        return 1.0
    sizes = np.abs(found)
    order = np.argsort(sizes)
    ranks = np.empty(count)
    place, ties = 1, 0.0
    for _, group in groupby(order, key=lambda index: sizes[index]):
        same = list(group)
        ranks[same] = place + (len(same) - 1) / 2
        ties += len(same) ** 3 - len(same)
        place += len(same)
    positive = float(ranks[found > 0].sum())
    mean = count * (count + 1) / 4
    deviation = math.sqrt(count * (count + 1) * (2 * count + 1) / 24 - ties / 48)
    return math.erfc(abs(positive - mean) / deviation / math.sqrt(2))


async def timed(api: Api, pair: Pair, token: str, rounds: int, chance: random.Random) -> Timed:
    took: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for theirs in chance.sample([True, False], 2):
            # A fresh name each time: one that was asked for before could be remembered somewhere.
            variables = pair.variables(pair.theirs if theirs else nobodys(pair.theirs))
            started = perf_counter()
            await ask(api, pair.operation, variables, token)
            took[theirs].append((perf_counter() - started) * 1000)
    return Timed(took[True], took[False])


async def compared(title: str, api: Api, found: Sequence[Pair], token: str, rounds: int, chance: random.Random) -> int:
    """The number of pairs that tell."""
    level, telling, differences = LEVEL / len(found), 0, []
    sys.stdout.write(f"{title}: {len(found)} pairs, {rounds} rounds, level {level:.1e}\n")
    for pair in found:
        await timed(api, pair, token, 3, chance)
        first = await timed(api, pair, token, rounds, chance)
        verdict = ""
        if first.p < level:
            again = await timed(api, pair, token, rounds, chance)
            verdict = f"suspected; anew {again.difference:+.3f} ms, p {again.p:.1e}"
            if again.p < level:
                telling += 1
                verdict += ": TELLS"
        differences.append(abs(first.difference) / median(first.nobodys))
        sys.stdout.write(
            f"  {pair.operation.field:20} {pair.name:17} {median(first.theirs):7.2f} {median(first.nobodys):7.2f} ms "
            f"{first.difference:+.3f} p {first.p:.1e} {verdict}\n"
        )
        sys.stdout.flush()
    sys.stdout.write(
        f"{title}: {telling} of {len(found)} tell; median difference {median(differences):.2%} of the time, "
        f"largest {max(differences):.2%}\n"
    )
    return telling


async def campaign(rounds: int, seed: int, only: str | None) -> int:
    chance = random.Random(seed)
    async with own_store() as parts, connect(parts) as http:
        own, other = Api(await make_world(parts), http), Api(await make_world(parts), http)
        names, theirs = await inhabit(own), await inhabit(other)
        found = [
            pair
            for pair in pairs(names, theirs)
            if (pair.operation.field not in MAKERS or pair.name not in NAMES) and only in {None, pair.operation.field}
        ]
        telling = await compared("across", own, found, token_of(own.world), rounds, chance)
        elsewhere = await own.world.add_space("elsewhere", Level.PROJECT)
        await own.world.add_person("stranger", *((elsewhere, permission) for permission in Permission))
        hidden = [pair for pair in pairs(names, names) if pair.name not in NAMES and pair.operation.field not in MAKERS]
        hidden = [pair for pair in hidden if only in {None, pair.operation.field}]
        return telling + await compared("within", own, hidden, token_of(own.world, "stranger"), rounds, chance)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="one field")
    given = parser.parse_args()
    sys.exit(1 if asyncio.run(campaign(given.rounds, given.seed, given.only)) else 0)


if __name__ == "__main__":
    main()
