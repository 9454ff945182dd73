"""What matched a question but is not in force at the point of both clocks that was read."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple
from uuid import UUID

from pgvector import SparseVector
from sqlalchemy import TextClause, text

from app.domain.lens import TagSets
from app.storage.engine import Plans, Session
from app.storage.scope import Scope, missed, superseded, tenant, tenant_checked, visible
from app.storage.tags import carries, parameters

#: Postings that each part of history may name; they are not ordered first, since that would read them all.
MOST_POSTINGS = 100
#: Documents in all.
MOST_DOCUMENTS = 50


class Missed(NamedTuple):
    """A document and why its best matching text is not in force."""

    organisation: UUID
    document_id: UUID
    source_id: UUID
    space_id: UUID
    reason: str


@cache
def _statement(present: bool, filtered: bool) -> TextClause:
    parts = [
        f"""
        (SELECT p.chunk_id, -(p.terms <#> CAST(:terms AS sparsevec)) AS signal FROM postings p
        WHERE p.keys && CAST(:keys AS bigint[]) AND {cut} AND p.source_id = ANY(CAST(:sources AS uuid[]))
        LIMIT {MOST_POSTINGS})
        """
        for cut in missed("p", present, tenant_checked)
    ]
    # The version that a text came with is known by its content: a text that was only cut anew, or given another
    # period, is not superseded.
    tags = (
        f"""AND EXISTS (SELECT FROM document_versions t WHERE {tenant("t")} AND t.document_id = c.document_id
            AND t.content_sha256 = c.content_sha256 AND {carries("t")})"""
        if filtered
        else ""
    )
    closed = superseded("c", present)
    return text(
        f"""
        WITH named AS MATERIALIZED (
            SELECT g.document_id FROM chunks g WHERE {tenant("g")} AND g.id = ANY(CAST(:named AS uuid[]))
        ), missed AS MATERIALIZED ({" UNION ALL ".join(parts)}), best AS (
            SELECT DISTINCT ON (c.document_id) c.organisation_id, c.document_id, c.source_id, c.space_id, m.signal,
                CASE WHEN {closed} THEN 'SUPERSEDED' WHEN c.valid_from > :valid_at THEN 'NOT_YET_VALID'
                    ELSE 'EXPIRED' END AS reason
            FROM missed m JOIN chunks c ON {tenant("c")} AND c.id = m.chunk_id
            WHERE m.signal > 0 AND m.signal >= CAST(:least AS float8)
            AND NOT EXISTS (SELECT FROM named n WHERE n.document_id = c.document_id) {tags}
            AND (NOT ({closed}) OR EXISTS (SELECT FROM document_versions v WHERE {visible("v", present)}
                AND v.document_id = c.document_id AND v.content_sha256 <> c.content_sha256))
            ORDER BY c.document_id, m.signal DESC, reason, c.id
        )
        SELECT organisation_id, document_id, source_id, space_id, reason FROM best
        ORDER BY signal DESC, document_id LIMIT {MOST_DOCUMENTS}
        """
    )


async def search(
    session: Session,
    scope: Scope,
    *,
    sources: Sequence[UUID],
    keys: Sequence[int],
    terms: SparseVector,
    least: float,
    named: Sequence[UUID],
    tags: TagSets = (),
) -> list[Missed]:
    """Documents other than those of the chunks `named`, with a text that holds one of `keys` and a signal of at least
    `least`, best first: not yet true, no longer true, or no longer believed while the document says something else
    now."""
    rows = await session.fetch(
        _statement(scope.present, bool(tags)),
        {
            **scope.parameters,
            **parameters(tags),
            "sources": list(sources),
            "keys": list(keys),
            "terms": terms,
            "least": least,
            "named": list(named),
        },
        Plans.INDEXED,
    )
    return [Missed(*row) for row in rows]
