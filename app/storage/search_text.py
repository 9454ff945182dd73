"""The text leg: BM25 over hashed lexemes. Rare lexemes choose the rows, all lexemes score them.

A posting's `terms` hold the saturated term weights of its chunk and the query's vector the weight of each lexeme, so
BM25 is an inner product. `keys` hash (space, lexeme): the index is cut by space, and other tenants cost nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any
from uuid import UUID

from pgvector import SparseVector
from sqlalchemy import TextClause, text

from app.domain.lens import TagSets
from app.storage.engine import Plans, Session
from app.storage.scope import Scope, closed, ended, known, live, tenant_checked
from app.storage.tables import DIMENSIONS
from app.storage.tags import parameters, tagged, with_tagged


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that a leg named, with the leg's raw signal; the text leg says of which source it is."""

    chunk_id: UUID
    signal: float
    source_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Frequencies:
    """In how many chunks each key was counted, and how many chunks the searched sources held."""

    by_key: dict[int, int]
    chunks: int


_STATISTICS = text(
    f"""
    SELECT NULL AS key, coalesce(sum(n.chunk_count), 0) AS frequency FROM lexical_statistics n
    WHERE {known("n")} AND n.space_id = ANY(CAST(:spaces AS uuid[])) AND n.source_id = ANY(CAST(:sources AS uuid[]))
    UNION ALL SELECT f.key, sum(f.frequency) FROM lexeme_frequencies f
    WHERE {known("f")} AND f.key = ANY(CAST(:keys AS bigint[])) AND f.source_id = ANY(CAST(:sources AS uuid[]))
    GROUP BY f.key
    """
)


async def frequencies(
    session: Session, scope: Scope, spaces: Sequence[UUID], sources: Sequence[UUID], keys: Sequence[int]
) -> Frequencies:
    """Document frequencies in these sources, all of them in `spaces`, as they were known at the scope's point of system
    time. What another source holds tells nothing: a score must not betray it."""
    rows = await session.fetch(
        _STATISTICS,
        {
            "organisation": scope.organisation,
            "known_at": scope.as_of.system_at,
            "spaces": list(spaces),
            "sources": list(sources),
            "keys": list(keys),
        },
    )
    held = {key: int(frequency) for key, frequency in rows if key is not None}
    return Frequencies(held, next(int(count) for key, count in rows if key is None))


@cache
def _leg(present: bool, filtered: bool = False) -> TextClause:
    among = tagged("p") if filtered else ""

    def hits(predicate: str, keys: str) -> str:
        return f"""
        (SELECT p.chunk_id, -(p.terms <#> CAST(:terms AS sparsevec)) AS signal, p.source_id FROM postings p
        WHERE p.keys && {keys} AND {predicate} AND p.source_id = ANY(CAST(:sources AS uuid[])){among}
        ORDER BY signal DESC, p.chunk_id LIMIT :limit)
        """

    every = "CAST(:keys AS bigint[])"
    now = live("p", present, tenant_checked)
    if filtered:
        parts = [hits(now, every)]
    else:
        # A space at a time: an inverted index compares each row with every key that it was asked for, and no row holds
        # keys of two spaces.
        own = f"({every})[g.start : g.start + :width - 1]"
        starts = f"generate_series(1, cardinality({every}), CAST(:width AS int)) AS g(start)"
        parts = [f"(SELECT h.* FROM {starts} CROSS JOIN LATERAL {hits(now, own)} AS h)"]
    parts.append(hits(ended("p", present, tenant_checked), every))
    if not present:
        parts.append(hits(closed("p", tenant_checked), every))
    found = f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS hits ORDER BY signal DESC, chunk_id LIMIT :limit"
    return text(f"{with_tagged(present)} {found}" if filtered else found)


async def search(
    session: Session,
    scope: Scope,
    *,
    sources: Sequence[UUID],
    keys: Sequence[Sequence[int]],
    terms: SparseVector,
    limit: int,
    tags: TagSets = (),
) -> list[Hit]:
    """The `limit` best chunks among those that hold one of `keys`, best first, ties by id. `keys` by space: each has
    those of the same lexemes."""
    if not keys or not keys[0]:
        return []
    filtered = bool(tags)
    bound: dict[str, Any] = {
        **scope.parameters,
        **parameters(tags),
        "sources": list(sources),
        "keys": list(chain.from_iterable(keys)),
        "terms": terms,
        "limit": limit,
    }
    if not filtered:
        bound["width"] = len(keys[0])
    rows = await session.fetch(_leg(scope.present, filtered), bound, Plans.INDEXED)
    return [Hit(*row) for row in rows]


def term_vector(weights: dict[int, float]) -> SparseVector:
    """`weights` by dimension (1 … DIMENSIONS), as pgvector keeps it (zero-based)."""
    return SparseVector({dimension - 1: weight for dimension, weight in weights.items()}, DIMENSIONS)
