"""Many retrievals, each made again after many later writes, related and unrelated; then every kind of change, and what
is said of it against today.

python -m tests.resilience.replays --retrievals 1000 --writes 10000 --seed 1
"""

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.domain.principal import Level, Permission, Principal
from app.domain.replay import Drift
from app.identity.level_weights import set_level_weights
from app.providers.embedder.hashing import HashingEmbedder
from app.retrieval.answer import Answer
from app.storage.sources import StoredSource
from tests.evidence.random_history import RandomHistory
from tests.evidence.replaying import replayed, why
from tests.fixtures.own import own_store
from tests.fixtures.store import World, make_world
from tests.memory.conftest import Memories
from tests.schema.conftest import Api, connect


async def campaign(retrievals: int, writes: int, seed: int) -> int:
    """The number of retrievals that drifted at their own clocks, and of changes that were told wrongly."""
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
        wrong = await told_rightly(world, history.memory)
        return drifted + wrong


QUESTION = "where is the tea kept"


async def told_rightly(world: World, memory: Memories) -> int:
    """One change of each kind after a retrieval of its own; the number of those of which something else is said."""
    wrong = 0
    for number, (name, (change, expected, possible)) in enumerate(CHANGES.items()):
        answer, changed = await _asked(world, memory, number)
        await change(changed)
        told = why(await replayed(changed.world, answer, _question(answer, name), now=True))
        kept = why(await replayed(world, answer, _question(answer, name)))
        good = (
            expected in told
            and told <= {expected, *possible}
            and kept <= ({Drift.ERASED, Drift.APPROXIMATE} if name == "erased" else set())
        )
        wrong += not good
        then = f"DRIFTED {', '.join(sorted(kept))}" if kept else "REPRODUCED"
        sys.stdout.write(f"{name}: {', '.join(sorted(told))}; at its own clocks {then}{'' if good else '  WRONG'}\n")
    return wrong


def _question(answer: Answer, name: str) -> str | None:
    """An erasure takes the trace with it."""
    return QUESTION if name == "erased" else None


@dataclass
class Changed:
    """What a change is made to: a document and a source of its own, a person, a subject. `world` is as the deployment
    is after it."""

    world: World
    memory: Memories
    source: StoredSource
    person: Principal
    subject: str
    name: str


async def _asked(world: World, memory: Memories, number: int) -> tuple[Answer, Changed]:
    space = await world.add_space(f"project/kind{number}", Level.SUBPROJECT, "project")
    source = await world.add_source(f"kind{number}", space)
    await world.write(f"tea{number}.md", (TIN.format("red"), None, None), source=source)
    person = await world.add_person(f"person{number}", (space, Permission.SEARCH), (world.root, Permission.READ))
    subject = f"subject{number}"
    await memory.remember(f"tea of {subject} is kept cool", subjectId=subject, spaceKey=f"project/kind{number}")
    await world.settle()
    options = {"by": person, "space_key": f"project/kind{number}", "subject_id": subject}
    # So that a lower score is seen in the answer: what ranks alike is the same answer.
    score = (await world.ask(QUESTION, **options)).passages[0].candidate.score
    answer = await world.ask(QUESTION, **options, min_score=score * 0.95, top_k=1)
    assert len(answer.passages) == len(answer.memories) == 1
    return answer, Changed(world, memory, source, person, subject, f"tea{number}.md")


TIN = "# Tea\n\nTea is kept in the {} tin."


async def _correct(changed: Changed) -> None:
    await changed.world.write(changed.name, (TIN.format("green"), None, None), source=changed.source)


async def _erase(changed: Changed) -> None:
    await changed.memory.forget(changed.subject)


async def _remove(changed: Changed) -> None:
    await _close(changed.world, "sources", "id", changed.source.id)


async def _take_back(changed: Changed) -> None:
    await _close(changed.world, "grants", "principal_id", changed.person.id)


async def _close(world: World, table: str, column: str, id: UUID) -> None:
    async with world.parts.database.write(world.organisation) as write:
        await write.run(
            text(
                f"UPDATE {table} SET system_to = :stamp WHERE organisation_id = :organisation AND {column} = :id "
                "AND system_to IS NULL"
            ),
            {"stamp": write.stamp, "organisation": world.organisation, "id": id},
        )


async def _weigh(changed: Changed) -> None:
    world = changed.world
    defaults = world.parts.retriever.level_weights
    await set_level_weights(world.parts.database, world.principal, defaults, [(Level.SUBPROJECT, 0.37)])


class Otherwise(HashingEmbedder):
    """A model to which nothing is like a question."""

    model = "otherwise"

    async def embed_query(self, text: str) -> Any:
        return -await HashingEmbedder.embed_query(self, text)


async def _other_model(changed: Changed) -> None:
    embedder = Otherwise()
    parts = changed.world.parts
    changed.world = replace(changed.world, parts=replace(parts, retriever=replace(parts.retriever, embedder=embedder)))


#: Kind of change: how it is made, what must be said of it, and what else may.
CHANGES: dict[str, tuple[Callable[[Changed], Awaitable[None]], Drift, set[Drift]]] = {
    "corrected": (_correct, Drift.CONTENT_CORRECTED, {Drift.CONTENT_ADDED}),
    "erased": (_erase, Drift.ERASED, {Drift.APPROXIMATE}),
    "source removed": (_remove, Drift.SOURCE_REMOVED, set()),
    "permission taken back": (_take_back, Drift.PERMISSION_CHANGED, set()),
    "weight changed": (_weigh, Drift.WEIGHTS_CHANGED, set()),
    "model changed": (_other_model, Drift.MODEL_CHANGED, set()),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--retrievals", type=int, default=1000)
    parser.add_argument("--writes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sys.exit(1 if asyncio.run(campaign(given.retrievals, given.writes, given.seed)) else 0)


if __name__ == "__main__":
    main()
