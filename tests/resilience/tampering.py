"""A superuser edits chains at random; every edit must be found, with the right verdict, at its place.

`python -m tests.resilience.tampering --edits 1000` prints what was found, and ends with 1 when anything was missed.
Edits are made on small chains under three keys, in the database with its triggers off. After each edit the chain is put
back as it was, and must be VALID: as many untouched runs as edits. Edits found VALID are those that touch no record.
"""

import argparse
import asyncio
import logging
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from uuid import UUID, uuid4

import asyncpg
import structlog

from app.evidence.sequencer import Sequencer
from app.providers.head_file import HeadFile
from app.providers.keyring import KeyRing
from tests.evidence import edits_in_place, edits_of_rows, edits_outside
from tests.evidence.attack import EDITS, VALID, Attack, Expected
from tests.evidence.conftest import Office
from tests.evidence.support import Row, chain_of, enqueue, found
from tests.evidence.test_tampering import TABLES
from tests.fixtures.own import own_store_of
from tests.fixtures.owner import connection

MODULES = (edits_in_place, edits_of_rows, edits_outside)
#: Chains that are edited in turn, and the most edits that one sees before there is another.
LENGTHS = (6, 40)
EDITS_A_CHAIN = 25


@dataclass
class Figures:
    """What became of edits and of untouched chains."""

    edits: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    untouched: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def lines(self) -> list[str]:
        told = ", ".join(f"{name} {count}" for name, count in sorted(self.verdicts.items()))
        clean = ", ".join(f"{name} {count}" for name, count in sorted(self.untouched.items()))
        return [
            f"edits {self.edits.total()} of {len(self.edits)} kinds: {told}",
            f"untouched runs {self.untouched.total()}: {clean}",
            f"wrong verdict or place: {len(self.missed)}; {self.seconds:.0f} s",
            *self.missed[:20],
        ]


class Campaign:
    """Chains in one database; the hand that edits them is the superuser's."""

    def __init__(self, office: Office, owner: asyncpg.Connection, seed: int) -> None:
        self._office = office
        self._owner = owner
        self._chance = random.Random(seed)
        self.figures = Figures()

    async def run(self, edits: int) -> Figures:
        started = perf_counter()
        names = [
            name for _ in range(edits // len(EDITS) + 1) for name in self._chance.sample(sorted(EDITS), len(EDITS))
        ]
        await self._owner.execute("SET session_replication_role = replica")
        for start in range(0, edits, EDITS_A_CHAIN):
            await self._chain(names[start : min(start + EDITS_A_CHAIN, edits)])
        self.figures.seconds = perf_counter() - started
        return self.figures

    async def _chain(self, names: list[str]) -> None:
        own, other = [await self._begin(self._chance.randint(*LENGTHS)) for _ in range(2)]
        rows = await chain_of(self._office.database, own)
        for table, columns in TABLES.items():
            await self._owner.execute(f"DROP TABLE IF EXISTS untouched_{table}")
            await self._owner.execute(
                f"CREATE TEMPORARY TABLE untouched_{table} AS SELECT {columns} FROM {table} "
                "WHERE organisation_id = ANY($1)",
                [own, other],
            )
        for name in names:
            await self._one(name, own, other, rows)

    async def _begin(self, length: int) -> UUID:
        """An organisation with a chain of so many records under the three keys of the ring."""
        organisation = uuid4()
        for part, key_id in enumerate(self._office.keys.ids):
            self._office.keys.use(key_id)
            await enqueue(self._office.database, organisation, length // 3 + (part < length % 3))
            await self._office.sequencer.turn(organisation)
        return organisation

    async def _one(self, name: str, own: UUID, other: UUID, rows: list[Row]) -> None:
        office, figures = self._office, self.figures
        kept = {path: path.read_bytes() for path in map(office.heads.path, (own, other))}
        attack = Attack(self._owner, office, own, other, rows, self._chance)
        expected = await EDITS[name](attack)
        told = Expected(*await found(office, own, heads=attack.heads))
        told_of_other = Expected(*await found(office, other))
        for path, content in kept.items():
            path.write_bytes(content)
        async with self._owner.transaction():
            for table, columns in TABLES.items():
                await self._owner.execute(f"DELETE FROM {table} WHERE organisation_id = ANY($1)", [own, other])
                await self._owner.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM untouched_{table}")
        figures.edits[name] += 1
        figures.verdicts[told.outcome.value] += 1
        if (told, told_of_other) != (expected, attack.expected_of_other):
            figures.missed.append(f"{name}: {expected} expected, {told} told; other {told_of_other}")
        clean = Expected(*await found(office, own))
        figures.untouched[clean.outcome.value] += 1
        if clean != VALID:
            figures.missed.append(f"untouched after {name}: {clean} told")


async def run(edits: int, seed: int) -> Figures:
    with tempfile.TemporaryDirectory(prefix="muniment-") as folder:
        async with own_store_of(embedder="none") as (parts, installation):
            assert installation.embedded is not None
            home = Path(folder)
            keys = KeyRing.load_or_create(home / "keys" / "evidence.json")
            keys.rotate()
            keys.rotate()
            heads = HeadFile(home / "heads", keys.organisation_key, durable=False)
            office = Office(parts.database, home, uuid4(), keys, heads, Sequencer(parts.database, keys, heads))
            async with connection(installation.embedded.owner_url) as owner:
                return await Campaign(office, owner, seed).run(edits)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.resilience.tampering", description=__doc__)
    parser.add_argument("--edits", type=int, default=1000, help="edits, and as many untouched runs")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    given = parser.parse_args(arguments)
    # Each edit that is found is logged as an error, as it should be.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    print(f"seed {given.seed}", flush=True)
    figures = asyncio.run(run(given.edits, given.seed))
    print("\n".join(figures.lines()), flush=True)
    return 1 if figures.missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
