"""Random writes and random questions over one organisation, from a seed."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

from app.domain.budget import BudgetStrategy
from app.domain.principal import Level
from app.identity.level_weights import set_level_weights
from app.retrieval.answer import Answer
from tests.fixtures.store import World
from tests.memory.conftest import Memories

START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ["refund", "agent", "tier", "region", "rule", "invoice", "café", "部署", "ledger", "tax", "the"]
SUBJECTS = ["ada", "bob"]


@dataclass
class RandomHistory:
    """`answers`: what was asked so far, each to be made again."""

    world: World
    memory: Memories
    random: Random
    answers: list[Answer] = field(default_factory=list)
    remembered: list[str] = field(default_factory=list)

    @classmethod
    async def of(cls, world: World, memory: Memories, seed: int) -> "RandomHistory":
        made = cls(world, memory, Random(seed))
        await world.add_space("project/part", Level.SUBPROJECT, "project")
        await world.add_source("issues", kind="issues")
        await world.add_source("code", kind="codebase")
        await memory.group("team")
        return made

    def text(self, longest: int = 14) -> str:
        return " ".join(self.random.choices(WORDS, k=self.random.randint(2, longest)))

    async def write(self) -> None:
        await self.random.choice(
            [self._document] * 5
            + [self._code] * 2
            + [self._remember] * 3
            + [self._correct, self._retract, self._link, self._weights, self._settle]
        )()

    async def ask(self) -> None:
        """One question, sometimes asked twice, so that the second comes from the cache."""
        random = self.random
        options: dict[str, Any] = {
            "top_k": random.choice([None, 1, 3, 20]),
            "max_per_level": random.choice([None, 1, 10]),
            "max_passages_per_document": random.choice([None, 1, 5]),
            "min_score": random.choice([None, None, 0.01, 0.4]),
            "token_budget": random.choice([4096, 60, 20, None]),
            "budget_strategy": random.choice(list(BudgetStrategy)),
            "mmr_lambda": random.choice([None, None, 0.0, 0.3, 1.0]),
            "max_memories": random.choice([None, 0, 2]),
            "subject_id": random.choice([None, *SUBJECTS]),
            "source_kinds": random.choice([None, None, ["docs"], []]),
            "tags": random.choice([None, None, None, ["x"], ["x", "y"]]),
            "as_of": random.choice([None, None, START + timedelta(days=random.randint(0, 30))]),
            "known_at": random.choice([None, None, *(answer.contract.known_at for answer in self.answers[-3:])]),
            "space_key": random.choice(["project", "project/part", "/"]),
            "include_memories": random.random() < 0.9,
        }
        query = random.choice([self.text(5), self.text(5), f'"{self.text(3)}"', "who calls fee_0", None])
        for _ in range(random.choice([1, 1, 2])):
            self.answers.append(await self.world.ask(query, **options))

    async def _document(self) -> None:
        random, world = self.random, self.world
        name = f"d{random.randint(0, 6)}.md"
        cuts = sorted(random.sample(range(30), random.randint(0, 3)))
        bounds = [None, *(START + timedelta(days=cut) for cut in cuts), None]
        revisions = [
            (f"# {self.text(3)}\n\n{self.text()}\n\n## {self.text(2)}\n\n{self.text()}", start, end)
            for start, end in pairwise(bounds)
            if random.random() < 0.8
        ]
        await world.write(
            name,
            *revisions,
            source=random.choice([world.source, world.sources["issues"]]),
            embed=random.random() < 0.8,
            tags=tuple(random.sample(["x", "y"], random.randint(0, 2))),
        )

    async def _code(self) -> None:
        number = self.random.randint(0, 3)
        body = f"def fee_{number}(tier):\n    '''{self.text(4)}'''\n    return fee_{(number + 1) % 4}(tier)\n"
        test = f"from m{number} import fee_{number}\n\ndef test_fee_{number}():\n    assert fee_{number}(1)\n"
        for name, data in ((f"m{number}.py", body), (f"tests/test_m{number}.py", test)):
            await self.world.write(name, (data, None, None), source=self.world.sources["code"])

    async def _remember(self) -> None:
        subject = self.random.choice([None, *SUBJECTS])
        given = {} if subject is None else {"subjectId": subject}
        made = await self.memory.remember(self.text(8), importance=self.random.random(), **given)
        self.remembered.append(made["id"])

    async def _edit(self, edit: Callable[[str], Awaitable[Any]]) -> None:
        if self.remembered:
            await edit(self.random.choice(self.remembered))

    async def _correct(self) -> None:
        await self._edit(lambda id: self.memory.correct(id, text=self.text(6)))

    async def _retract(self) -> None:
        if self.remembered:
            await self.memory.retract(self.remembered.pop())

    async def _link(self) -> None:
        if self.answers:
            answer = self.random.choice(self.answers)
            await self.memory.link({"attributionId": str(answer.attribution_id)}, self.text(2))

    async def _weights(self) -> None:
        weights = [(level, round(self.random.uniform(0.5, 2), 4)) for level in (Level.PROJECT, Level.ORGANISATION)]
        world = self.world
        await set_level_weights(world.parts.database, world.principal, world.parts.retriever.level_weights, weights)

    async def _settle(self) -> None:
        await self.world.settle()
