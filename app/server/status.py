"""How the store of one organisation stands."""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from app.storage import embeddings, evidence, findings, policies, queue, reindexing, tenancy
from app.storage.engine import Database
from app.storage.findings import SpaceCoverage


@dataclass(frozen=True, slots=True)
class StoreStatus:
    chunks: int
    embedded_chunks: int
    queue_depth: int
    embedding_queue_depth: int
    chain_head_sequence: int
    chain_head_at: datetime | None
    spaces: int
    reindex_queue_depth: int
    coverage: tuple[SpaceCoverage, ...]

    @property
    def chain_head_age(self) -> float | None:
        """Seconds since the last record was chained."""
        if self.chain_head_at is None:
            return None
        return max(0.0, (datetime.now(UTC) - self.chain_head_at).total_seconds())


async def read_status(database: Database, organisation: UUID, model: str | None) -> StoreStatus:
    """`model` None: nothing embeds, so nothing counts as embedded."""
    async with database.snapshot(organisation) as session:
        embedded, chunks = await embeddings.coverage(session, model or "")
        sequence, chained_at = await evidence.head_age(session)
        return StoreStatus(
            chunks=chunks,
            embedded_chunks=embedded,
            queue_depth=await queue.depth(session),
            embedding_queue_depth=await embeddings.depth(session),
            chain_head_sequence=sequence,
            chain_head_at=chained_at,
            spaces=await tenancy.count_spaces(session),
            reindex_queue_depth=await reindexing.depth(session),
            coverage=tuple(await findings.by_space(session, await policies.current(session), model)),
        )
