"""Chunks: slices of documents with the periods in which they are part of them, and what search keeps of each.

Rows are never edited but to close their system time. A chunk that only changes its period is copied from its own row,
with its postings and embeddings, so nothing is analysed or embedded twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pgvector import SparseVector
from sqlalchemy import text

from app.domain.dlp.finding import packed
from app.domain.document import SliceFacts, told_apart
from app.domain.temporal import Period, Portion, Row
from app.storage.engine import Session, WriteSession
from app.storage.scope import believed_now, tenant
from app.storage.sources import StoredSource


@dataclass(frozen=True, slots=True)
class NewChunk:
    id: UUID
    document_id: UUID
    period: Period
    content_sha256: bytes
    slice: SliceFacts
    keys: list[int]
    terms: SparseVector


@dataclass(frozen=True, slots=True)
class CopiedChunk:
    id: UUID
    from_id: UUID
    period: Period


_CHUNKS = text(
    f"SELECT c.id, c.document_id, c.valid_from, c.valid_to, c.identity, c.findings FROM chunks c "
    f"WHERE {believed_now('c')} AND c.document_id = ANY(CAST(:documents AS uuid[])) ORDER BY c.valid_from NULLS FIRST"
)


async def believed(session: Session, documents: Sequence[UUID]) -> dict[UUID, tuple[Row[UUID, bytes], ...]]:
    """Today's belief of each document's slices, as `SliceFacts.stored` tells them apart."""
    found: dict[UUID, list[Row[UUID, bytes]]] = {document: [] for document in documents}
    for row in await session.rows(_CHUNKS, {"organisation": session.organisation, "documents": list(documents)}):
        period = Period(row.valid_from, row.valid_to)
        found[row.document_id].append(Row(row.id, Portion(period, told_apart(row.identity, row.findings))))
    return {document: tuple(rows) for document, rows in found.items()}


async def create(session: WriteSession, source: StoredSource, items: Sequence[NewChunk], *, embed: bool) -> None:
    """Store slices that search does not know yet."""
    base = {"organisation": session.organisation, "stamp": session.stamp}
    place = {**base, "source": source.id, "space": source.space_id, "index_version": source.index_version}
    texts = {item.slice.text_sha256: item.slice for item in items}
    await session.run(
        _NEW_TEXT,
        [{**base, "sha256": item.text_sha256, "text": item.text, "tokens": item.tokens} for item in texts.values()],
    )
    await session.run(_NEW_CHUNK, [_chunk(place, item) for item in items])
    await session.run(_NEW_POSTING, [_posting(place, item) for item in items])
    if embed:
        await queue(session, [item.id for item in items])


async def queue(session: Session, ids: Sequence[UUID]) -> None:
    """They wait for their embedding."""
    if ids:
        await session.run(_QUEUE, {"organisation": session.organisation, "ids": list(ids)})


async def keep_vectors(
    session: WriteSession, copies: Sequence[tuple[UUID, UUID, datetime | None, datetime | None]]
) -> None:
    """Slices, each (its id, that of the one it stands for, valid from, valid to), have the embeddings of those, or
    their place in the queue."""
    if not copies:
        return
    ids, from_ids, starts, ends = (list(column) for column in zip(*copies, strict=True))
    named = {"ids": ids, "from_ids": from_ids, "valid_from": starts, "valid_to": ends}
    for statement in (_COPY_EMBEDDINGS, _COPY_QUEUE):
        await session.run(statement, {"organisation": session.organisation, "stamp": session.stamp, **named})


async def close(session: WriteSession, ids: Sequence[UUID]) -> None:
    """They are no longer believed."""
    if ids:
        named = {"organisation": session.organisation, "stamp": session.stamp, "ids": list(ids)}
        for statement in (_CLOSE_CHUNKS, _CLOSE_POSTINGS, _CLOSE_EMBEDDINGS, _UNQUEUE):
            await session.run(statement, named)


async def copy(session: WriteSession, copies: Sequence[CopiedChunk]) -> None:
    """The same slices for other periods."""
    if not copies:
        return
    named = {
        "organisation": session.organisation,
        "stamp": session.stamp,
        "ids": [item.id for item in copies],
        "from_ids": [item.from_id for item in copies],
        "valid_from": [item.period.start for item in copies],
        "valid_to": [item.period.end for item in copies],
    }
    for statement in (_COPY_CHUNKS, _COPY_POSTINGS, _COPY_EMBEDDINGS, _COPY_QUEUE):
        await session.run(statement, named)


_NEW_TEXT = text(
    "INSERT INTO texts (organisation_id, sha256, text, tokens) VALUES (:organisation, :sha256, :text, :tokens) "
    "ON CONFLICT DO NOTHING"
)
_NEW_CHUNK = text(
    "INSERT INTO chunks (organisation_id, id, document_id, source_id, space_id, identity, text_sha256, content_sha256, "
    "ordinal, start_offset, end_offset, heading_path, page, sheet, table_name, row_start, row_end, index_version, "
    "dlp_tag, findings, valid_from, valid_to, system_from) "
    "VALUES (:organisation, :id, :document, :source, :space, :identity, :text_sha256, :content, :ordinal, :start, "
    ":end, :heading_path, :page, :sheet, :table, :row_start, :row_end, "
    ":index_version, :dlp_tag, :findings, :valid_from, :valid_to, :stamp)"
)
_NEW_POSTING = text(
    "INSERT INTO postings (organisation_id, chunk_id, space_id, source_id, keys, terms, valid_from, valid_to, "
    "system_from) VALUES (:organisation, :id, :space, :source, :keys, :terms, :valid_from, :valid_to, :stamp)"
)
_QUEUE = text(
    "INSERT INTO embedding_queue (organisation_id, chunk_id) SELECT :organisation, unnest(CAST(:ids AS uuid[]))"
)
_UNQUEUE = text(f"DELETE FROM embedding_queue q WHERE {tenant('q')} AND q.chunk_id = ANY(CAST(:ids AS uuid[]))")
_CLOSE_CHUNKS = text(
    f"UPDATE chunks c SET system_to = :stamp WHERE {believed_now('c')} AND c.id = ANY(CAST(:ids AS uuid[]))"
)
_CLOSE_POSTINGS = text(
    f"UPDATE postings p SET system_to = :stamp WHERE {believed_now('p')} AND p.chunk_id = ANY(CAST(:ids AS uuid[]))"
)
_CLOSE_EMBEDDINGS = text(
    f"UPDATE embeddings e SET system_to = :stamp, live = false WHERE {believed_now('e')} "
    "AND e.chunk_id = ANY(CAST(:ids AS uuid[]))"
)
_COPIED = (
    "unnest(CAST(:ids AS uuid[]), CAST(:from_ids AS uuid[]), CAST(:valid_from AS timestamptz[]), "
    "CAST(:valid_to AS timestamptz[])) AS n(id, from_id, valid_from, valid_to)"
)
_COPY_CHUNKS = text(
    "INSERT INTO chunks (organisation_id, id, document_id, source_id, space_id, identity, text_sha256, content_sha256, "
    "ordinal, start_offset, end_offset, heading_path, page, sheet, table_name, row_start, row_end, index_version, "
    "dlp_tag, findings, valid_from, valid_to, system_from) "
    "SELECT c.organisation_id, n.id, c.document_id, c.source_id, c.space_id, c.identity, c.text_sha256, "
    "c.content_sha256, c.ordinal, c.start_offset, c.end_offset, c.heading_path, c.page, c.sheet, c.table_name, "
    "c.row_start, c.row_end, c.index_version, c.dlp_tag, c.findings, n.valid_from, n.valid_to, :stamp "
    f"FROM {_COPIED} JOIN chunks c ON {tenant('c')} AND c.id = n.from_id"
)
_COPY_POSTINGS = text(
    "INSERT INTO postings (organisation_id, chunk_id, space_id, source_id, keys, terms, valid_from, valid_to, "
    "system_from) SELECT p.organisation_id, n.id, p.space_id, p.source_id, p.keys, p.terms, n.valid_from, n.valid_to, "
    f":stamp FROM {_COPIED} JOIN postings p ON {tenant('p')} AND p.chunk_id = n.from_id"
)
_COPY_EMBEDDINGS = text(
    "INSERT INTO embeddings (organisation_id, live, chunk_id, model, space_id, source_id, vector, valid_from, "
    "valid_to, system_from) SELECT e.organisation_id, n.valid_to IS NULL, n.id, e.model, e.space_id, e.source_id, "
    f"e.vector, n.valid_from, n.valid_to, :stamp FROM {_COPIED} "
    f"JOIN embeddings e ON {tenant('e')} AND e.chunk_id = n.from_id"
)
_COPY_QUEUE = text(
    f"INSERT INTO embedding_queue (organisation_id, chunk_id) SELECT q.organisation_id, n.id FROM {_COPIED} "
    f"JOIN embedding_queue q ON {tenant('q')} AND q.chunk_id = n.from_id"
)


def _chunk(place: Mapping[str, Any], item: NewChunk) -> dict[str, Any]:
    cut, where = item.slice, item.slice.place
    return {
        **place,
        "id": item.id,
        "document": item.document_id,
        "identity": cut.identity,
        "text_sha256": cut.text_sha256,
        "content": item.content_sha256,
        "ordinal": cut.ordinal,
        "start": cut.start,
        "end": cut.end,
        "heading_path": list(where.heading_path),
        "page": where.page,
        "sheet": where.sheet,
        "table": where.table,
        "row_start": where.row_start,
        "row_end": where.row_end,
        "dlp_tag": cut.dlp_tag,
        "findings": packed(cut.findings) or None,
        "valid_from": item.period.start,
        "valid_to": item.period.end,
    }


def _posting(place: Mapping[str, Any], item: NewChunk) -> dict[str, Any]:
    return {
        **_only(place, "organisation", "space", "source", "stamp"),
        "id": item.id,
        "keys": item.keys,
        "terms": item.terms,
        "valid_from": item.period.start,
        "valid_to": item.period.end,
    }


def _only(parameters: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: parameters[name] for name in names}
