"""The vector leg: exact cosine distance in SQL over the permitted sources, both clocks inside, before the LIMIT.

Where there is an index of the model's vectors (`vector_index.py`) it can be asked instead. It knows neither tenants nor
sources, so it gives fewer rows than asked when others' are nearer: what it leaves short is asked exactly. The two have
texts of their own, so that no plan is shared.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from sqlalchemy import TextClause, text

from app.domain.lens import TagSets
from app.storage.engine import Plans, Session
from app.storage.scope import Scope, ended, live, tenant, visible
from app.storage.search_text import Hit
from app.storage.tags import parameters, tagged_all, with_tagged
from app.storage.vector_index import index_name


@cache
def _exact(present: bool, filtered: bool = False) -> TextClause:
    among = tagged_all("e", present) if filtered else ""
    parts = [
        f"""
        (SELECT e.chunk_id, e.vector <=> CAST(:query AS halfvec) AS distance FROM embeddings e
        WHERE {predicate}
        AND e.source_id = ANY(CAST(:sources AS uuid[])) AND e.model = :model{among}
        ORDER BY distance, e.chunk_id LIMIT :limit)
        """
        for predicate in (
            f"e.live AND {live('e', present)}",
            f"NOT e.live AND {ended('e', present) if present else visible('e', present)}",
        )
    ]
    hits = (
        f"SELECT chunk_id, 1 - distance AS signal FROM ({' UNION ALL '.join(parts)}) AS hits "
        "ORDER BY distance, chunk_id LIMIT :limit"
    )
    return text(f"{with_tagged(present)} {hits}" if filtered else hits)


async def search(
    session: Session,
    scope: Scope,
    *,
    sources: Sequence[object],
    query: NDArray[np.float32],
    model: str,
    limit: int,
    tags: TagSets = (),
) -> list[Hit]:
    """The `limit` nearest chunks by cosine (1 − distance, in [-1, 1]), nearest first, ties by id."""
    rows = await session.fetch(
        _exact(scope.present, bool(tags)),
        {
            **scope.parameters,
            **parameters(tags),
            "sources": list(sources),
            "query": HalfVector(query),
            "model": model,
            "limit": limit,
        },
        Plans.INDEXED,
    )
    return [Hit(*row) for row in rows]


#: Rows that are taken from the index for each that is asked for. The first round of a search through a graph may end
#: among neighbours of its own; with twice as many rows as it keeps in sight there is a second one.
_TAKEN, _SIGHT = 4, 2
#: What pgvector keeps in sight at most.
_MOST_SIGHT = 1_000
#: Comparing one vector by the table costs about a fifteenth of reaching one through the index.
_REACHED = 15
#: Up to so many the table is always quicker, beyond so many never.
_FEW, _MANY = 2_000, 50_000
#: How many times as many entries as expected are looked at. Where one's own are rarer than that around the question,
#: the index finds what it meets first, not what is nearest.
_PATIENCE = 3

_PLAN = text(
    f"""
    WITH bound AS MATERIALIZED (
        SELECT greatest(c.reltuples, 0) AS stored, least({_MANY}, greatest({_FEW},
            sqrt({_REACHED} * CAST(:taken AS float8) * greatest(c.reltuples, 0)))) AS most
        FROM pg_class c WHERE c.oid = CAST('embeddings_live' AS regclass)
    )
    SELECT (SELECT count(*) FROM (SELECT FROM embeddings e WHERE {tenant("e")} AND e.live
            AND e.source_id = ANY(CAST(:sources AS uuid[])) LIMIT CAST(most AS int) + 1) AS permitted) > most
            AND to_regclass(:index) IS NOT NULL,
        set_config('hnsw.iterative_scan', 'relaxed_order', true),
        set_config('hnsw.ef_search', CAST(CAST(:sight AS int) AS text), true),
        set_config('hnsw.max_scan_tuples', CAST(CAST({_PATIENCE} * :taken * stored / most AS int) + 1 AS text), true)
    FROM bound
    """
)


async def prepare(
    session: Session, scope: Scope, *, sources: Sequence[object], model: str, dimensions: int, limit: int
) -> bool:
    """Whether the model has an index that is worth asking; then how far it looks, for the rest of the transaction.

    To find `taken` of P permitted rows among N it must look at about taken · N / P, so up to P = √(15 · taken · N) to
    compare all permitted ones is quicker. No more of them are counted than that is decided by.
    """
    if limit * _SIGHT > _MOST_SIGHT:
        return False
    rows = await session.fetch(
        _PLAN,
        {
            "organisation": scope.organisation,
            "sources": list(sources),
            "taken": limit * _TAKEN,
            "sight": limit * _SIGHT,
            "index": index_name(model, dimensions),
        },
        Plans.INDEXED,
    )
    return bool(rows[0][0])


@cache
def _nearest(dimensions: int) -> TextClause:
    distance = f"CAST(e.vector AS halfvec({dimensions})) <=> CAST(:query AS halfvec({dimensions}))"
    return text(
        f"""
        WITH near AS MATERIALIZED (
            SELECT e.chunk_id, {distance} AS distance FROM embeddings e
            WHERE e.live AND {live("e", True)} AND e.source_id = ANY(CAST(:sources AS uuid[])) AND e.model = :model
            ORDER BY {distance} LIMIT :taken
        ), ending AS MATERIALIZED (
            SELECT e.chunk_id, {distance} AS distance FROM embeddings e
            WHERE NOT e.live AND {ended("e", True)} AND e.source_id = ANY(CAST(:sources AS uuid[]))
            AND e.model = :model ORDER BY {distance}, e.chunk_id LIMIT :limit
        )
        SELECT chunk_id, 1 - distance AS signal, (SELECT count(*) FROM near) AS found
        FROM (TABLE near UNION ALL TABLE ending) AS hits ORDER BY distance + 0, chunk_id LIMIT :limit
        """
    )


async def nearest(
    session: Session,
    scope: Scope,
    *,
    sources: Sequence[object],
    query: NDArray[np.float32],
    model: str,
    limit: int,
) -> list[Hit] | None:
    """`search` of a present reading through the model's index, after `prepare`: nearly always the same. None when it
    gives fewer rows than were to be taken. It gives them in about the right order, hence the `+ 0`: they are sorted."""
    taken = limit * _TAKEN
    rows = await session.fetch(
        _nearest(len(query)),
        {
            **scope.parameters,
            "sources": list(sources),
            "query": HalfVector(query),
            "model": model,
            "limit": limit,
            "taken": taken,
        },
        Plans.ORDERED,
    )
    return [Hit(id, signal) for id, signal, _ in rows] if rows and rows[0][2] == taken else None


async def planned(
    session: Session,
    scope: Scope,
    *,
    sources: Sequence[object],
    query: NDArray[np.float32],
    model: str,
    limit: int,
    tags: TagSets = (),
    approximate: bool = False,
) -> tuple[str, list[Hit]]:
    """How it ran (`exact` or `hnsw`), and what it named. `approximate`: the index may be asked. It is when the reading
    is about now, nothing but sources filters, and many rows are permitted; what it leaves short is asked exactly."""
    if (
        approximate
        and scope.present
        and not tags
        and await prepare(session, scope, sources=sources, model=model, dimensions=len(query), limit=limit)
    ):
        near = await nearest(session, scope, sources=sources, query=query, model=model, limit=limit)
        if near is not None:
            return "hnsw", near
    return "exact", await search(session, scope, sources=sources, query=query, model=model, limit=limit, tags=tags)
