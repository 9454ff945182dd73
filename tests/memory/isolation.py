"""Whose memories a retrieval may give, over random layouts of subjects, groups and spaces, against a plain account.

`python -m tests.memory.isolation --layouts 1000` prints the figures, and ends with 1 when one memory strayed or lacked.
"""

import argparse
import asyncio
import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np

from app.assembly.services import Services
from app.domain.dlp.policy import Action, Classification
from app.domain.errors import Code, MunimentError
from app.domain.memory import MemoryFacts, Owner, membership_id
from app.domain.principal import Level, Permission, Principal, principal_id
from app.domain.temporal import ALWAYS, AsOf, Assert, History, Op, Period, Retract, Update
from app.ingestion.policy import set_policy
from app.memory.people import ensure_subject
from app.memory.reading import list_memories
from app.memory.resolve import Named
from app.providers.ids import new_id
from app.storage import memories, subjects, tenancy
from app.storage.engine import WriteSession
from app.storage.memories import VERSIONS, owner_columns
from app.storage.subjects import MEMBERSHIPS, Group
from tests.fixtures.own import own_store
from tests.fixtures.store import World, make_world

TICK = timedelta(microseconds=1)
#: Layouts that share an organisation: the names of one are prefixes and variants of those of the others.
SHARED = 20
STEMS = ("ann", "an", "ann1", "ann12", "a", "anna@example.org", "%", "_", "ＡＮＮ", "ánn", "a\u0301nn", "аnn", "Straße")
SPACES = ("/", "project", "beside", "own", "theirs")
#: Where subjects and groups are at home: mostly together, so that memberships matter.
HOMES = (*SPACES, "project", "project", "/")
WORDS = ("tea", "coffee", "milk", "sugar")


def variants(stem: str) -> list[str]:
    """Names that a careless comparison takes for the stem."""
    return [
        stem,
        stem[:-1] or "x",
        stem + "1",
        stem + " ",
        " " + stem,
        stem.upper(),
        stem.casefold(),
        stem + "%",
        stem + "_",
        stem[:-1] + "_",
        stem + "\u200b",
        stem + "'",
        stem + "\\",
        stem + "/" + stem,
        f"{stem},{stem}",
        stem * 2,
    ]


@dataclass
class Membership:
    group: str
    subject: str
    history: History[bool] = field(default_factory=History)


@dataclass
class Kept:
    """A memory, by whom it is owned in the words of the account: ("subject" | "group" | "space", name)."""

    owner: tuple[str, str]
    space: str
    history: History[str] = field(default_factory=History)


@dataclass
class Tally:
    layouts: int = 0
    questions: int = 0
    delivered: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        given = ", ".join(f"{count} of {kind}s" for kind, count in sorted(self.delivered.items()))
        return [
            f"layouts {self.layouts}, questions {self.questions}",
            f"memories given: {given}",
            f"problems: {len(self.problems)}",
            *self.problems[:20],
        ]


