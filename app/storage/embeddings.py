"""The embedding queue and the embeddings that it leads to."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from sqlalchemy import text

from app.domain.dlp.finding import unpacked
from app.domain.dlp.scanning import Part
from app.storage.engine import Session, WriteSession
from app.storage.scope import believed_now, tenant, valid

#: How long a claim on the queue holds: many times what a batch takes.
LEASE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A chunk without its embedding."""

    chunk_id: UUID
    title: str
    heading_path: list[str]
    text: str
    classification: str
    findings: list[int] | None
    dlp_tag: str

    @property
    def part(self) -> Part:
        """The text with what was found in it when it was indexed."""
        return Part(self.text, unpacked(self.findings), self.dlp_tag)


# With `:source` NULL, of any.
_OF_SOURCE = (
    f"(CAST(:source AS uuid) IS NULL OR EXISTS (SELECT FROM chunks s WHERE {tenant('s')} "
    "AND s.id = {}.chunk_id AND s.source_id = CAST(:source AS uuid)))"
)
_ORGANISATIONS = text("SELECT DISTINCT organisation_id FROM embedding_queue")
_CLAIM = text(
    f"""
    WITH waiting AS MATERIALIZED (
        SELECT w.chunk_id FROM embedding_queue w
        WHERE {tenant("w")} AND (w.claimed_until IS NULL OR w.claimed_until < now()) AND {_OF_SOURCE.format("w")}
        ORDER BY w.position LIMIT :limit FOR UPDATE SKIP LOCKED
    )
    UPDATE embedding_queue q SET claimed_until = now() + :lease
    WHERE {tenant("q")} AND q.chunk_id = ANY(ARRAY(SELECT chunk_id FROM waiting)) RETURNING q.chunk_id, q.position
    """
)
# From each chunk to its text and its version by their keys: right after a large ingestion no statistics tell that a
# tenant has more than a few rows, and a join in another order would take minutes.
_CLAIMED = text(
    f"""
    SELECT c.id, v.title, c.heading_path, t.text, o.classification, c.findings, c.dlp_tag
    FROM chunks c
    CROSS JOIN LATERAL (SELECT t.text FROM texts t WHERE {tenant("t")} AND t.sha256 = c.text_sha256 OFFSET 0) t
    CROSS JOIN LATERAL (SELECT v.title FROM document_versions v WHERE {believed_now("v")}
        AND v.document_id = c.document_id AND {valid("v", "coalesce(c.valid_from, '-infinity')")} OFFSET 0) v
    CROSS JOIN LATERAL (SELECT o.classification FROM sources o WHERE {believed_now("o")} AND o.id = c.source_id
        OFFSET 0) o
    WHERE {believed_now("c")} AND c.id = ANY(CAST(:ids AS uuid[]))
    """
)
_UNQUEUE = text(f"DELETE FROM embedding_queue q WHERE {tenant('q')} AND q.chunk_id = ANY(CAST(:ids AS uuid[]))")
_DEPTH = text(f"SELECT count(*) FROM embedding_queue q WHERE {tenant('q')} AND {_OF_SOURCE.format('q')}")
_ATTACH = text(
    f"""
    WITH vectors AS (
        SELECT * FROM unnest(CAST(:ids AS uuid[]), CAST(:vectors AS halfvec[])) AS n(id, vector)
    ), done AS (
        DELETE FROM embedding_queue q USING vectors n WHERE {tenant("q")} AND q.chunk_id = n.id RETURNING q.chunk_id
    )
    INSERT INTO embeddings (organisation_id, live, chunk_id, model, space_id, source_id, vector, valid_from, valid_to,
        system_from)
    SELECT c.organisation_id, c.valid_to IS NULL, c.id, :model, c.space_id, c.source_id, n.vector, c.valid_from,
        c.valid_to, :stamp
    FROM vectors n JOIN done ON done.chunk_id = n.id JOIN chunks c ON {believed_now("c")} AND c.id = n.id
        AND c.id = ANY(CAST(:ids AS uuid[]))
    ON CONFLICT DO NOTHING
    """
)
_QUEUE_MISSING = text(
    f"""
    INSERT INTO embedding_queue (organisation_id, chunk_id)
    SELECT c.organisation_id, c.id FROM chunks c JOIN sources o ON {believed_now("o")} AND o.id = c.source_id
        AND NOT o.classification = ANY(CAST(:barred AS text[]))
    WHERE {believed_now("c")} AND (CAST(:source AS uuid) IS NULL OR c.source_id = CAST(:source AS uuid))
    AND (CAST(:providers AS text[]) IS NULL OR o.provider = ANY(CAST(:providers AS text[])))
    AND NOT EXISTS (SELECT FROM embeddings e WHERE {tenant("e")} AND e.live = (c.valid_to IS NULL)
        AND e.chunk_id = c.id AND e.model = :model)
    ORDER BY c.valid_to IS NOT NULL, c.id
    ON CONFLICT DO NOTHING
    """
)
_COVERAGE = text(
    f"SELECT count(*) FILTER (WHERE EXISTS (SELECT FROM embeddings e WHERE {tenant('e')} AND e.live "
    "AND e.chunk_id = c.id AND e.model = :model)) AS embedded, count(*) AS chunks "
    f"FROM chunks c WHERE {believed_now('c')} AND c.valid_to IS NULL"
)


