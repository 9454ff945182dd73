"""Sources that wait to be indexed anew, and the slices that take the place of those indexed before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from pgvector import SparseVector
from sqlalchemy import text

from app.domain.dlp.finding import DETECTORS_VERSION, Findings, packed
from app.storage import chunks
from app.storage.engine import Session, WriteSession
from app.storage.scope import believed_now, tenant, valid

#: How long a claim holds: many times what a step takes.
LEASE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Task:
    """A source to index anew. `position` tells a request from a later one, `after` how far it has come."""

    source: UUID
    position: int
    whole: bool
    after: UUID | None


_FORGET = text(f"DELETE FROM reindex_queue q WHERE {tenant('q')} AND q.source_id = ANY(CAST(:sources AS uuid[]))")
_ENQUEUE = text(
    "INSERT INTO reindex_queue (organisation_id, source_id, whole) "
    "SELECT :organisation, s, :whole FROM unnest(CAST(:sources AS uuid[])) AS s"
)
_ORGANISATIONS = text("SELECT DISTINCT organisation_id FROM reindex_queue")
_CLAIM = text(
    f"""
    UPDATE reindex_queue q SET claimed_until = now() + :lease WHERE {tenant("q")} AND q.source_id = (
        SELECT w.source_id FROM reindex_queue w WHERE {tenant("w")}
        AND (w.claimed_until IS NULL OR w.claimed_until < now())
        AND (CAST(:source AS uuid) IS NULL OR w.source_id = CAST(:source AS uuid))
        ORDER BY w.position LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING q.source_id, q.position, q.whole, q.after
    """
)
_PROGRESS = text(
    f"UPDATE reindex_queue q SET after = CAST(:after AS uuid), claimed_until = NULL WHERE {tenant('q')} "
    "AND q.source_id = CAST(:source AS uuid) AND q.position = :position"
)
_DONE = text(
    f"DELETE FROM reindex_queue q WHERE {tenant('q')} AND q.source_id = CAST(:source AS uuid) "
    "AND q.position = :position"
)
_DEPTH = text(f"SELECT count(*) FROM reindex_queue q WHERE {tenant('q')}")


async def enqueue(session: Session, sources: Sequence[UUID], *, whole: bool) -> None:
    """From the beginning, whatever of it was under way. `whole`: every slice, else those that need it."""
    named = {"organisation": session.organisation, "sources": list(sources)}
    await session.run(_FORGET, named)
    await session.run(_ENQUEUE, {**named, "whole": whole})


async def waiting_organisations(session: Session) -> list[UUID]:
    """Needs the workers' view."""
    return [row.organisation_id for row in await session.rows(_ORGANISATIONS)]


async def claim(session: Session, source: UUID | None = None) -> Task | None:
    """The next source, or this one if it waits. It is this worker's for a while."""
    row = await session.row(_CLAIM, {"organisation": session.organisation, "lease": LEASE, "source": source})
    return None if row is None else Task(*row)


async def proceed(session: Session, task: Task, after: UUID) -> None:
    """Documents up to this one are done; the source is anybody's again."""
    await session.run(_PROGRESS, {**_named(session, task), "after": after})


async def finish(session: Session, task: Task) -> None:
    """The whole source is done, unless it was asked for again meanwhile."""
    await session.run(_DONE, _named(session, task))


async def depth(session: Session) -> int:
    """Sources that wait."""
    return int(await session.value(_DEPTH, {"organisation": session.organisation}))


def _named(session: Session, task: Task) -> dict[str, object]:
    return {"organisation": session.organisation, "source": task.source, "position": task.position}


@dataclass(frozen=True, slots=True)
class Indexed:
    """A slice as it is indexed today."""

    chunk_id: UUID
    document_id: UUID
    content_sha256: bytes
    start: int
    end: int
    heading_path: list[str]
    findings: list[int] | None
    dlp_tag: str
    valid_from: datetime | None
    valid_to: datetime | None
    title: str
    text: str


_DOCUMENTS = text(
    f"SELECT d.id FROM documents d WHERE {tenant('d')} AND d.source_id = CAST(:source AS uuid) "
    "AND (CAST(:after AS uuid) IS NULL OR d.id > CAST(:after AS uuid)) ORDER BY d.id LIMIT :limit"
)
_INDEXED = text(
    f"""
    SELECT c.id, c.document_id, c.content_sha256, c.start_offset, c.end_offset, c.heading_path, c.findings, c.dlp_tag,
        c.valid_from, c.valid_to, v.title, t.text
    FROM chunks c JOIN texts t ON {tenant("t")} AND t.sha256 = c.text_sha256
    JOIN document_versions v ON {believed_now("v")} AND v.document_id = c.document_id
        AND {valid("v", "coalesce(c.valid_from, '-infinity')")}
    WHERE {believed_now("c")} AND c.document_id = ANY(CAST(:documents AS uuid[]))
    AND (:whole OR split_part(c.dlp_tag, '/', 1) <> :detectors OR c.findings IS NOT NULL AND c.dlp_tag <> :tag)
    """
)
_CONTENTS = text(f"SELECT t.sha256, t.text FROM contents t WHERE {tenant('t')} AND t.sha256 = ANY(:contents)")


async def documents(session: Session, task: Task, limit: int) -> list[UUID]:
    """The next documents of a source, by id."""
    rows = await session.rows(
        _DOCUMENTS,
        {"organisation": session.organisation, "source": task.source, "after": task.after, "limit": limit},
    )
    return [row.id for row in rows]


async def indexed(session: Session, ids: Sequence[UUID], tag: str, *, whole: bool) -> list[Indexed]:
    """The slices of some documents, in all of valid time; unless `whole`, those whose index is not as the tag says."""
    rows = await session.rows(
        _INDEXED,
        {
            "organisation": session.organisation,
            "documents": list(ids),
            "whole": whole,
            "detectors": str(DETECTORS_VERSION),
            "tag": tag,
        },
    )
    return [Indexed(*row) for row in rows]


async def contents(session: Session, sha256: Sequence[bytes]) -> dict[bytes, str]:
    """Original texts by their hash."""
    rows = await session.rows(_CONTENTS, {"organisation": session.organisation, "contents": list(sha256)})
    return {row.sha256: row.text for row in rows}


@dataclass(frozen=True, slots=True)
class Anew:
    """What a slice is indexed by from now on. `same`: what is embedded of it is what it was."""

    id: UUID
    before: Indexed
    findings: Findings
    dlp_tag: str
    keys: list[int]
    terms: SparseVector
    same: bool


_STILL = text(f"SELECT c.id FROM chunks c WHERE {believed_now('c')} AND c.id = ANY(CAST(:ids AS uuid[])) ORDER BY c.id")
_CHUNK = text(
    f"""
    INSERT INTO chunks (organisation_id, id, document_id, source_id, space_id, identity, text_sha256, content_sha256,
        ordinal, start_offset, end_offset, heading_path, page, sheet, table_name, row_start, row_end, index_version,
        dlp_tag, findings, valid_from, valid_to, system_from)
    SELECT c.organisation_id, :id, c.document_id, c.source_id, c.space_id, c.identity, c.text_sha256, c.content_sha256,
        c.ordinal, c.start_offset, c.end_offset, c.heading_path, c.page, c.sheet, c.table_name, c.row_start, c.row_end,
        c.index_version, :dlp_tag, CAST(:findings AS int[]), c.valid_from, c.valid_to, :stamp
    FROM chunks c WHERE {tenant("c")} AND c.id = :before
    """
)
_POSTING = text(
    f"""
    INSERT INTO postings (organisation_id, chunk_id, space_id, source_id, keys, terms, valid_from, valid_to,
        system_from)
    SELECT c.organisation_id, :id, c.space_id, c.source_id, CAST(:keys AS bigint[]), CAST(:terms AS sparsevec),
        c.valid_from, c.valid_to, :stamp
    FROM chunks c WHERE {tenant("c")} AND c.id = :before
    """
)


async def replace(session: WriteSession, items: Sequence[Anew], *, embed: bool) -> int:
    """The slices with another index, in the place of those before; how many. One that was closed meanwhile is passed
    over. A vector of the same text stays, the others are queued."""
    named = {"organisation": session.organisation, "ids": [item.before.chunk_id for item in items]}
    still = {row.id for row in await session.rows(_STILL, named)}
    chosen = [item for item in items if item.before.chunk_id in still]
    if not chosen:
        return 0
    base = {"organisation": session.organisation, "stamp": session.stamp}
    placed = [{**base, "id": item.id, "before": item.before.chunk_id} for item in chosen]
    await session.run(
        _CHUNK,
        [
            {**row, "dlp_tag": item.dlp_tag, "findings": packed(item.findings) or None}
            for row, item in zip(placed, chosen, strict=True)
        ],
    )
    await session.run(
        _POSTING, [{**row, "keys": item.keys, "terms": item.terms} for row, item in zip(placed, chosen, strict=True)]
    )
    await chunks.keep_vectors(
        session,
        [(item.id, item.before.chunk_id, item.before.valid_from, item.before.valid_to) for item in chosen if item.same],
    )
    await chunks.close(session, [item.before.chunk_id for item in chosen])
    if embed:
        await chunks.queue(session, [item.id for item in chosen if not item.same])
    return len(chosen)