@dataclass
class Village:
    """One organisation, and the plain account of who keeps what where."""

    world: World
    chance: random.Random
    now: datetime
    spaces: dict[str, UUID]
    people: dict[str, Principal]
    searches: dict[str, set[str]]
    sees: dict[str, set[str]]
    subjects: dict[str, str] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    ids: dict[tuple[str, str], UUID] = field(default_factory=dict)
    memberships: dict[tuple[str, str], Membership] = field(default_factory=dict)
    memories: dict[UUID, Kept] = field(default_factory=dict)
    stamps: list[datetime] = field(default_factory=list)

    def moment(self) -> datetime:
        return self.now + timedelta(days=self.chance.choice((-30, -20, -10, -1, 1, 10, 20)))

    def period(self) -> Period:
        start, end = (self.moment() if self.chance.random() < 0.5 else None for _ in range(2))
        if start is not None and end is not None and start >= end:
            return Period(end, None) if start == end else Period(end, start)
        return Period(start, end)

    async def layout(self) -> None:
        """Some subjects, groups, memberships and memories; then some of it corrected, in a second transaction."""
        chance = self.chance
        names = chance.sample(variants(chance.choice(STEMS)), 4)
        keys = [f"{chance.choice(names)}|{chance.randrange(3)}" for _ in range(2)]
        async with self.world.parts.database.write(self.world.organisation) as session:
            for name in names:
                if name not in self.subjects:
                    space = chance.choice(HOMES)
                    self.ids["subject", name] = (await ensure_subject(session, name, self.spaces[space])).id
                    self.subjects[name] = space
            for key in keys:
                if key not in self.groups:
                    # Named like the subjects, so that a mix-up of kinds would show.
                    group = Group(new_id(), key, key, self.spaces[space := chance.choice(HOMES)])
                    await subjects.create_group(session, group)
                    self.groups[key], self.ids["group", key] = space, group.id
            for _ in range(chance.randrange(3, 7)):
                period = self.period() if chance.random() < 0.5 else ALWAYS
                await self._belong(session, chance.choice(keys), chance.choice(names), period)
            owners = [("subject", name) for name in names] + [("group", key) for key in keys]
            for owner in [*chance.sample(owners, 4), ("space", chance.choice(SPACES))]:
                await self._keep(session, owner)
            self.stamps.append(session.stamp)
        async with self.world.parts.database.write(self.world.organisation) as session:
            for membership in chance.sample(list(self.memberships.values())[-6:], min(2, len(self.memberships))):
                changed = Update(self.period(), chance.random() < 0.5)
                op: Op[bool] = chance.choice([Retract(ALWAYS), Retract(self.period()), changed, Update(ALWAYS, True)])
                await self._say(session, membership, op)
            for memory in chance.sample(list(self.memories), 2):
                await self._tell(session, memory, chance.choice([Retract(self.period()), Update(self.period(), "")]))
            self.stamps.append(session.stamp)

    async def _belong(self, session: WriteSession, group: str, subject: str, period: Period) -> None:
        membership = self.memberships.setdefault((group, subject), Membership(group, subject))
        await self._say(session, membership, Assert(period, self.chance.random() < 0.8))

    async def _say(self, session: WriteSession, membership: Membership, op: Op[bool]) -> None:
        group, subject = self.ids["group", membership.group], self.ids["subject", membership.subject]
        owner = {"group_id": group, "subject_id": subject}
        await MEMBERSHIPS.change(session, membership_id(group, subject), op, **owner)
        membership.history.apply(session.stamp, op)

    async def _keep(self, session: WriteSession, owner: tuple[str, str]) -> None:
        kind, name = owner
        space = {"subject": self.subjects, "group": self.groups}.get(kind, {}).get(name, name)
        id = new_id()
        self.memories[id] = Kept(owner, space)
        await memories.create(session, id, self._owner(self.memories[id]))
        await self._tell(session, id, Assert(self.period() if self.chance.random() < 0.5 else ALWAYS, ""))

    async def _tell(self, session: WriteSession, memory: UUID, op: Op[str]) -> None:
        """The text says whose it is, and is found nowhere else."""
        kept = self.memories[memory]
        if isinstance(op, Assert | Update):
            text = f"{self.chance.choice(WORDS)} {kept.owner} {new_id()}"
            stored: Op[MemoryFacts] = type(op)(op.period, MemoryFacts(text=text, tokens=9))
            kept.history.apply(session.stamp, type(op)(op.period, text))
            await self._attach(session, memory, stored)
        else:
            stored = Retract(op.period)
            kept.history.apply(session.stamp, op)
        await VERSIONS.change(session, memory, stored, **owner_columns(self._owner(kept)))

    async def _attach(self, session: WriteSession, memory: UUID, op: Op[MemoryFacts]) -> None:
        embedder = self.world.parts.retriever.embedder
        if embedder is not None and isinstance(op, Assert | Update):
            vector = np.array([self.chance.gauss(0, 1) for _ in range(embedder.dimensions)], dtype=np.float32)
            vector /= np.linalg.norm(vector)
            await memories.attach_embedding(session, memory, op.value.text_sha256, embedder.model, vector)

    def _owner(self, kept: Kept) -> Owner:
        kind, name = kept.owner
        space = self.spaces[kept.space]
        return Owner(
            space,
            subject_id=self.ids["subject", name] if kind == "subject" else None,
            group_id=self.ids["group", name] if kind == "group" else None,
        )

    def _held(self, owner: tuple[str, str], point: AsOf) -> set[str]:
        found = (kept.history.at(point) for kept in self.memories.values() if kept.owner == owner)
        return {portion.value for portion in found if portion is not None}

    def allowed(self, person: str, space: str, subject: str | None, point: AsOf) -> tuple[set[str], set[str]]:
        """The texts that must come, as (memories, group memories)."""
        reach = self.searches[person]
        chain = {"/": {"/"}, "theirs": {"/", "theirs"}, "own": {"/", "own"}}.get(space, {"/", space})
        searched = (chain & reach) | ({"own"} if person == "all" else set())
        own = {text for place in searched for text in self._held(("space", place), point)}
        if subject is None or self.subjects.get(subject) not in reach:
            return own, set()
        today = AsOf(max(self.now, self.stamps[-1]), self.stamps[-1])
        groups = {
            membership.group
            for membership in self.memberships.values()
            if membership.subject == subject
            and self.groups[membership.group] in reach
            and all((said := membership.history.at(moment)) is not None and said.value for moment in (point, today))
        }
        own |= self._held(("subject", subject), point)
        return own, {text for group in groups for text in self._held(("group", group), point)}

    async def question(self, tally: Tally) -> None:
        chance = self.chance
        person = chance.choice(["all", *self.people])
        space = chance.choice(sorted(self.sees[person]))
        known, belonging = list(self.subjects), [subject for _, subject in self.memberships][-6:]
        subject = chance.choice([None, *(chance.choice(names) for names in (variants(known[-1]), known, belonging))])
        as_of = None if chance.random() < 0.4 else self.moment() + chance.choice((-TICK, 0 * TICK))
        asked = chance.choice([chance.choice(self.stamps), *self.stamps[-2:]]) - chance.choice((TICK, 0 * TICK))
        known_at = None if chance.random() < 0.5 else asked
        answer = await self.world.ask(
            chance.choice((None, " ".join(chance.sample(WORDS, 2)))),
            by=self.people[person],
            space_id=str(self.spaces[space]),
            subject_id=subject,
            as_of=as_of,
            known_at=known_at,
            max_memories=50,
            token_budget=None,
        )
        point = AsOf(answer.contract.valid_at, answer.contract.known_at)
        must, must_groups = self.allowed(person, space, subject, point)
        got = {item.text.text for item in answer.memories}
        got_groups = {item.text.text for item in answer.group_memories}
        where = f"{person} in {space} of {subject!r} at {point}"
        for stray in (got - must) | (got_groups - must_groups):
            tally.problems.append(f"strayed: {stray!r} to {where}")
        if answer.search.candidates != len(must) + len(must_groups):
            tally.problems.append(f"{answer.search.candidates} instead of {len(must) + len(must_groups)} for {where}")
        for missing in (must - got if len(must) <= 50 else set()) | (must_groups - got_groups):
            tally.problems.append(f"missing: {missing!r} for {where}")
        tally.questions += 1
        tally.delivered.update(item.text.text.split("'")[1] for item in (*answer.memories, *answer.group_memories))
        if subject is not None and as_of is not None:
            await self._listed(tally, person, subject, point)

    async def _listed(self, tally: Tally, person: str, subject: str, point: AsOf) -> None:
        """The same of `memories(subjectId)`."""
        try:
            rows = await list_memories(
                self.world.parts.database,
                self.people[person],
                Named(subject_id=subject),
                point.valid_at,
                point.system_at,
                limit=1000,
            )
        except MunimentError as error:
            if error.code is not Code.FORBIDDEN or self.subjects.get(subject) not in self.sees[person]:
                tally.problems.append(f"{error.code} for {person} of {subject!r}")
            return
        must = self._held(("subject", subject), point) if self.subjects.get(subject) in self.sees[person] else set()
        if {row.facts.text for row in rows} != must:
            tally.problems.append(f"listed {[row.facts.text for row in rows]} for {person} of {subject!r} at {point}")


