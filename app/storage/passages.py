"""The chunks that the legs named: their place, both true signals, and the text of those that stay."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector, SparseVector
from sqlalchemy import TextClause, text

from app.domain.dlp.finding import unpacked
from app.domain.dlp.scanning import Part
from app.storage.engine import Session
from app.storage.scope import Scope, tenant, visible


@dataclass(frozen=True, slots=True)
class Named:
    """A chunk that some leg named, with both of its signals: a leg that did not name it may still score it."""

    organisation: UUID
    chunk_id: UUID
    document_id: UUID
    source_id: UUID
    space_id: UUID
    text_sha256: bytes
    index_version: int
    similarity: float | None
    bm25: float | None


@cache
def _named(present: bool, vector: bool, terms: bool) -> TextClause:
    similarity = (
        f"""(SELECT 1 - (e.vector <=> CAST(:query AS halfvec)) FROM embeddings e
            WHERE {tenant("e")} AND e.live = (c.system_to IS NULL AND c.valid_to IS NULL) AND e.chunk_id = c.id
            AND e.model = :model {"" if present else "AND e.system_from <= :known_at"})"""
        if vector
        else "NULL"
    )
    bm25 = (
        f"""(SELECT -(p.terms <#> CAST(:terms AS sparsevec)) FROM postings p
            WHERE {tenant("p")} AND p.chunk_id = c.id)"""
        if terms
        else "NULL"
    )
    return text(
        f"""
        SELECT c.organisation_id, c.id, c.document_id, c.source_id, c.space_id, c.text_sha256, c.index_version,
            {similarity} AS similarity, {bm25} AS bm25
        FROM chunks c WHERE c.id = ANY(CAST(:chunks AS uuid[])) AND {visible("c", present)}
        """
    )


async def named(
    session: Session,
    scope: Scope,
    chunks: Sequence[UUID],
    *,
    query: NDArray[np.float32] | None,
    model: str | None,
    terms: SparseVector | None,
) -> list[Named]:
    """In no particular order."""
    parameters: dict[str, Any] = {**scope.parameters, "chunks": list(chunks)}
    if query is not None:
        parameters |= {"query": HalfVector(query), "model": model}
    if terms is not None:
        parameters["terms"] = terms
    rows = await session.fetch(_named(scope.present, query is not None, terms is not None), parameters)
    return [Named(*row) for row in rows]


@cache
def _vectors(present: bool) -> TextClause:
    return text(
        f"""
        SELECT c.id, e.vector FROM chunks c JOIN embeddings e ON {tenant("e")}
            AND e.live = (c.system_to IS NULL AND c.valid_to IS NULL) AND e.chunk_id = c.id
            AND e.model = :model {"" if present else "AND e.system_from <= :known_at"}
        WHERE c.id = ANY(CAST(:chunks AS uuid[])) AND {visible("c", present)}
        """
    )


async def vectors(
    session: Session, scope: Scope, chunks: Sequence[UUID], model: str | None
) -> dict[UUID, NDArray[np.float32]]:
    """Embeddings of `chunks` by the model, shape (dimensions,); those that have none are missing."""
    rows = await session.fetch(_vectors(scope.present), {**scope.parameters, "chunks": list(chunks), "model": model})
    return {id: vector.to_numpy().astype(np.float32) for id, vector in rows}


@dataclass(frozen=True, slots=True)
class Passage:
    """What a caller is given of a chunk, with the version of its document that held at the scope."""

    chunk_id: UUID
    text: str
    tokens: int
    heading_path: list[str]
    ordinal: int
    start_offset: int
    end_offset: int
    page: int | None
    sheet: str | None
    table_name: str | None
    row_start: int | None
    row_end: int | None
    index_version: int
    valid_from: datetime | None
    valid_to: datetime | None
    system_from: datetime
    version_id: UUID
    external_id: str
    title: str
    url: str | None
    confidence: float | None
    epistemic_status: str
    transform_type: str
    tags: list[str]
    source_created_at: datetime | None
    source_updated_at: datetime | None
    version_system_from: datetime
    source_id: UUID
    findings: list[int] | None = None
    dlp_tag: str = ""

    @property
    def part(self) -> Part:
        """The text with what was found in it when it was indexed."""
        return Part(self.text, unpacked(self.findings), self.dlp_tag)


# There is one version at a point of both clocks. Asked for in this order it is found first, not among all of history.
@cache
def _passages(present: bool) -> TextClause:
    return text(
        f"""
        SELECT c.id, t.text, t.tokens, c.heading_path, c.ordinal, c.start_offset, c.end_offset, c.page, c.sheet,
            c.table_name, c.row_start, c.row_end, c.index_version, c.valid_from, c.valid_to, c.system_from,
            v.id, v.external_id, v.title, v.url, CAST(v.confidence AS float8), v.epistemic_status, v.transform_type,
            v.tags, v.source_created_at, v.source_updated_at, v.system_from,
            c.source_id, c.findings, c.dlp_tag
        FROM chunks c
        JOIN texts t ON {tenant("t")} AND t.sha256 = c.text_sha256
        CROSS JOIN LATERAL (SELECT v.* FROM document_versions v
            WHERE v.document_id = c.document_id AND {visible("v", present)}
            ORDER BY v.valid_from DESC NULLS LAST LIMIT 1) v
        WHERE c.id = ANY(CAST(:chunks AS uuid[])) AND {visible("c", present)}
        """
    )


async def passages(session: Session, scope: Scope, chunks: Sequence[UUID]) -> dict[UUID, Passage]:
    """Texts and citations of `chunks`, in one statement."""
    rows = await session.fetch(_passages(scope.present), {**scope.parameters, "chunks": list(chunks)})
    return {row[0]: Passage(*row) for row in rows}
