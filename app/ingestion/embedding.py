"""The background worker that gives chunks their embeddings, after their text is already searchable."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import structlog

from app.domain.document import embedding_text
from app.providers.embedder.base import Embedder
from app.storage import embeddings
from app.storage.engine import Database

log = structlog.get_logger()

#: Chunks embedded between two writes.
BATCH = 64


class EmbeddingWorker:
    """Claim, embed with no connection held, attach in one short stamped write. Many may run; none killed loses any."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder

    async def batch(self, organisation: UUID, source: UUID | None = None) -> int:
        """Embed one batch of an organisation, or of one source; the number of chunks, 0 when none waits."""
        async with self._database.unstamped(organisation) as session:
            waiting = await embeddings.claim(session, BATCH, source)
        if not waiting:
            return 0
        vectors = await self._embedder.embed_documents(
            [embedding_text(item.title, item.heading_path, item.text) for item in waiting]
        )
        async with self._database.write(organisation) as session:
            await embeddings.attach(session, [item.chunk_id for item in waiting], vectors, self._embedder.model)
        return len(waiting)

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
