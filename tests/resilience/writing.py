"""How many versions a second are written: to a single fact, and to 10,000 facts; by one writer, and by eight at once.

`python -m tests.resilience.writing` prints the figures. A version is one stamped transaction of its own: the clock's
lock, the current belief read, the new one computed, the old row closed, the new one inserted, commit.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from uuid import UUID

from app.assembly.services import Services
from app.domain.memory import MemoryFacts, Owner
from app.domain.temporal import ALWAYS, Assert, Portion
from app.memory.revision import Changes
from app.providers.ids import new_id
from app.storage import memories
from app.storage.memories import VERSIONS, owner_columns
from tests.fixtures.own import own_store
from tests.fixtures.store import World, make_world

FACTS = 10_000
WRITERS = (1, 8)


@dataclass(frozen=True)
class Figure:
    label: str
    writers: int
    versions: int
    seconds: float

    def line(self) -> str:
        rate = self.versions / self.seconds
        return f"{self.label:<34} {self.writers} writers  {self.versions:>6} in {self.seconds:5.2f} s  {rate:7.0f}/s"


async def make_facts(world: World, count: int) -> list[UUID]:
    """Memories of the project, written together."""
    facts, owner = [new_id() for _ in range(count)], Owner(world.project)
    async with world.parts.database.write(world.organisation) as session:
        for fact in facts:
            await memories.create(session, fact, owner)
        believed = [(fact, Portion(ALWAYS, MemoryFacts(text="Tea.", tokens=2))) for fact in facts]
        await VERSIONS.insert(session, believed, **owner_columns(owner))
    return facts


async def measure(world: World, label: str, facts: Sequence[UUID], writers: int, seconds: float, case: str) -> Figure:
    """Writers take turns over the facts until the time is over."""
    started, written = perf_counter(), 0
    owner = owner_columns(Owner(world.project))

    async def writer(number: int) -> None:
        nonlocal written
        turn = number
        while perf_counter() - started < seconds:
            fact, importance = facts[turn % len(facts)], turn % 997 / 997
            if case == "store":
                async with world.parts.database.write(world.organisation) as session:
                    said = Assert(ALWAYS, MemoryFacts(text="Tea.", tokens=2, importance=importance))
                    await VERSIONS.change(session, fact, said, **owner)
            else:
                await world.parts.memory.correct(world.principal, str(fact), Changes(importance=importance))
            written += 1
            turn += writers

    await asyncio.gather(*(writer(number) for number in range(writers)))
    return Figure(label, writers, written, perf_counter() - started)


async def check(world: World, facts: Sequence[UUID], expected: int) -> str:
    """Every version is there, and none overlaps another: the constraint of the table saw to that."""
    rows = 0
    async with world.parts.database.snapshot(world.organisation) as session:
        for fact in facts:
            rows += len(await VERSIONS.history(session, fact))
    return f"{rows} versions stored, {expected} expected"


async def run(parts: Services, seconds: float, facts: int) -> bool:
    fine = True
    for label, count, case in (
        ("a single fact, storage alone", 1, "store"),
        (f"{facts} facts, storage alone", facts, "store"),
        ("a single fact, correctMemory", 1, "use"),
        (f"{facts} facts, correctMemory", facts, "use"),
    ):
        world = await make_world(parts)
        made = await make_facts(world, count)
        written = 0
        for writers in WRITERS:
            figure = await measure(world, label, made, writers, seconds, case)
            written += figure.versions
            print(figure.line(), flush=True)
        if count == 1:
            said = await check(world, made, written + 1)
            print(f"  {said}", flush=True)
            fine &= said.startswith(f"{written + 1} ")
    return fine


async def _run(seconds: float, facts: int) -> bool:
    async with own_store(pool_size=12) as parts:
        return await run(parts, seconds, facts)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.resilience.writing", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each of the eight figures")
    parser.add_argument("--facts", type=int, default=FACTS)
    options = parser.parse_args(arguments)
    return 0 if asyncio.run(_run(options.seconds, options.facts)) else 1


if __name__ == "__main__":
    sys.exit(main())
