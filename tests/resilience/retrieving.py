"""Many processes retrieve at once in one organisation, each with a sequencer: no gap, no fork, nothing missing.

`python -m tests.resilience.retrieving --processes 8 --retrievals 500` prints the figures, and ends with 1 when a record
is missing, doubled or out of its place.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import perf_counter
from uuid import UUID

from sqlalchemy import text

from app.assembly.installation import Installation
from app.assembly.services import Services, services
from app.assembly.workers import workers
from app.domain.chain import Outcome
from app.domain.principal import Principal
from app.evidence.verification import verify_chain
from app.retrieval.request import make_request
from app.settings import Settings
from tests.evidence.support import chain_of, queue_of
from tests.fixtures.own import own_store_of
from tests.fixtures.server import ROOT
from tests.fixtures.store import make_world

TOPICS = ("refunds", "invoices", "returns", "shipping", "warranty", "complaints", "discounts", "deliveries")
_LAG = text(
    "SELECT extract(epoch FROM appended_at - queued_at)::float8 * 1000 AS lag FROM evidence "
    "WHERE organisation_id = :organisation ORDER BY lag"
)


async def child(settings: Settings, url: str, organisation: UUID, person: UUID, retrievals: int, at_once: int) -> None:
    """One process: it says ready, waits for a line, retrieves, and prints the ids that it was given."""
    principal = Principal(organisation, person, "tester")
    given: list[str] = []
    async with services(settings, Installation(url, None)) as parts, workers(parts):
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        numbers = iter(range(retrievals))

        async def client() -> None:
            for number in numbers:
                request = make_request(principal, query=TOPICS[number % len(TOPICS)], space_key="project")
                answer = await parts.retriever.retrieve(request)
                given.append(str(answer.attribution_id))
                parts.ring()

        started = perf_counter()
        await asyncio.gather(*(client() for _ in range(at_once)))
        seconds = perf_counter() - started
    print(json.dumps({"seconds": seconds, "ids": given}), flush=True)


async def run(processes: int, retrievals: int, at_once: int) -> tuple[list[str], list[str]]:
    """Figures, and what is wrong."""
    async with own_store_of(search_cache_seconds=0) as (parts, installation):
        world = await make_world(parts)
        for topic in TOPICS:
            await world.write(f"{topic}.md", (f"# {topic}\n\nWhat to know of {topic}.\n", None, None))
        await world.settle()
        command = [
            *(sys.executable, "-m", "tests.resilience.retrieving", "--child", str(parts.settings.home)),
            *(installation.url, str(world.organisation), str(world.principal.id)),
            *("--retrievals", str(retrievals), "--at-once", str(at_once)),
        ]
        pipe = subprocess.PIPE
        children = [
            subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT, env=dict(os.environ))
            for _ in range(processes)
        ]
        try:
            for one in children:
                assert await asyncio.to_thread(one.stdout.readline) == "ready\n"  # type: ignore[union-attr]
            started = perf_counter()
            outputs = await asyncio.gather(*(asyncio.to_thread(one.communicate, "go\n") for one in children))
            seconds = perf_counter() - started
        finally:
            for one in children:
                one.kill()
                one.wait()
        ids = [id for output, _ in outputs for id in json.loads(output.splitlines()[-1])["ids"]]
        while await parts.sequencer.turn(world.organisation):
            pass
        return await reckon(parts, world.organisation, ids, processes, seconds)


async def reckon(
    parts: Services, organisation: UUID, ids: list[str], processes: int, seconds: float
) -> tuple[list[str], list[str]]:
    rows = await chain_of(parts.database, organisation)
    async with parts.database.snapshot(organisation) as session:
        lags = [row.lag for row in await session.rows(_LAG, {"organisation": organisation})]
    verdict = await verify_chain(parts.database, parts.keys, parts.heads, organisation)
    wrong = []
    chained = Counter(str(row.id) for row in rows)
    if chained != Counter(ids):
        wrong.append(
            f"records differ from answers: {len(Counter(ids) - chained)} missing, "
            f"{len(chained - Counter(ids))} too many"
        )
    if [row.sequence for row in rows] != list(range(1, len(rows) + 1)):
        wrong.append("the sequence has gaps")
    if len({row.previous_mac for row in rows}) != len(rows):
        wrong.append("two records follow one")
    if await queue_of(parts.database, organisation):
        wrong.append("events were left in the queue")
    if verdict.verdict is not Outcome.VALID:
        wrong.append(f"the chain is {verdict.verdict}: {verdict.reason}")
    return [
        f"{processes} processes, {len(ids)} retrievals in {seconds:.1f} s",
        f"records {len(rows)}: sequence 1 to {rows[-1].sequence}, chain {verdict.verdict}",
        f"lag p50 {lags[len(lags) // 2]:.0f} ms, p99 {lags[int(0.99 * len(lags))]:.0f} ms, longest {lags[-1]:.0f} ms",
    ], wrong


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.resilience.retrieving", description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--retrievals", type=int, default=500, help="of each process")
    parser.add_argument("--at-once", type=int, default=16, help="of each process")
    parser.add_argument("--child", nargs=4, metavar=("HOME", "URL", "ORGANISATION", "PERSON"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.child is not None:
        home, url, organisation, person = given.child
        settings = Settings(home=Path(home), embedder="hash", pool_size=6, search_cache_seconds=0)
        asyncio.run(child(settings, url, UUID(organisation), UUID(person), given.retrievals, given.at_once))
        return 0
    lines, wrong = asyncio.run(run(given.processes, given.retrievals, given.at_once))
    print("\n".join([*lines, *wrong]), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
