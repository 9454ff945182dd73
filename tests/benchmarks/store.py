"""Organisations of twenty spaces, filled through the product's own ingestion, with clustered vectors for embeddings."""

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray

from app.assembly.services import Services
from app.domain.document import DocumentFacts
from app.domain.principal import Level, Permission, Principal, principal_id
from app.domain.temporal import Period, Portion
from app.ingestion.frequencies import refresh_frequencies
from app.ingestion.prepare import Content
from app.ingestion.runner import BATCH
from app.ingestion.sources import Provider, ensure_source
from app.ingestion.store import Wanted, write_batch
from app.providers.embedder.minilm import MiniLM
from app.providers.ids import new_id
from app.providers.parsers.registry import parse
from app.storage import embeddings, tenancy
from app.storage.sources import StoredSource
from tests.benchmarks.texts import Document

SUBJECT = "bench"
#: The space that is asked; with its ancestors it makes the four that are searched.
ASKED = "unit/department/project-0"
SPACES, SEARCHED = 20, 4
CLUSTERS = 200
_ATTACHED = 1000


@dataclass(slots=True)
class Organisation:
    """`sources` hold one source a space; the first four stand in the chain that is searched."""

    id: UUID
    principal: Principal
    sources: list[StoredSource]
    chunks: int = 0
    seconds: float = 0.0
    prepared: list[list[Content]] = field(default_factory=list)


class Vectors:
    """Unit vectors around a few hundred centres, from a fixed seed."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(7)
        self._centres = self._random.standard_normal((CLUSTERS, MiniLM.dimensions)).astype(np.float32)

    def draw(self, number: int) -> NDArray[np.float32]:
        """Shape (number, 384)."""
        near = self._centres[self._random.integers(CLUSTERS, size=number)]
        rows = near + 0.7 * self._random.standard_normal(near.shape, dtype=np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


async def make_organisation(parts: Services) -> Organisation:
    """Root, business unit, department, seventeen projects; the person may do everything."""
    id = uuid4()
    await tenancy.create_organisation(parts.database, id, id.hex, "Benchmark")
    person = principal_id(id, "person", SUBJECT)
    levels = {
        "/": Level.ORGANISATION,
        "unit": Level.BUSINESS_UNIT,
        "unit/department": Level.DEPARTMENT,
        **{f"unit/department/project-{number}": Level.PROJECT for number in range(SPACES - SEARCHED + 1)},
    }
    spaces = []
    async with parts.database.write(id) as session:
        for key, level in levels.items():
            above = key.rpartition("/")[0] or "/"
            parent = None if key == "/" else await tenancy.find_space(session, above)
            spaces.append(new_id())
            await tenancy.create_space(session, id=spaces[-1], parent=parent, key_path=key, level=level, name=key)
        await tenancy.create_principal(session, person, "person", SUBJECT)
        for permission in Permission:
            await tenancy.grant(session, new_id(), person, spaces[0], permission)
    sources = [
        await ensure_source(parts.database, id, space, Provider.FILESYSTEM, name="texts", kind="docs")
        for space in spaces
    ]
    return Organisation(id, Principal(id, person, SUBJECT), sources)


def prepare(parts: Services, documents: Iterator[Document], chunks: int) -> list[Content]:
    """Documents, parsed, cut and analysed, of `chunks` slices or a little more; their names are fresh."""
    found, total = [], 0
    while total < chunks:
        document = next(documents)
        parsed = replace(parse("document.txt", document.text.encode()), title=document.title)
        found.append(parts.preparer.content(document.name, parsed, "english"))
        total += len(found[-1].slices)
    return found


async def write(parts: Services, organisation: Organisation, source: StoredSource, contents: Sequence[Content]) -> None:
    """One version of each document, named by its place in `contents`: a second call supersedes the first."""
    for start in range(0, len(contents), BATCH):
        batch = list(enumerate(contents))[start : start + BATCH]
        wanted = []
        for number, content in batch:
            facts = DocumentFacts(content.sha256, f"document-{number}", content.title, content.mime)
            wanted.append(Wanted(facts.external_id, (Portion(Period(None, None), facts),)))
        written = await write_batch(
            parts.database,
            organisation.id,
            source,
            wanted,
            {(content.sha256, content.title): content for _, content in batch},
            embed=True,
        )
        organisation.chunks += written.chunks


async def fill(parts: Services, organisation: Organisation, documents: Iterator[Document], chunks: int) -> None:
    """About `chunks` in equal parts over the spaces. `seconds` is the time of ingestion: to prepare and to write."""
    started = perf_counter()
    for source in organisation.sources:
        contents = await asyncio.to_thread(prepare, parts, documents, chunks // SPACES)
        await write(parts, organisation, source, contents)
        organisation.prepared.append(contents)
    organisation.seconds = perf_counter() - started


async def copy(parts: Services, original: Organisation) -> Organisation:
    """Another organisation with the same documents."""
    organisation = await make_organisation(parts)
    organisation.prepared = original.prepared
    for source, contents in zip(organisation.sources, original.prepared, strict=True):
        await write(parts, organisation, source, contents)
    return organisation


async def settle(parts: Services, organisation: Organisation, vectors: Vectors) -> None:
    """Embed all that waits with drawn vectors, and count words."""
    while True:
        async with parts.database.unstamped(organisation.id) as session:
            waiting = [item.chunk_id for item in await embeddings.claim(session, _ATTACHED)]
        if not waiting:
            break
        async with parts.database.write(organisation.id) as session:
            await embeddings.attach(session, waiting, vectors.draw(len(waiting)), MiniLM.model)
    for source in organisation.sources:
        await refresh_frequencies(parts.database, organisation.id, source.space_id)


async def supersede(parts: Services, organisation: Organisation, vectors: Vectors, times: int) -> None:
    """Change every document `times` over, then back: nothing but history is added."""
    for turn in range(times):
        for source, contents in zip(organisation.sources, organisation.prepared, strict=True):
            last = turn == times - 1
            await write(parts, organisation, source, contents if last else [_edited(item, turn) for item in contents])
        await settle(parts, organisation, vectors)


def _edited(content: Content, turn: int) -> Content:
    """The same words under another title: every slice is another one for the store."""
    slices = [replace(item, identity=hashlib.sha256(item.identity + bytes([turn])).digest()) for item in content.slices]
    return replace(content, title=f"{content.title} ({turn})", slices=tuple(slices))
