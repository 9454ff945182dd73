"""The vector leg: exact cosine distance in SQL over the permitted sources, both clocks inside, before the LIMIT."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from sqlalchemy import TextClause, text

from app.storage.engine import Plans, Session
from app.storage.scope import Scope, ended, live, visible
from app.storage.search_text import Hit


@cache
def _exact(present: bool) -> TextClause:
    parts = [
        f"""
        (SELECT e.chunk_id, e.vector <=> CAST(:query AS halfvec) AS distance FROM embeddings e
        WHERE {predicate}
        AND e.source_id = ANY(CAST(:sources AS uuid[])) AND e.model = :model
        ORDER BY distance, e.chunk_id LIMIT :limit)
        """
        for predicate in (
            f"e.live AND {live('e', present)}",
            f"NOT e.live AND {ended('e', present) if present else visible('e', present)}",
        )
    ]
    return text(
        f"SELECT chunk_id, 1 - distance AS signal FROM ({' UNION ALL '.join(parts)}) AS hits "
        "ORDER BY distance, chunk_id LIMIT :limit"
    )


async def search(
    session: Session,
    scope: Scope,
    *,
    sources: Sequence[object],
    query: NDArray[np.float32],
    model: str,
    limit: int,
) -> list[Hit]:
    """The `limit` nearest chunks by cosine (1 − distance, in [-1, 1]), nearest first, ties by id."""
    rows = await session.fetch(
        _exact(scope.present),
        {**scope.parameters, "sources": list(sources), "query": HalfVector(query), "model": model, "limit": limit},
        Plans.INDEXED,
    )
    return [Hit(*row) for row in rows]
