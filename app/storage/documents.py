"""Documents: what is believed of them now, and the one write that moves them to a new belief."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.domain.code import ContentGraph
from app.domain.document import DocumentFacts
from app.domain.temporal import Portion, Row
from app.storage import chunks, code
from app.storage.chunks import CopiedChunk, NewChunk
from app.storage.engine import Session, WriteSession
from app.storage.facts import Family
from app.storage.scope import tenant
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
_NEW_DOCUMENT = text(
    "INSERT INTO documents (organisation_id, id, source_id, external_key, system_from) "
    "VALUES (:organisation, :id, :source, :key, :stamp)"
)
_NEW_CONTENT = text(
    "INSERT INTO contents (organisation_id, sha256, text) VALUES (:organisation, :sha256, :text) ON CONFLICT DO NOTHING"
)


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


def _encoded(facts: DocumentFacts) -> Mapping[str, Any]:
    return {
        "content_sha256": facts.content_sha256,
        "external_id": facts.external_id,
        "title": facts.title,
        "mime": facts.mime,
        "url": facts.url,
        "confidence": facts.confidence,
        "epistemic_status": facts.epistemic_status,
        "transform_type": facts.transform_type,
        "tags": list(facts.tags),
        "etag": facts.etag,
        "source_created_at": facts.source_created_at,
        "source_updated_at": facts.source_updated_at,
    }


#: The versions of documents, as one more family of facts; their chunks follow them (`write`).
VERSIONS: Family[DocumentFacts] = Family(
    "document_versions",
    "document_id",
    {
        "content_sha256": "",
        "external_id": "",
        "title": "",
        "mime": "",
        "url": "",
        "confidence": "float8",
        "epistemic_status": "",
        "transform_type": "",
        "tags": "text[]",
        "etag": "",
        "source_created_at": "timestamptz",
        "source_updated_at": "timestamptz",
    },
    _encoded,
    _facts,
)


async def believed(session: Session, source: UUID, keys: Sequence[str]) -> dict[str, Believed]:
    """The documents of a source by external key, with all that is believed of them now."""
    found = await session.rows(_DOCUMENTS, {"organisation": session.organisation, "source": source, "keys": list(keys)})
    if not found:
        return {}
    ids = [row.id for row in found]
    versions = await VERSIONS.believed(session, ids)
    slices = await chunks.believed(session, ids)
    return {row.external_key: Believed(row.id, row.external_key, versions[row.id], slices[row.id]) for row in found}


async def external_keys(session: Session, source: UUID) -> list[str]:
    """Every document a source ever had."""
    rows = await session.rows(_DOCUMENTS, {"organisation": session.organisation, "source": source, "keys": None})
    return [row.external_key for row in rows]


@dataclass(slots=True)
class Batch:
    """Changes of many documents of one source, written in one transaction."""

    documents: list[tuple[UUID, str]] = field(default_factory=list)
    contents: dict[bytes, str] = field(default_factory=dict)
    graphs: dict[bytes, ContentGraph] = field(default_factory=dict)
    close_versions: list[UUID] = field(default_factory=list)
    versions: list[tuple[UUID, Portion[DocumentFacts]]] = field(default_factory=list)
    close_chunks: list[UUID] = field(default_factory=list)
    copies: list[CopiedChunk] = field(default_factory=list)
    chunks: list[NewChunk] = field(default_factory=list)


async def write(session: WriteSession, source: StoredSource, batch: Batch, *, embed: bool) -> None:
    """Close and insert. `embed` queues what has no embedding yet."""
    base = {"organisation": session.organisation, "stamp": session.stamp, "source": source.id}
    await session.run(_NEW_DOCUMENT, [{**base, "id": id, "key": key} for id, key in batch.documents])
    await session.run(
        _NEW_CONTENT, [{**base, "sha256": sha256, "text": value} for sha256, value in batch.contents.items()]
    )
    await code.store(session, batch.graphs)
    await VERSIONS.close(session, batch.close_versions)
    await VERSIONS.insert(session, batch.versions, source_id=source.id)
    # Copied before the originals are closed: their embeddings and places in the queue are still where they were.
    await chunks.copy(session, batch.copies)
    await chunks.close(session, batch.close_chunks)
    await chunks.create(session, source, batch.chunks, embed=embed)
