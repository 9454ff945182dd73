"""Retrieval over HTTP, evidence included, beside the same work by hand."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter

from tests.benchmarks.client import Client
from tests.benchmarks.floor import Floor
from tests.benchmarks.measure import Row, in_turns, median, percentile
from tests.benchmarks.store import ASKED

QUERY = """
query Ask($input: RetrieveInput!) {
  retrieve(input: $input) {
    passages {
      text score tokens chunkId documentId sourceId spaceId level provider validFrom validTo systemFrom contentSha256
      citation { index title externalId headingPath url }
      scores { vector text levelWeight }
    }
    exclusions { type stage count reason }
    limitations { code message }
    contract { version requestId validAt knownAt }
    attributionId requestId tokensTotal droppedCount
    searchMeta { vectorMode candidates stageTimings { embedMs textMs vectorMs recordMs totalMs } }
  }
}
"""
ROUNDS, WARM_UP = 200, 40
CLIENTS = 16
SLICES, SLICE_SECONDS = 4, 3.0


def variables(question: str) -> dict[str, object]:
    return {"input": {"query": question, "spaceKey": ASKED}}


async def one_client(client: Client, floor: Floor, questions: Sequence[str]) -> list[Row]:
    """p50 and p95 of a retrieval and of its legs."""
    timings: dict[str, list[float]] = {"text": [], "vector": []}

    async def ours(number: int) -> None:
        answer = json.loads(await client.ask(QUERY, variables(questions[number % len(questions)])))
        stages = answer["data"]["retrieve"]["searchMeta"]["stageTimings"]
        timings["text"].append(stages["textMs"])
        timings["vector"].append(stages["vectorMs"])

    async with floor.connection() as connection:

        async def by_hand(number: int) -> None:
            await floor.retrieve(connection, questions[number % len(questions)])

        retrieval, hand = await in_turns(ROUNDS, WARM_UP, ours, by_hand)
    legs, hand_legs = timings, floor.legs
    return [
        Row("retrieval_p50", median(retrieval), "ms", median(hand)),
        Row("retrieval_p95", percentile(retrieval, 0.95), "ms", percentile(hand, 0.95)),
        Row("text_leg_p50", median(legs["text"][WARM_UP:]), "ms", median(hand_legs["text"][WARM_UP:])),
        Row("vector_leg_p50", median(legs["vector"][WARM_UP:]), "ms", median(hand_legs["vector"][WARM_UP:])),
    ]


async def many_clients(make: Callable[[], Client], floor: Floor, questions: Sequence[str]) -> Row:
    """Answers a second with sixteen clients, in slices of a few seconds by turns."""
    clients = [make() for _ in range(CLIENTS)]
    connections = [floor.connection() for _ in range(CLIENTS)]
    opened = [await connection.__aenter__() for connection in connections]
    try:
        counts = {"ours": 0, "hand": 0}
        for number in range(SLICES + 1):
            done = {
                "ours": await _slice(lambda i, q: clients[i].ask(QUERY, variables(q)), questions),
                "hand": await _slice(lambda i, q: floor.retrieve(opened[i], q), questions),
            }
            if number:  # the first is the warm-up
                counts = {name: counts[name] + done[name] for name in counts}
    finally:
        for connection in connections:
            await connection.__aexit__(None, None, None)
        for client in clients:
            await client.close()
    seconds = SLICES * SLICE_SECONDS
    return Row("retrieval_16_clients", counts["ours"] / seconds, "1/s", counts["hand"] / seconds)


async def _slice(work: Callable[[int, str], Awaitable[object]], questions: Sequence[str]) -> int:
    """Answers finished by all clients before the time is up."""
    deadline = perf_counter() + SLICE_SECONDS

    async def one(client: int) -> int:
        done, number = 0, client * 37
        while True:
            await work(client, questions[number % len(questions)])
            if perf_counter() > deadline:
                return done
            done += 1
            number += 1

    return sum(await asyncio.gather(*(one(client) for client in range(CLIENTS))))


async def growth(name: str, grown: Client, base: Client, questions: Sequence[str]) -> Row:
    """p50 of the same questions in the grown place, the floor being the other one."""

    async def ask(client: Client, number: int) -> None:
        await client.ask(QUERY, variables(questions[number % len(questions)]))

    times = await in_turns(
        ROUNDS // 2, WARM_UP // 2, lambda number: ask(grown, number), lambda number: ask(base, number)
    )
    return Row(name, median(times[0]), "ms", median(times[1]))
