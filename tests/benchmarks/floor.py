"""The same work by hand: what a retrieval costs with nothing around it.

Bare tables with nothing but what a search reads, no tenant, no clock, no row security, one connection in autocommit:
query embedding, exact cosine over the half vectors of the searched sources, BM25 as an inner product of sparse vectors
behind a GIN index of hashed (space, lexeme) keys, the texts of the best, one durable insert. Word frequencies are held
in memory. It is the fastest SQL that we know for this data on this server.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from uuid import UUID

import asyncpg
from pgvector import HalfVector, SparseVector
from pgvector.asyncpg import register_vector

from app.domain import lexical
from app.domain.scoring import LEG_CANDIDATES, TEXT_WEIGHT, VECTOR_WEIGHT
from app.providers.embedder.minilm import MiniLM
from app.providers.stemmer import analyser
from app.retrieval.request import TOP_K
from tests.benchmarks.store import SEARCHED, Organisation

#: A lexeme that chooses rows is found in at most this share of the chunks, or in so few of them.
COMMON, FEW = 0.05, 500

_TABLES = """
CREATE SCHEMA IF NOT EXISTS floor;
CREATE TABLE floor.texts (id uuid PRIMARY KEY, text text NOT NULL);
CREATE TABLE floor.vectors (id uuid NOT NULL, source_id uuid NOT NULL, vector halfvec(384) NOT NULL);
ALTER TABLE floor.vectors ALTER COLUMN vector SET STORAGE PLAIN;
CREATE INDEX ON floor.vectors (source_id);
CREATE TABLE floor.postings (id uuid NOT NULL, keys bigint[] NOT NULL, terms sparsevec NOT NULL);
ALTER TABLE floor.postings SET (toast_tuple_target = 8160);
CREATE INDEX ON floor.postings USING gin (keys) WITH (fastupdate = off);
CREATE TABLE floor.log (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload bytea NOT NULL);
"""
_ROWS = """
SELECT c.id, c.source_id, t.text, e.vector, p.keys, p.terms
FROM chunks c JOIN texts t ON t.organisation_id = c.organisation_id AND t.sha256 = c.text_sha256
JOIN postings p ON p.organisation_id = c.organisation_id AND p.chunk_id = c.id
JOIN embeddings e ON e.organisation_id = c.organisation_id AND e.live AND e.chunk_id = c.id
WHERE c.organisation_id = $1 AND c.source_id = $2 AND c.system_to IS NULL
"""
_VECTOR = (
    "SELECT id, 1 - (vector <=> $1) AS signal FROM floor.vectors WHERE source_id = ANY($2) "
    f"ORDER BY vector <=> $1 LIMIT {LEG_CANDIDATES}"
)
_TEXT = (
    f"SELECT id, -(terms <#> $1) AS signal FROM floor.postings WHERE keys && $2 ORDER BY signal DESC "
    f"LIMIT {LEG_CANDIDATES}"
)
_FETCH = "SELECT id, text FROM floor.texts WHERE id = ANY($1)"
_INSERT = "INSERT INTO floor.log (payload) VALUES ($1)"


def plain(url: str) -> str:
    """A SQLAlchemy URL as the driver itself takes it."""
    return url.replace("postgresql+asyncpg://", "postgresql://", 1)


async def connect(url: str) -> Any:
    connection = await asyncpg.connect(plain(url))
    await register_vector(connection)
    return connection


@dataclass(slots=True)
class Floor:
    """The bare tables of one organisation, filled. `legs` collects milliseconds: text and vector."""

    url: str
    embedder: MiniLM
    sources: list[UUID]
    spaces: list[UUID]
    chunks: int = 0
    load_rate: float = 0.0
    frequencies: Counter[int] = field(default_factory=Counter)
    legs: dict[str, list[float]] = field(default_factory=lambda: {"text": [], "vector": []})

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        connection = await connect(self.url)
        try:
            yield connection
        finally:
            await connection.close()

    async def retrieve(self, connection: Any, question: str) -> list[str]:
        """The texts of the best passages, recorded."""
        vector = await self.embedder.embed_query(question)
        started = perf_counter()
        found = await self._text(connection, question)
        after_text = perf_counter()
        near = await connection.fetch(_VECTOR, HalfVector(vector), self.sources)
        self.legs["text"].append((after_text - started) * 1000)
        self.legs["vector"].append((perf_counter() - after_text) * 1000)
        scores: Counter[UUID] = Counter()
        for id, signal in found:
            scores[id] += TEXT_WEIGHT * signal
        for id, signal in near:
            scores[id] += VECTOR_WEIGHT * signal
        best = [id for id, _ in scores.most_common(TOP_K.default)]
        texts = dict(await connection.fetch(_FETCH, best))
        await connection.execute(_INSERT, json.dumps([str(id) for id in best]).encode())
        return [texts[id] for id in best]

    async def _text(self, connection: Any, question: str) -> Sequence[Any]:
        return await by_text(connection, question, self.spaces, self.frequencies, self.chunks)


async def by_text(
    connection: Any, question: str, spaces: Sequence[UUID], frequencies: Mapping[int, int], chunks: int
) -> Sequence[Any]:
    """The best chunks of `floor.postings` among those that hold a lexeme found in few."""
    keys, weights = [], {}
    for term, weight in analyser("english").query_terms(question).items():
        number = lexical.lexeme_id(term)
        hashed = [lexical.key(space, number) for space in spaces]
        held = sum(frequencies[key] for key in hashed)
        weights[lexical.dimension(number) - 1] = weight * lexical.idf(held, chunks)
        if held <= max(COMMON * chunks, FEW):
            keys += hashed
    return await connection.fetch(_TEXT, SparseVector(weights, lexical.DIMENSIONS), keys) if keys else []


async def build(url: str, organisation: Organisation, embedder: MiniLM) -> Floor:
    """Copy what the organisation's searches read; the rate of the copy is the floor of ingestion."""
    searched = organisation.sources[:SEARCHED]
    floor = Floor(url, embedder, [item.id for item in searched], [item.space_id for item in searched])
    async with floor.connection() as connection:
        await connection.execute(_TABLES)
        seconds, total = 0.0, 0
        for source in organisation.sources:
            rows = await connection.fetch(_ROWS, organisation.id, source.id)
            started = perf_counter()
            await _load(connection, rows)
            seconds += perf_counter() - started
            total += len(rows)
            if source in searched:
                floor.chunks += len(rows)
                floor.frequencies.update(key for row in rows for key in row["keys"])
        floor.load_rate = total / seconds
    return floor


async def analyse(url: str) -> None:
    """What autovacuum does within minutes, now: both sides are measured on settled tables."""
    connection = await connect(url)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()


async def _load(connection: Any, rows: Sequence[Any]) -> None:
    for table, columns in (
        ("texts", ("id", "text")),
        ("vectors", ("id", "source_id", "vector")),
        ("postings", ("id", "keys", "terms")),
    ):
        await connection.copy_records_to_table(
            table, schema_name="floor", columns=columns, records=[tuple(row[name] for name in columns) for row in rows]
        )
