"""T3 under racing writers: what a retrieval saw is seen again, byte for byte, at the clocks that it recorded.

`python -m tests.resilience.clocks --reads 10000` prints how many comparisons came out equal, and ends with 1 when one
did not.
"""

import argparse
import asyncio
import os
import random
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from app.assembly.services import Services
from app.domain.errors import Code, MunimentError
from app.domain.temporal import ALWAYS, Period
from app.evidence.attribution import link_response
from app.memory.people import create_group, set_membership
from app.memory.reading import list_memories
from app.memory.resolve import Named
from app.memory.revision import Changes
from app.providers.ids import new_id
from app.retrieval.answer import Answer
from tests.fixtures.own import own_store
from tests.fixtures.store import World, make_world

WRITERS, READERS = 6, 4
#: How often each recorded answer is asked for again: while the writers race, and when they are done.
AGAIN = 2
SUBJECTS = ("ann", "ann1", "bob")
WORDS = ("refund", "invoice", "agent", "tier", "region", "café", "部署")


@dataclass
class Outcome:
    """`distinct` are the clock values of the recorded answers; `moved` the writes meanwhile."""

    reads: int = 0
    equal: int = 0
    distinct: set[datetime] = field(default_factory=set)
    moved: int = 0
    rows: int = 0
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        return [
            f"{self.equal} of {self.reads} equal",
            f"{len(self.distinct)} clock values, {self.moved} writes, {self.rows} rows compared",
            *self.problems[:10],
        ]


@dataclass(frozen=True)
class Recorded:
    """A question, what it yielded, and the clocks that the answer names."""

    query: str | None
    subject: str | None
    answer: Answer
    listed: bytes

    @property
    def clocks(self) -> dict[str, datetime]:
        return {"as_of": self.answer.contract.valid_at, "known_at": self.answer.contract.known_at}


def image(answer: Answer) -> bytes:
    """All of what is delivered and left out, every float to its last digit."""
    rows = (*answer.passages, *answer.memories, *answer.group_memories, *answer.exclusions)
    return "\n".join([*(repr(row) for row in rows), str(answer.tokens_total), str(answer.search.candidates)]).encode()


