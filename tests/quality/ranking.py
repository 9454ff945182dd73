"""Measures the ranking over judged queries, through the product's own ingestion, store and retrieval.

    python -m tests.quality.ranking FOLDER [--out FILE]

Every folder at or below FOLDER that holds `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` is one set. Its documents are
ingested as plain text under their titles into an organisation of its own and embedded with the packaged model. Every
judged query is asked with maxPerLevel 50, one passage a document, topK 10 and no token budget. Prints nDCG@10 of the
default ranking and of each leg alone, and their average over scifact, cranfield and cosqa (over all sets when none of
these is there). FILE gets `{"sets": {name: {"default", "vector", "text"}}, "macro": the average of the default}`.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TypedDict

from app.assembly.installation import Installation
from app.assembly.services import Services, services
from app.domain.document import DocumentFacts
from app.domain.temporal import Period, Portion
from app.ingestion.frequencies import refresh_frequencies
from app.ingestion.prepare import Content
from app.ingestion.reconcile import Cut, cut_of
from app.ingestion.runner import BATCH
from app.ingestion.sources import Provider, ensure_source
from app.ingestion.store import Wanted, write_batch
from app.providers.parsers.registry import parse
from app.providers.stemmer import SIMPLE
from app.retrieval.authorise import authorise
from app.retrieval.pipeline import Retriever
from app.retrieval.request import RetrievalRequest, make_request
from app.settings import Settings
from app.storage import passages, search_vector
from tests.fixtures.store import World, make_world
from tests.quality.metrics import Collection, load, mean, ndcg

FILES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")
#: The sets whose average is the figure to reach.
MACRO = ("scifact", "cranfield", "cosqa")
PLACES = 10
#: Nearest chunks looked at for the first documents of the vector leg: a document may hold several.
NEAREST = 200
SAID_SECONDS = 5.0

#: Snowball languages of the folders named by an ISO 639-1 code; other codes are analysed without stems.
LANGUAGES = {
    **{"ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish"},
    **{"fi": "finnish", "fr": "french", "hi": "hindi", "it": "italian", "nl": "dutch", "no": "norwegian"},
    **{"pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish"},
}


class Figures(TypedDict):
    """nDCG@10 of the default ranking and of each leg alone."""

    default: float
    vector: float
    text: float


class Progress:
    """Says on standard error how far a task is, every few seconds: a terminal and a log both can show it."""

    def __init__(self, task: str, total: int) -> None:
        self._task, self._total, self._done, self._said = task, total, 0, monotonic()

    def __call__(self, count: int) -> None:
        self._done += count
        if self._done >= self._total or monotonic() - self._said >= SAID_SECONDS:
            self._said = monotonic()
            print(f"{self._task}: {self._done} of {self._total}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Set:
    """A collection in the store; documents are named there by their id."""

    name: str
    collection: Collection
    world: World


def find_sets(folder: Path) -> dict[str, Path]:
    """Folders by their path below `folder`, a lone set by its own name."""
    found = sorted(Path(at) for at, _, files in os.walk(folder, followlinks=True) if {*FILES} <= {*files})
    return {place.name if place == folder else place.relative_to(folder).as_posix(): place for place in found}


def language_of(place: Path) -> str:
    """English, unless the folder is named by the code of another language."""
    return LANGUAGES.get(place.name, SIMPLE) if len(place.name) == 2 else "english"


async def ingest(parts: Services, name: str, place: Path) -> Set:
    """Every document of the set, chunked, indexed and embedded, with its words counted."""
    collection = load(place)
    world = await make_world(parts)
    world.source = await ensure_source(
        parts.database,
        world.organisation,
        world.project,
        Provider.FILESYSTEM,
        name=name,
        kind="docs",
        language=language_of(place),
    )
    items = list(collection.documents.items())
    progress = Progress(f"{name}: reading", len(items))
    for start in range(0, len(items), BATCH):
        wanted, contents = await asyncio.to_thread(_prepare, world, items[start : start + BATCH])
        await write_batch(parts.database, world.organisation, world.source, wanted, contents, embed=True)
        progress(len(wanted))
    await refresh_frequencies(parts.database, world.organisation, world.project)
    assert parts.embedding is not None
    progress = Progress(f"{name}: embedding", await parts.embedding.depth(world.organisation))
    await parts.embedding.drain(world.organisation, progress)
    return Set(name, collection, world)


def _prepare(world: World, items: Sequence[tuple[str, tuple[str, str]]]) -> tuple[list[Wanted], dict[Cut, Content]]:
    wanted, contents = [], {}
    for id, (title, text) in items:
        parsed = replace(parse("document.txt", text.encode()), title=title.strip() or None)
        content = world.parts.preparer.content(id, parsed, world.source.language)
        facts = DocumentFacts(content.sha256, id, content.title, content.mime)
        wanted.append(Wanted(id, (Portion(Period(None, None), facts),)))
        contents[cut_of(facts)] = content
    return wanted, contents


async def measure(parts: Services, judged: Set) -> Figures:
    """Asks every judged query three ways."""
    by_text = replace(parts.retriever, embedder=None)
    queries = judged.collection.queries
    progress = Progress(f"{judged.name}: asking", len(queries))
    gains: dict[str, list[float]] = {"default": [], "vector": [], "text": []}
    for id, query in queries.items():
        request = make_request(
            judged.world.principal,
            query=query,
            space_key="project",
            top_k=PLACES,
            max_per_level=50,
            max_passages_per_document=1,
            token_budget=None,
        )
        rankings = {
            "default": await retrieved(parts.retriever, request),
            "vector": await nearest(parts.retriever, request),
            "text": await retrieved(by_text, request),
        }
        for leg, ranking in rankings.items():
            gains[leg].append(ndcg(ranking, judged.collection.judgements[id], PLACES))
        progress(1)
    return Figures(default=mean(gains["default"]), vector=mean(gains["vector"]), text=mean(gains["text"]))


async def retrieved(retriever: Retriever, request: RetrievalRequest) -> list[str]:
    """Documents of an answer, best first."""
    return [item.passage.external_id for item in (await retriever.retrieve(request)).passages]


async def nearest(retriever: Retriever, request: RetrievalRequest) -> list[str]:
    """The first documents of the vector leg, best first."""
    assert retriever.embedder is not None
    assert request.query is not None
    vector = await retriever.embedder.embed_query(request.query)
    async with retriever.database.snapshot(request.principal.organisation) as session:
        authorised = await authorise(session, request)
        hits = await search_vector.search(
            session,
            authorised.scope,
            sources=list(authorised.sources),
            query=vector,
            model=retriever.embedder.model,
            limit=NEAREST,
        )
        found = await passages.passages(session, authorised.scope, [hit.chunk_id for hit in hits])
    return list(dict.fromkeys(found[hit.chunk_id].external_id for hit in hits))[:PLACES]


def averaged(sets: Mapping[str, Figures]) -> list[str]:
    """The sets that the average is taken over."""
    return [name for name in sets if name.rsplit("/", 1)[-1] in MACRO] or list(sets)


def average(sets: Mapping[str, Figures]) -> Figures:
    chosen = [sets[name] for name in averaged(sets)]
    return Figures(
        default=mean([figures["default"] for figures in chosen]),
        vector=mean([figures["vector"] for figures in chosen]),
        text=mean([figures["text"] for figures in chosen]),
    )


def table(sets: Mapping[str, Figures]) -> str:
    """One line a set, and the average."""
    label = f"macro ({', '.join(averaged(sets))})"
    width = max(len(label), *map(len, sets))
    lines = [f"{'nDCG@10':{width}}  default  vector    text"]
    lines += [
        f"{name:{width}}  {figures['default']:7.4f} {figures['vector']:7.4f} {figures['text']:7.4f}"
        for name, figures in [*sets.items(), (label, average(sets))]
    ]
    return "\n".join(lines)


async def run(places: Mapping[str, Path], settings: Settings, installation: Installation) -> dict[str, Figures]:
    """The figures of every set."""
    figures = {}
    async with services(settings, installation) as parts:
        for name, place in places.items():
            figures[name] = await measure(parts, await ingest(parts, name, place))
    return figures


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.quality.ranking",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    places = find_sets(options.folder.resolve())
    if not places:
        print(f"no folder in {options.folder} holds {', '.join(FILES)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="muniment-quality-") as home:
        settings = Settings(home=Path(home), embedder="local", search_backend="exact")
        installation = Installation.open(settings)
        try:
            figures = asyncio.run(run(places, settings, installation))
        finally:
            installation.close()
    print(table(figures))
    if options.out is not None:
        result = {"sets": figures, "macro": average(figures)["default"]}
        options.out.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
