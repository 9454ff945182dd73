"""Links between documents of one source, as of a point of both clocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from uuid import UUID

from sqlalchemy import TextClause, text

from app.storage.engine import Session
from app.storage.scope import Scope, closed, ended, live, tenant, visible

#: Chunks of one linked document that are looked at.
MAX_CHUNKS = 40


@dataclass(frozen=True, slots=True)
class Link:
    """A link as it is written in a document that holds at the scope."""

    chunk: UUID
    source_id: UUID
    external_id: str
    target: str


@cache
def _links(present: bool) -> TextClause:
    return text(
        f"""
        SELECT c.id, c.source_id, v.external_id, l.target
        FROM chunks c
        CROSS JOIN LATERAL (SELECT v.external_id, v.content_sha256 FROM document_versions v
            WHERE v.document_id = c.document_id AND {visible("v", present)}
            ORDER BY v.valid_from DESC NULLS LAST LIMIT 1) v
        JOIN document_links l ON {tenant("l")} AND l.content_sha256 = v.content_sha256
        WHERE c.id = ANY(CAST(:chunks AS uuid[])) AND {visible("c", present)}
        ORDER BY c.id, l.number
        """
    )


async def links_of(session: Session, scope: Scope, chunks: Sequence[UUID]) -> list[Link]:
    """Every link of the documents that these chunks are of, in the order of their texts."""
    rows = await session.fetch(_links(scope.present), {**scope.parameters, "chunks": list(chunks)})
    return [Link(*row) for row in rows]


@cache
def _chunks(present: bool) -> TextClause:
    def parts(alias: str) -> list[str]:
        return [live(alias, present), ended(alias, present), *([] if present else [closed(alias)])]

    versions = " UNION ALL ".join(
        "SELECT v.document_id FROM document_versions v "
        f"WHERE v.source_id = n.source_id AND v.external_id = n.external_id AND {part}"
        for part in parts("v")
    )
    chunks = " UNION ALL ".join(
        f"SELECT c.id, c.ordinal FROM chunks c WHERE c.document_id = v.document_id AND {part}" for part in parts("c")
    )
    return text(
        f"""
        SELECT c.id FROM unnest(CAST(:sources AS uuid[]), CAST(:names AS text[])) AS n(source_id, external_id)
        CROSS JOIN LATERAL ({versions}) v
        CROSS JOIN LATERAL (SELECT c.id FROM ({chunks}) c ORDER BY c.ordinal, c.id LIMIT {MAX_CHUNKS}) c
        """
    )


async def chunks_of(session: Session, scope: Scope, names: Sequence[tuple[UUID, str]]) -> list[UUID]:
    """The first chunks of the documents with these (source, external id), in no particular order."""
    rows = await session.fetch(
        _chunks(scope.present),
        {**scope.parameters, "sources": [source for source, _ in names], "names": [name for _, name in names]},
    )
    return [row[0] for row in rows]