async def waiting_organisations(session: Session) -> list[UUID]:
    """Needs the workers' view."""
    return [row.organisation_id for row in await session.rows(_ORGANISATIONS)]


async def claim(session: Session, limit: int, source: UUID | None = None) -> list[Waiting]:
    """The next chunks to embed, of one source or of any. They are this worker's for a while; if it dies, another takes
    them then."""
    claimed = await session.rows(
        _CLAIM, {"organisation": session.organisation, "limit": limit, "lease": LEASE, "source": source}
    )
    if not claimed:
        return []
    places = {row.chunk_id: row.position for row in claimed}
    found = await session.fetch(_CLAIMED, {"organisation": session.organisation, "ids": list(places)})
    return sorted((Waiting(*row) for row in found), key=lambda item: places[item.chunk_id])


async def attach(session: WriteSession, ids: Sequence[UUID], vectors: NDArray[np.float32], model: str) -> None:
    """Store the embeddings, stamped now, and take their chunks off the queue; one closed meanwhile is passed over."""
    await session.run(
        _ATTACH,
        {
            "organisation": session.organisation,
            "ids": list(ids),
            "vectors": [HalfVector(vector) for vector in vectors],
            "model": model,
            "stamp": session.stamp,
        },
    )


async def unqueue(session: Session, ids: Sequence[UUID]) -> None:
    """They are not to be embedded."""
    if ids:
        await session.run(_UNQUEUE, {"organisation": session.organisation, "ids": list(ids)})


async def depth(session: Session, source: UUID | None = None) -> int:
    return int(await session.value(_DEPTH, {"organisation": session.organisation, "source": source}))


async def queue_missing(
    session: Session,
    model: str,
    barred: Sequence[str],
    source: UUID | None = None,
    providers: Collection[str] | None = None,
) -> int:
    """Queue the chunks without an embedding of the model, of one source or of any, of some providers or (None) of any,
    but for those of barred classes; how many. Those that hold now come first."""
    return await session.run(
        _QUEUE_MISSING,
        {
            "organisation": session.organisation,
            "model": model,
            "barred": list(barred),
            "source": source,
            "providers": None if providers is None else sorted(providers),
        },
    )


async def coverage(session: Session, model: str) -> tuple[int, int]:
    """(live chunks with an embedding of the model, live chunks)."""
    row = await session.row(_COVERAGE, {"organisation": session.organisation, "model": model})
    assert row is not None
    return row.embedded, row.chunks
