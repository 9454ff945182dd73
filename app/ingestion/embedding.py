"""The background worker that gives chunks their embeddings, after their text is already searchable."""

import asyncio
from collections.abc import Callable, Mapping
from uuid import UUID

import structlog

from app.domain.dlp.policy import Policy
from app.domain.dlp.scanning import Redacted, Scanner
from app.domain.document import embedding_text
from app.providers.embedder.base import Embedder
from app.providers.endpoint import EndpointError
from app.providers.redaction.scanner import SCANNER
from app.storage import embeddings, policies
from app.storage.embeddings import Waiting
from app.storage.engine import Database

log = structlog.get_logger()

#: Chunks embedded between two writes.
BATCH = 64


class EmbeddingWorker:
    """Claim, embed with no connection held, attach in one short stamped write. Many may run; none killed loses any."""

    def __init__(self, database: Database, embedder: Embedder, scanner: Scanner = SCANNER) -> None:
        self._database = database
        self._embedder = embedder
        self._scanner = scanner

    async def batch(self, organisation: UUID, source: UUID | None = None) -> int:
        """Embed one batch of an organisation, or of one source; the number of chunks, 0 when none waits."""
        async with self._database.unstamped(organisation) as session:
            policy = await policies.current(session)
            waiting = await embeddings.claim(session, BATCH, source)
            barred = [item.chunk_id for item in waiting if not self._may_be_sent(item, policy)]
            await embeddings.unqueue(session, barred)
        chosen = [item for item in waiting if self._may_be_sent(item, policy)]
        if not chosen:
            return len(waiting)
        # All of them before any: where a scan fails, nothing is sent.
        texts = {item.chunk_id: self._outgoing(item) for item in chosen}
        try:
            await self._attach(organisation, texts)
        except EndpointError as error:
            if not error.refused:
                raise
            await self._one_by_one(organisation, texts)
        return len(waiting)

    async def _attach(self, organisation: UUID, texts: Mapping[UUID, Redacted]) -> None:
        vectors = await self._embedder.embed_documents(list(texts.values()))
        async with self._database.write(organisation) as session:
            await embeddings.attach(session, list(texts), vectors, self._embedder.model)

    async def _one_by_one(self, organisation: UUID, texts: Mapping[UUID, Redacted]) -> None:
        """A text that the endpoint refuses holds up no other: words find it, and a backfill tries again."""
        for chunk, text in texts.items():
            try:
                await self._attach(organisation, {chunk: text})
            except EndpointError as error:
                if not error.refused:
                    raise
                log.warning("a text was refused by the embedding endpoint", chunk=str(chunk))
                async with self._database.unstamped(organisation) as session:
                    await embeddings.unqueue(session, [chunk])

    def _may_be_sent(self, item: Waiting, policy: Policy) -> bool:
        """In this process every class is embedded."""
        where = self._embedder
        return where.in_process or policy.may_be_sent(item.classification, where.locality)

    def _outgoing(self, item: Waiting) -> Redacted:
        text, title = self._scanner.redacted_part(item.part), self._scanner.redacted(item.title)
        return Redacted(embedding_text(title, item.heading_path, text))

    async def depth(self, organisation: UUID, source: UUID | None = None) -> int:
        """Chunks of an organisation, or of one source, that wait."""
        async with self._database.snapshot(organisation) as session:
            return await embeddings.depth(session, source)

    async def drain(
        self, organisation: UUID, done: Callable[[int], None] = lambda count: None, source: UUID | None = None
    ) -> int:
        """Embed all that waits in one organisation, or of one source; `done` is told the chunks of each batch."""
        total = 0
        while count := await self.batch(organisation, source):
            total += count
            done(count)
        return total

    async def run(self, interval: float = 1.0) -> None:
        """For ever: every organisation in turn, one batch at a time."""
        while True:
            try:
                async with self._database.across() as session:
                    waiting = await embeddings.waiting_organisations(session)
                count = sum([await self.batch(organisation) for organisation in waiting])
            except Exception:
                log.exception("embedding.failed")
                count = 0
            if not count:
                await asyncio.sleep(interval)
