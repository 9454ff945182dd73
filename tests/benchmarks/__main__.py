"""Prints what the system does beside its floor: the same work by hand, on the same data, in the same run.

    python -m tests.benchmarks [--chunks N] [--out FILE]

Everything happens in temporary folders: a store with an organisation of N chunks in twenty spaces, of which four are
searched, smaller ones beside it, and real `muniment serve` processes that are asked over HTTP. Prints a line a figure
(name, value, unit, floor, ratio) as it is known; FILE gets the same as JSON.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter

from app.assembly.installation import Installation
from app.assembly.services import Services, services
from app.providers.embedder.minilm import MiniLM
from app.settings import Settings
from tests.benchmarks import evidence, floor, retrieval
from tests.benchmarks.client import Client
from tests.benchmarks.embedding import TEXTS, TURNS, embed_texts
from tests.benchmarks.measure import HEADER, Row
from tests.benchmarks.store import (
    SUBJECT,
    Organisation,
    Vectors,
    copy,
    fill,
    make_organisation,
    settle,
    supersede,
)
from tests.benchmarks.texts import documents, questions
from tests.fixtures.server import LiveServer

CHUNKS, LEAST = 20_000, 2_000
#: How many times smaller the organisations are that growth is measured from, and how much history one of them has.
SMALLER, HISTORY = 10, 10
QUESTIONS = 100
#: The same questions come again and again: what is measured is the search, not the memory of one.
SERVED = {"MUNIMENT_EMBEDDER": "local", "MUNIMENT_SEARCH_CACHE_SECONDS": "0"}

_started = perf_counter()


def say(text: str) -> None:
    print(f"[{perf_counter() - _started:5.0f} s] {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Store:
    """One home with its database, and the parts to fill it with; the server that answers has parts of its own."""

    home: Path
    installation: Installation
    parts: Services

    @property
    def owner_url(self) -> str:
        assert self.installation.embedded is not None
        return self.installation.embedded.owner_url

    def token(self, organisation: Organisation) -> str:
        settings, development = self.parts.settings, self.parts.development
        assert development is not None
        return development.token(
            settings.jwt_issuer, settings.jwt_audience, subject=SUBJECT, organisation=organisation.id
        )

    @asynccontextmanager
    async def server(self) -> AsyncIterator[LiveServer]:
        live = LiveServer(self.home, options=SERVED)
        await asyncio.to_thread(live.start, "--no-demo")
        try:
            yield live
        finally:
            await asyncio.to_thread(live.stop)


@asynccontextmanager
async def open_store(home: Path) -> AsyncIterator[Store]:
    settings = Settings(home=home, embedder="none", rate_limit=0)
    installation = await asyncio.to_thread(Installation.open, settings)
    try:
        async with services(settings, installation) as parts:
            yield Store(home, installation, parts)
    finally:
        await asyncio.to_thread(installation.close)


async def measure(together: Store, alone: Store, chunks: int) -> AsyncIterator[Row]:
    """Every row. `together` holds all organisations, `alone` nothing but the small one."""
    texts, vectors, parts = documents(), Vectors(), together.parts
    say(f"ingesting {chunks} chunks")
    main = await make_organisation(parts)
    await fill(parts, main, texts, chunks)
    await settle(parts, main, vectors)
    embedder = MiniLM()
    bare = await floor.build(together.owner_url, main, embedder)
    yield Row("ingest_chunks", main.chunks / main.seconds, "chunks/s", bare.load_rate)
    say("embedding")
    yield await embed_texts(embedder, [item.text for item in islice(documents(), TEXTS * TURNS)])
    say("chaining and verifying records")
    for row in await evidence.chain(parts, together.owner_url, await make_organisation(parts)):
        yield row
    say(f"ingesting {chunks // SMALLER} chunks twice more, once with {HISTORY} times as much history")
    small = await make_organisation(parts)
    await fill(parts, small, texts, chunks // SMALLER)
    past, lonely = await copy(parts, small), await copy(alone.parts, small)
    for store, organisation in ((together, small), (together, past), (alone, lonely)):
        await settle(store.parts, organisation, vectors)
    await supersede(parts, past, vectors, HISTORY)
    for store in (together, alone):
        await floor.analyse(store.owner_url)
    say("asking")
    asked = questions(QUESTIONS)
    async with together.server() as server, alone.server() as other:
        clients = {
            name: Client(server.port, together.token(it))
            for name, it in (("main", main), ("small", small), ("past", past))
        }
        clients["lonely"] = Client(other.port, alone.token(lonely))
        for row in await retrieval.one_client(clients["main"], bare, asked):
            yield row
        yield await retrieval.many_clients(lambda: Client(server.port, together.token(main)), bare, asked)
        yield await evidence.queue_lag(together.owner_url, main)
        yield await retrieval.growth("tenant_growth", clients["small"], clients["lonely"], asked)
        yield await retrieval.growth("own_growth", clients["main"], clients["small"], asked)
        yield await retrieval.growth("history_growth", clients["past"], clients["small"], asked)
        for client in clients.values():
            await client.close()


async def run(chunks: int) -> list[Row]:
    rows = []
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder:
        async with open_store(Path(folder) / "together") as together, open_store(Path(folder) / "alone") as alone:
            async for row in measure(together, alone, chunks):
                rows.append(row)
                print(row, flush=True)
    say("done")
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, default=CHUNKS, help=f"at least {LEAST}; {CHUNKS} by default")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    if options.chunks < LEAST:
        parser.error(f"--chunks must be at least {LEAST}")
    rows = asyncio.run(run(options.chunks))
    if options.out is not None:
        options.out.write_text(json.dumps([row.as_json() for row in rows], indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