@dataclass
class Race:
    world: World
    chance: random.Random
    outcome: Outcome = field(default_factory=Outcome)
    memories: list[UUID] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    last: Answer | None = None

    async def start(self) -> None:
        for group in ("team", "crew"):
            await create_group(self.world.parts.database, self.world.principal, group, space_key="project")
        for subject in SUBJECTS:
            await self._remember(Named(subject_id=subject, space_key="project"))
        await self._remember(Named(group_key="team"))
        await self._remember(Named(space_key="project"))
        for number in range(8):
            await self._document(number)
        await self.world.settle()

    def sentence(self) -> str:
        return f"{' '.join(self.chance.choices(WORDS, k=4))} {new_id().hex[-6:]}."

    def period(self) -> Period:
        """Starts and ends around now, so that a point of valid time matters too."""
        start, end = (datetime.now(UTC) + timedelta(days=days) for days in (-self.chance.randrange(9), 3))
        return Period(self.chance.choice((start, None)), self.chance.choice((end, None)))

    async def _document(self, number: int) -> None:
        period = self.period()
        half = datetime.now(UTC) - timedelta(days=20)
        await self.world.write(
            f"doc-{number}.md",
            (f"# About {WORDS[number % 7]}\n\n{self.sentence()}\n\n# More\n\n{self.sentence()}", None, half),
            (self.sentence(), half + timedelta(days=1) if period.start is None else period.start, period.end),
        )

    async def _remember(self, named: Named) -> None:
        period = self.period()
        made = await self.world.parts.memory.remember(
            self.world.principal,
            named,
            Changes(text=self.sentence(), importance=self.chance.random()),
            since=period.start,
            until=period.end,
            from_now=False,
        )
        self.memories.append(made.memory_id)

    async def _edit(self) -> None:
        memory, writer, by = str(self.chance.choice(self.memories)), self.world.parts.memory, self.world.principal
        changes = Changes(text=self.sentence() if self.chance.random() < 0.5 else None, importance=self.chance.random())
        edits: list[Callable[[], Awaitable[object]]] = [
            lambda: writer.correct(by, memory, changes),
            lambda: writer.change(by, memory, changes, self.period().start),
            lambda: writer.retract(by, memory, self.period()),
        ]
        try:
            await self.chance.choice(edits)()
        except MunimentError as error:  # it was retracted whole before
            if error.code is not Code.CONFLICT:
                raise

    async def _belong(self) -> None:
        await set_membership(
            self.world.parts.database,
            self.world.principal,
            self.chance.choice(("team", "crew")),
            self.chance.choice(SUBJECTS),
            verified=True,
            period=ALWAYS,
        )

    async def _use(self) -> None:
        if self.last is not None:
            principal, used = self.world.principal, str(self.last.attribution_id)
            await link_response(self.world.parts.database, principal, used, new_id().hex)

    async def write(self) -> None:
        while not self.done.is_set():
            subject, group = self.chance.choice(SUBJECTS), self.chance.choice(("team", "crew"))
            named = self.chance.choice((Named(subject_id=subject), Named(group_key=group), Named(space_key="project")))
            # Memories are bounded: the cost of a reading is not what is tried here.
            remember = [lambda: self._remember(named)] if len(self.memories) < 60 else []  # noqa: B023 (called at once)
            work = [lambda: self._document(self.chance.randrange(8)), self._edit, self._belong, self._use, *remember]
            await self.chance.choice(work)()
            self.outcome.moved += 1
            if self.outcome.moved % 10 == 0:
                await self.world.settle()
            await asyncio.sleep(self.chance.random() * 0.02)

    async def ask(self, query: str | None, subject: str | None, **clocks: datetime) -> Answer:
        return await self.world.ask(
            query, subject_id=subject, top_k=50, max_per_level=50, max_memories=50, token_budget=None, **clocks
        )

    async def listed(self, subject: str | None, answer: Answer) -> bytes:
        """The memories of the subject, by the other way to read them."""
        point = answer.contract.valid_at, answer.contract.known_at
        named = Named(subject_id=subject, space_key="project") if subject is None else Named(subject_id=subject)
        rows = await list_memories(
            self.world.parts.database, self.world.principal, named, point[0], point[1], limit=1000
        )
        # When a belief ended is told as known today: that may be later.
        return "\n".join(repr((row.version_id, row.facts, row.valid_from, row.valid_to)) for row in rows).encode()

    async def read(self, wanted: int) -> list[Recorded]:
        """Record answers, and ask for an earlier one again after each."""
        recorded: list[Recorded] = []
        for _ in range(wanted):
            query = self.chance.choice((None, " ".join(self.chance.sample(WORDS, 2))))
            subject = self.chance.choice((None, *SUBJECTS))
            self.last = answer = await self.ask(query, subject)
            self.outcome.distinct.add(answer.contract.known_at)
            recorded.append(Recorded(query, subject, answer, await self.listed(subject, answer)))
            await self.compare(self.chance.choice(recorded[-20:]))
        return recorded

    async def read_again(self, recorded: Sequence[Recorded]) -> None:
        for item in recorded:
            await self.compare(item)

    async def compare(self, item: Recorded) -> None:
        later = await self.ask(item.query, item.subject, **item.clocks)
        same = image(later) == image(item.answer) and await self.listed(item.subject, later) == item.listed
        clocks = {"as_of": later.contract.valid_at, "known_at": later.contract.known_at}
        self.outcome.reads += 1
        self.outcome.equal += same and clocks == item.clocks
        self.outcome.rows += len(item.answer.passages) + len(item.answer.memories) + len(item.answer.group_memories)
        if not same:
            self.outcome.problems.append(f"{item.query!r} of {item.subject} at {item.clocks}")


async def run(parts: Services, reads: int, seed: int) -> Outcome:
    """`reads` comparisons, rounded up to what the readers share evenly."""
    race = Race(await make_world(parts), random.Random(seed))
    await race.start()
    each = -(-reads // (READERS * AGAIN))
    writers = [asyncio.create_task(race.write()) for _ in range(WRITERS)]
    try:
        recorded = await asyncio.gather(*(race.read(each) for _ in range(READERS)))
    finally:
        race.done.set()
        await asyncio.gather(*writers)
    await asyncio.gather(*(race.read_again(items) for items in recorded))
    return race.outcome


async def _run(reads: int, seed: int) -> Outcome:
    async with own_store(pool_size=12) as parts:
        return await run(parts, reads, seed)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.resilience.clocks", description=__doc__)
    parser.add_argument("--reads", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    options = parser.parse_args(arguments)
    outcome = asyncio.run(_run(options.reads, options.seed))
    print(f"seed {options.seed}", *outcome.lines(), sep="\n")
    return 0 if outcome.equal == outcome.reads else 1


if __name__ == "__main__":
    sys.exit(main())
