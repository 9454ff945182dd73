"""Documents: what is believed of them now, and the one write that moves them to a new belief.

Rows are never edited but to close their system time. A chunk that only changes its period is copied from its own row,
with its postings and embeddings, so nothing is analysed or embedded twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from pgvector import SparseVector
from sqlalchemy import text

from app.domain.document import DocumentFacts, SliceFacts
from app.domain.temporal import Period, Portion, Row
from app.storage.engine import Session, WriteSession
from app.storage.scope import believed_now, tenant
from app.storage.sources import StoredSource


@dataclass(frozen=True, slots=True)
class Believed:
    """A document as it is believed now: its versions and its chunks, each with its valid period."""

    id: UUID
    external_key: str
    versions: tuple[Row[UUID, DocumentFacts], ...]
    chunks: tuple[Row[UUID, bytes], ...]


_DOCUMENTS = text(
    f"SELECT d.id, d.external_key FROM documents d WHERE {tenant('d')} AND d.source_id = CAST(:source AS uuid) "
    "AND (CAST(:keys AS text[]) IS NULL OR d.external_key = ANY(CAST(:keys AS text[])))"
)
_VERSIONS = text(
    "SELECT v.id, v.document_id, v.valid_from, v.valid_to, v.content_sha256, v.external_id, v.title, v.mime, v.url, "
    "CAST(v.confidence AS float8) AS confidence, v.epistemic_status, v.transform_type, v.tags, v.etag, "
    "v.source_created_at, "
    f"v.source_updated_at FROM document_versions v WHERE {believed_now('v')} "
    "AND v.document_id = ANY(CAST(:documents AS uuid[])) ORDER BY v.valid_from NULLS FIRST"
)
_CHUNKS = text(
    f"SELECT c.id, c.document_id, c.valid_from, c.valid_to, c.identity FROM chunks c WHERE {believed_now('c')} "
    "AND c.document_id = ANY(CAST(:documents AS uuid[])) ORDER BY c.valid_from NULLS FIRST"
)


async def believed(session: Session, source: UUID, keys: Sequence[str]) -> dict[str, Believed]:
    """The documents of a source by external key, with all that is believed of them now."""
    found = await session.rows(_DOCUMENTS, {"organisation": session.organisation, "source": source, "keys": list(keys)})
    if not found:
        return {}
    named = {"organisation": session.organisation, "documents": [row.id for row in found]}
    versions: dict[UUID, list[Row[UUID, DocumentFacts]]] = {}
    for row in await session.rows(_VERSIONS, named):
        versions.setdefault(row.document_id, []).append(
            Row(row.id, Portion(Period(row.valid_from, row.valid_to), _facts(row)))
        )
    chunks: dict[UUID, list[Row[UUID, bytes]]] = {}
    for row in await session.rows(_CHUNKS, named):
        chunks.setdefault(row.document_id, []).append(
            Row(row.id, Portion(Period(row.valid_from, row.valid_to), row.identity))
        )
    return {
        row.external_key: Believed(
            row.id, row.external_key, tuple(versions.get(row.id, ())), tuple(chunks.get(row.id, ()))
        )
        for row in found
    }


def _facts(row: Any) -> DocumentFacts:
    return DocumentFacts(
        content_sha256=row.content_sha256,
        external_id=row.external_id,
        title=row.title,
        mime=row.mime,
        url=row.url,
        confidence=row.confidence,
        epistemic_status=row.epistemic_status,
        transform_type=row.transform_type,
        tags=tuple(row.tags),
        etag=row.etag,
        source_created_at=row.source_created_at,
        source_updated_at=row.source_updated_at,
    )


async def external_keys(session: Session, source: UUID) -> list[str]:
    """Every document a source ever had."""
    rows = await session.rows(_DOCUMENTS, {"organisation": session.organisation, "source": source, "keys": None})
    return [row.external_key for row in rows]


@dataclass(frozen=True, slots=True)
class NewVersion:
    id: UUID
    document_id: UUID
    period: Period
    facts: DocumentFacts


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


@dataclass(slots=True)
class Batch:
    """Changes of many documents of one source, written in one transaction."""

    documents: list[tuple[UUID, str]] = field(default_factory=list)
    contents: dict[bytes, str] = field(default_factory=dict)
    close_versions: list[UUID] = field(default_factory=list)
    versions: list[NewVersion] = field(default_factory=list)
    close_chunks: list[UUID] = field(default_factory=list)
    copies: list[CopiedChunk] = field(default_factory=list)
    chunks: list[NewChunk] = field(default_factory=list)


async def write(session: WriteSession, source: StoredSource, batch: Batch, *, embed: bool) -> None:
    """Close and insert. `embed` queues what has no embedding yet."""
    base: dict[str, Any] = {"organisation": session.organisation, "stamp": session.stamp}
    place = {**base, "source": source.id, "space": source.space_id, "index_version": source.index_version}
    await session.run(_NEW_DOCUMENT, [{**place, "id": id, "key": key} for id, key in batch.documents])
    await session.run(
        _NEW_CONTENT, [{**base, "sha256": sha256, "text": value} for sha256, value in batch.contents.items()]
    )
    await session.run(_CLOSE_VERSIONS, {**base, "ids": batch.close_versions})
    await session.run(_NEW_VERSION, [_version(place, item) for item in batch.versions])
    await _copy(session, base, batch.copies)
    await _close_chunks(session, base, batch.close_chunks)
    texts = {item.slice.text_sha256: item.slice for item in batch.chunks}
    await session.run(
        _NEW_TEXT,
        [{**base, "sha256": item.text_sha256, "text": item.text, "tokens": item.tokens} for item in texts.values()],
    )
    await session.run(_NEW_CHUNK, [_chunk(place, item) for item in batch.chunks])
    await session.run(_NEW_POSTING, [_posting(place, item) for item in batch.chunks])
    if embed:
        await session.run(_QUEUE, {**base, "ids": [item.id for item in batch.chunks]})


async def _close_chunks(session: WriteSession, base: Mapping[str, Any], ids: list[UUID]) -> None:
    if ids:
        for statement in (_CLOSE_CHUNKS, _CLOSE_POSTINGS, _CLOSE_EMBEDDINGS, _UNQUEUE):
            await session.run(statement, {**base, "ids": ids})


async def _copy(session: WriteSession, base: Mapping[str, Any], copies: Iterable[CopiedChunk]) -> None:
    """Before the originals are closed: their embeddings and places in the queue are still where they were."""
    copies = list(copies)
    if not copies:
        return
    parameters = {
        **base,
        "ids": [item.id for item in copies],
        "from_ids": [item.from_id for item in copies],
        "valid_from": [item.period.start for item in copies],
        "valid_to": [item.period.end for item in copies],
    }
    for statement in (_COPY_CHUNKS, _COPY_POSTINGS, _COPY_EMBEDDINGS, _COPY_QUEUE):
        await session.run(statement, parameters)


_NEW_DOCUMENT = text(
    "INSERT INTO documents (organisation_id, id, source_id, external_key, system_from) "
    "VALUES (:organisation, :id, :source, :key, :stamp)"
)
_NEW_CONTENT = text(
    "INSERT INTO contents (organisation_id, sha256, text) VALUES (:organisation, :sha256, :text) ON CONFLICT DO NOTHING"
)
_NEW_TEXT = text(
    "INSERT INTO texts (organisation_id, sha256, text, tokens) VALUES (:organisation, :sha256, :text, :tokens) "
    "ON CONFLICT DO NOTHING"
)
_CLOSE_VERSIONS = text(
    f"UPDATE document_versions v SET system_to = :stamp WHERE {believed_now('v')} AND v.id = ANY(CAST(:ids AS uuid[]))"
)
_NEW_VERSION = text(
    "INSERT INTO document_versions (organisation_id, id, document_id, source_id, content_sha256, external_id, title, "
    "url, mime, etag, source_created_at, source_updated_at, confidence, epistemic_status, transform_type, tags, "
    "valid_from, valid_to, system_from) "
    "VALUES (:organisation, :id, :document, :source, :content, :external_id, :title, :url, "
    ":mime, :etag, :created, :updated, CAST(:confidence AS float8), :epistemic, :transform, :tags, :valid_from, "
    ":valid_to, :stamp)"
)
_NEW_CHUNK = text(
    "INSERT INTO chunks (organisation_id, id, document_id, source_id, space_id, identity, text_sha256, content_sha256, "
    "ordinal, start_offset, end_offset, heading_path, page, sheet, table_name, row_start, row_end, index_version, "
    "valid_from, valid_to, system_from) VALUES (:organisation, :id, :document, :source, :space, :identity, "
    ":text_sha256, :content, :ordinal, :start, :end, :heading_path, :page, :sheet, :table, :row_start, :row_end, "
    ":index_version, :valid_from, :valid_to, :stamp)"
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
    "valid_from, valid_to, system_from) SELECT c.organisation_id, n.id, c.document_id, c.source_id, c.space_id, "
    "c.identity, c.text_sha256, c.content_sha256, c.ordinal, c.start_offset, c.end_offset, c.heading_path, c.page, "
    "c.sheet, c.table_name, c.row_start, c.row_end, c.index_version, n.valid_from, n.valid_to, :stamp "
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


def _version(place: Mapping[str, Any], item: NewVersion) -> dict[str, Any]:
    facts = item.facts
    return {
        **_only(place, "organisation", "source", "stamp"),
        "id": item.id,
        "document": item.document_id,
        "content": facts.content_sha256,
        "external_id": facts.external_id,
        "title": facts.title,
        "url": facts.url,
        "mime": facts.mime,
        "etag": facts.etag,
        "created": facts.source_created_at,
        "updated": facts.source_updated_at,
        "confidence": facts.confidence,
        "epistemic": facts.epistemic_status,
        "transform": facts.transform_type,
        "tags": list(facts.tags),
        "valid_from": item.period.start,
        "valid_to": item.period.end,
    }


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