async def found_village(parts: Services, chance: random.Random) -> Village:
    """People who may search everything, one space, another; who may read but not search; and who may do nothing."""
    world = await make_world(parts)
    # The text of a memory says whose it is, and some owners are named like an address.
    await set_policy(parts.database, world.principal, [(Classification.INTERNAL, Action.ALLOW)])
    spaces = {"/": world.root, "project": world.project, "beside": await world.add_space("beside", Level.TEAM)}
    people = {
        "all": world.principal,
        "project": await world.add_person("p", (world.project, Permission.SEARCH), (world.project, Permission.READ)),
        "beside": await world.add_person("b", (spaces["beside"], Permission.SEARCH)),
        "reader": await world.add_person("r", (world.project, Permission.READ), (spaces["beside"], Permission.READ)),
    }
    theirs = principal_id(world.organisation, "person", "somebody else")
    async with parts.database.write(world.organisation) as session:
        root = await tenancy.find_space(session, "/")
        for key, person in (("own", world.principal.id), ("theirs", theirs)):
            spaces[key] = new_id()
            await tenancy.create_space(
                session,
                id=spaces[key],
                parent=root,
                key_path=key,
                level=Level.PERSONAL,
                name=key,
                owner_id=person,
            )
    searches = {"all": {"/", "project", "beside", "own"}, "project": {"project"}, "beside": {"beside"}, "reader": set()}
    sees = {**searches, "reader": {"project", "beside"}}
    now = datetime.now(UTC)
    return Village(world, chance, now, spaces, people, searches, sees)


async def run(parts: Services, layouts: int, seed: int, questions: int = 6) -> Tally:
    tally, chance = Tally(), random.Random(seed)
    village = await found_village(parts, chance)
    for number in range(layouts):
        if number and number % SHARED == 0:
            village = await found_village(parts, chance)
        await village.layout()
        tally.layouts += 1
        for _ in range(questions):
            await village.question(tally)
    return tally


async def _run(layouts: int, seed: int) -> Tally:
    async with own_store() as parts:
        return await run(parts, layouts, seed)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.memory.isolation", description=__doc__)
    parser.add_argument("--layouts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    options = parser.parse_args(arguments)
    tally = asyncio.run(_run(options.layouts, options.seed))
    print(f"seed {options.seed}", *tally.lines(), sep="\n")
    return 1 if tally.problems else 0


if __name__ == "__main__":
    sys.exit(main())
