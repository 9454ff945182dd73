"""The text leg at size, beside the bare SQL: titles and whole questions, over four and over all twenty spaces.

    python -m tests.benchmarks.text [--chunks N]

Loads N chunks (200,000 by default) of the evaluation data in twenty spaces, as an ingestion would have left their
postings, and prints a line a figure: milliseconds of the product's text leg (analysis of the question, statistics,
search) and of the same by hand on bare tables.
"""

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import UUID

from pgvector import SparseVector

from app.assembly.installation import Installation
from app.assembly.services import Services, services
from app.domain import lexical
from app.domain.document import SliceFacts
from app.providers.ids import new_id
from app.providers.stemmer import analyser
from app.retrieval.authorise import Authorised, authorise
from app.retrieval.request import make_request
from app.retrieval.timing import Stopwatch
from app.retrieval.words import search_words
from app.settings import Settings
from app.storage.engine import Plans
from tests.benchmarks import floor
from tests.benchmarks.measure import HEADER, Row, Work, median
from tests.benchmarks.store import ASKED, SPACES, Organisation, make_organisation, prepare
from tests.benchmarks.texts import documents, mixed_questions, titles
from tests.fixtures.bulk import BORN, count_words

CHUNKS, ASKED_EACH, TURNS = 200_000, 150, 2
#: Distinct chunks that the spaces are filled with, in another order each.
DISTINCT = 24_000
_POSTINGS = ("organisation_id", "chunk_id", "space_id", "source_id", "keys", "terms", "system_from")
_TABLE = """
CREATE SCHEMA IF NOT EXISTS floor;
CREATE TABLE floor.postings (id uuid NOT NULL, keys bigint[] NOT NULL, terms sparsevec NOT NULL);
ALTER TABLE floor.postings SET (toast_tuple_target = 8160);
"""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def distinct(parts: Services) -> list[SliceFacts]:
    return [item for content in prepare(parts, documents(), DISTINCT) for item in content.slices]


async def load(parts: Services, owner_url: str, organisation: Organisation, chunks: int) -> None:
    """The same rows into the product's postings and into bare ones; the indexes are built afterwards."""
    slices = await asyncio.to_thread(distinct, parts)
    terms = [
        SparseVector({lexical.dimension(it) - 1: weight for it, weight in item.lexemes.items()}, lexical.DIMENSIONS)
        for item in slices
    ]
    connection = await floor.connect(owner_url)
    indexes = await connection.fetch("SELECT indexname, indexdef FROM pg_indexes WHERE indexdef LIKE '%gin (keys)%'")
    for index in indexes:
        await connection.execute(f"DROP INDEX {index['indexname']}")
    await connection.execute(_TABLE)
    step = len(slices) // SPACES
    for number, source in enumerate(organisation.sources):
        chosen = [(number * step + place) % len(slices) for place in range(chunks // SPACES)]
        rows = [
            (organisation.id, new_id(), source.space_id, source.id,
             lexical.keys(source.space_id, slices[at].lexemes), terms[at], BORN)
            for at in chosen
        ]  # fmt: skip
        await connection.copy_records_to_table("postings", columns=_POSTINGS, records=rows)
        bare = [(row[1], row[4], row[5]) for row in rows]
        await connection.copy_records_to_table(
            "postings", schema_name="floor", columns=("id", "keys", "terms"), records=bare
        )
        say(f"{(number + 1) * len(rows)} chunks")
    await connection.execute("SET maintenance_work_mem = '512MB'")
    for index in indexes:
        await connection.execute(index["indexdef"])
    await connection.execute("CREATE INDEX ON floor.postings USING gin (keys) WITH (fastupdate = off)")
    await count_words(connection)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()


@dataclass(slots=True)
class Bare:
    """The same leg by hand. Word frequencies are held in memory."""

    connection: Any
    spaces: list[UUID]
    frequencies: Counter[int] = field(default_factory=Counter)
    chunks: int = 0

    async def count(self) -> None:
        rows = await self.connection.fetch(
            "SELECT key, sum(frequency)::int FROM lexeme_frequencies WHERE space_id = ANY($1) GROUP BY key", self.spaces
        )
        self.frequencies.update(dict(rows))
        self.chunks = await self.connection.fetchval(
            "SELECT sum(chunk_count)::int FROM lexical_statistics WHERE space_id = ANY($1)", self.spaces
        )

    async def ask(self, question: str) -> Sequence[Any]:
        return await floor.by_text(self.connection, question, self.spaces, self.frequencies, self.chunks)


async def reaching(parts: Services, organisation: Organisation, spaces: int) -> Authorised:
    """What a person may search who asks in one space (four with its ancestors), or in all of them at once."""
    found: list[Authorised] = []
    projects = SPACES - 3 if spaces == SPACES else 1
    async with parts.database.snapshot(organisation.id) as session:
        for number in range(projects):
            key = ASKED.removesuffix("0") + str(number)
            found.append(await authorise(session, make_request(organisation.principal, query="x", space_key=key)))
    merged = replace(
        found[0],
        spaces={id: space for item in found for id, space in item.spaces.items()},
        sources={id: source for item in found for id, source in item.sources.items()},
    )
    assert len(merged.sources) == spaces
    return merged


async def by_passes(questions: int, *works: Work) -> list[list[float]]:
    """Milliseconds of each work. By turns, all questions once to warm up and once measured: two tables of this size do
    not fit in the database's memory together."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(TURNS):
        for position, work in enumerate(works):
            for number in range(2 * questions):
                started = perf_counter()
                await work(number)
                if number >= questions:
                    times[position].append((perf_counter() - started) * 1000)
    return times


async def measure(parts: Services, owner_url: str, organisation: Organisation) -> list[Row]:
    rows = []
    asked = {"title": titles(ASKED_EACH), "question": mixed_questions(ASKED_EACH)}
    for spaces in (4, SPACES):
        authorised = await reaching(parts, organisation, spaces)
        connection = await floor.connect(owner_url)
        bare = Bare(connection, sorted({item.space_id for item in authorised.sources.values()}))
        await bare.count()
        for kind, texts in asked.items():
            async with parts.database.snapshot(organisation.id, Plans.ONCE) as session:

                async def ours(number: int, texts: list[str] = texts) -> None:
                    found = await search_words(
                        session, authorised, texts[number % len(texts)], analyser, Stopwatch()  # noqa: B023
                    )  # fmt: skip
                    assert found.found

                async def hand(number: int, texts: list[str] = texts) -> None:
                    await bare.ask(texts[number % len(texts)])  # noqa: B023

                times = await by_passes(len(texts), ours, hand)
            rows.append(Row(f"text_{kind}_{spaces}_p50", median(times[0]), "ms", median(times[1])))
            print(rows[-1], flush=True)
        await connection.close()
    return rows


async def run(home: Path, chunks: int) -> list[Row]:
    settings = Settings(home=home, embedder="none")
    installation = await asyncio.to_thread(Installation.open, settings)
    assert installation.embedded is not None
    try:
        async with services(settings, installation) as parts:
            organisation = await make_organisation(parts)
            started = perf_counter()
            await load(parts, installation.embedded.owner_url, organisation, chunks)
            say(f"loaded in {perf_counter() - started:.0f} s")
            print(HEADER, flush=True)
            return await measure(parts, installation.embedded.owner_url, organisation)
    finally:
        await asyncio.to_thread(installation.close)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.text",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder:
        asyncio.run(run(Path(folder) / "home", options.chunks))
    return 0


if __name__ == "__main__":
    sys.exit(main())
