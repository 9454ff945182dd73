"""Indexing a source anew from the texts that are stored: after another policy, or when somebody asks for it.

A few documents at a time: their slices are replaced by slices with another index in one stamped write. So each document
is found either as it was or as it is to be, at every moment; who reads at an earlier `knownAt` finds the index of then.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog

from app.domain import lexical
from app.domain.dlp.finding import packed
from app.domain.dlp.policy import OWN_WORDS, tag
from app.domain.principal import Permission, Principal, parse_id
from app.ingestion.catalogue import permitted_source, source_not_found
from app.ingestion.prepare import Preparer
from app.ingestion.preparing import go_on, in_thread
from app.providers.embedder.base import Embedder
from app.providers.ids import new_id
from app.storage import embeddings, memories, policies, reindexing, sources
from app.storage.engine import Database, Session
from app.storage.reindexing import Anew, Indexed, Task
from app.storage.search_text import term_vector
from app.storage.sources import StoredSource

log = structlog.get_logger()

#: Documents of one write. The clock is held for one step at a time.
STEP = 32
#: Memories that are embedded between two writes.
MEMORIES = 64


@dataclass(frozen=True, slots=True)
class Reindexer:
    """Claim a source, take a step, say how far it came. Many may run; one that is killed only delays."""

    database: Database
    preparer: Preparer
    embedder: Embedder | None

    async def request(self, principal: Principal, id: str) -> UUID:
        """Have every slice of a source indexed anew, in the background. NOT_FOUND when there is no such source for this
        caller, who must be allowed to write in its space."""
        async with self.database.write(principal.organisation) as session:
            source = await permitted_source(session, principal, Permission.WRITE, id)
            await reindexing.enqueue(session, [source.id], whole=True)
        return source.id

    async def backfill(
        self, organisation: UUID, id: str | None = None, providers: Collection[str] | None = None
    ) -> int:
        """Queue what has no embedding of the model, of one source or of all of some providers (None: of any); with all,
        memories that have none are embedded. How many there were. NOT_FOUND for a source that is not among them."""
        wanted = None if id is None else parse_id(id)
        async with self.database.unstamped(organisation) as session:
            if id is not None:
                source = None if wanted is None else await sources.source_by_id(session, wanted)
                if source is None or not (providers is None or source.provider in providers):
                    raise source_not_found("sourceId")
            count = 0 if self.embedder is None else await queue_missing(session, self.embedder, wanted, providers)
        return count if id is not None else count + await self._backfill_memories(organisation)

    async def _backfill_memories(self, organisation: UUID) -> int:
        embedder, total = self.embedder, 0
        if embedder is None:
            return 0
        while True:
            async with self.database.snapshot(organisation) as read:
                policy = await policies.current(read)
                if not embedder.in_process and not policy.may_be_sent(OWN_WORDS.value, embedder.locality):
                    return 0
                bare = await memories.unembedded(read, embedder.model, MEMORIES)
            if not bare:
                return total
            vectors = await embedder.embed_documents([self.preparer.scanner.redacted(item.text) for item in bare])
            async with self.database.write(organisation) as session:
                for item, vector in zip(bare, vectors, strict=True):
                    await memories.attach_embedding(session, item.memory_id, item.text_sha256, embedder.model, vector)
            total += len(bare)

    async def step(self, organisation: UUID, source: UUID | None = None) -> int | None:
        """The slices that were replaced among the next documents; None when no source waits."""
        async with self.database.unstamped(organisation) as session:
            task = await reindexing.claim(session, source)
        if task is None:
            return None
        async with self.database.snapshot(organisation) as read:
            stored = await sources.source_by_id(read, task.source)
            ids = await reindexing.documents(read, task, STEP) if stored else []
        if stored is None or not ids:
            await self._finish(organisation, task)
            return 0
        count = await self._replace(organisation, stored, task, ids)
        async with self.database.unstamped(organisation) as session:
            await reindexing.proceed(session, task, ids[-1])
        return count

    async def drain(
        self, organisation: UUID, source: UUID | None = None, done: Callable[[int], None] = lambda count: None
    ) -> int:
        """Step until nothing waits; the slices that were replaced."""
        total = 0
        while (count := await self.step(organisation, source)) is not None:
            total += count
            done(count)
        return total

    async def run(self, interval: float = 1.0) -> None:
        """For ever: every organisation in turn, one step at a time."""
        while True:
            try:
                async with self.database.across() as session:
                    waiting = await reindexing.waiting_organisations(session)
                steps = [await self.step(organisation) for organisation in waiting]
            except Exception:
                log.exception("reindexing.failed")
                steps = []
            if all(step is None for step in steps):
                await asyncio.sleep(interval)

    async def _replace(self, organisation: UUID, source: StoredSource, task: Task, ids: Sequence[UUID]) -> int:
        while True:
            async with self.database.snapshot(organisation) as read:
                masks = await policies.masks(read, source.id)
                slices = await reindexing.indexed(read, ids, tag(masks), whole=task.whole)
                texts = await reindexing.contents(read, list({item.content_sha256 for item in slices}))
            if not slices:
                return 0
            items = await in_thread(self._anew, source, slices, texts, masks)
            async with self.database.write(organisation) as session:
                if await policies.masks(session, source.id) == masks:
                    return await reindexing.replace(session, items, embed=self.embedder is not None)

    def _anew(
        self, source: StoredSource, slices: Sequence[Indexed], texts: dict[bytes, str], masks: bool
    ) -> list[Anew]:
        found = {sha256: self.preparer.scanner.scan(text) for sha256, text in texts.items()}
        analyser = self.preparer.analyser(source.language)
        items = []
        for item in slices:
            go_on()
            findings = self.preparer.scanner.scan_slice(item.text, found[item.content_sha256], item.start, item.end)
            words = self.preparer.words(item.title, item.heading_path, item.text, findings, masks=masks)
            weights = lexical.document_weights(analyser.lexemes(words))
            items.append(
                Anew(
                    new_id(),
                    item,
                    findings,
                    tag(masks),
                    lexical.keys(source.space_id, weights),
                    term_vector({lexical.dimension(number): weight for number, weight in weights.items()}),
                    same=(packed(findings) or None) == item.findings,
                )
            )
        return items

    async def _finish(self, organisation: UUID, task: Task) -> None:
        """What the policy now lets be embedded, and is not yet, is queued."""
        async with self.database.unstamped(organisation) as session:
            if self.embedder is not None:
                await queue_missing(session, self.embedder, task.source)
            await reindexing.finish(session, task)


async def queue_missing(
    session: Session, embedder: Embedder, source: UUID | None = None, providers: Collection[str] | None = None
) -> int:
    """Queue the slices that have no embedding of the model and may have one: of a source, or of all of some providers
    (None: of any); how many."""
    policy = await policies.current(session)
    barred = [] if embedder.in_process else policy.kept_from(embedder.locality)
    return await embeddings.queue_missing(session, embedder.model, barred, source, providers)
