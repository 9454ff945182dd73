"""Many synthetic rows, loaded as the owner: chunks with Zipf-distributed words, vectors, versions, evidence."""

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import asyncpg
import numpy as np
from pgvector import HalfVector, SparseVector
from pgvector.asyncpg import register_vector

from app.domain import lexical
from app.providers.ids import new_id
from app.storage.tables import DIMENSIONS

MODEL = "bulk-384"
VOCABULARY = 20_000
WORDS = 40
BORN = datetime(2026, 1, 1, tzinfo=UTC)
LATER = BORN + timedelta(days=30)
PER_DOCUMENT = 5

_LEXEMES = np.array([lexical.lexeme_id(f"word{number}") for number in range(VOCABULARY)], dtype=np.uint64)
_SHARES = 1 / np.arange(1, VOCABULARY + 1)
_SHARES /= _SHARES.sum()


@dataclass
class Tenant:
    """An organisation with some sources, each in a space of its own below the root."""

    organisation: UUID = field(default_factory=uuid4)
    person: UUID = field(default_factory=new_id)
    root: UUID = field(default_factory=new_id)
    spaces: list[UUID] = field(default_factory=list)
    sources: list[UUID] = field(default_factory=list)
    chunks: list[UUID] = field(default_factory=list)

    def keys(self, space: UUID, words: list[int]) -> list[int]:
        return lexical.keys(space, [int(_LEXEMES[word]) for word in words])


def dimensions(words: list[int]) -> list[int]:
    return [lexical.dimension(int(_LEXEMES[word])) for word in words]


def terms(words: list[int]) -> SparseVector:
    return SparseVector({number - 1: 1.0 for number in dimensions(words)}, DIMENSIONS)


class Loader:
    """Writes through COPY, in an order that mixes the organisations as real traffic does."""

    def __init__(self, owner: asyncpg.Connection, seed: int = 1) -> None:
        self._owner = owner
        self._chance = np.random.default_rng(seed)
        self._tables: dict[str, tuple[list[str], list[tuple]]] = {}

    def _add(self, table: str, **values: object) -> None:
        columns, rows = self._tables.setdefault(table, (list(values), []))
        rows.append(tuple(values[column] for column in columns))

    async def flush(self) -> None:
        await register_vector(self._owner)
        indexes = await self._owner.fetch(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'postings' AND indexdef LIKE '%USING gin%'"
        )
        fresh = await self._owner.fetchval("SELECT count(*) FROM (SELECT FROM postings LIMIT 1) AS one") == 0
        if fresh:
            for index in indexes:
                await self._owner.execute(f"DROP INDEX {index['indexname']}")
        for table, (columns, rows) in self._tables.items():
            mixed = [rows[at] for at in self._chance.permutation(len(rows))]
            await self._owner.copy_records_to_table(table, records=mixed, columns=columns)
        if fresh:
            for index in indexes:
                await self._owner.execute(index["indexdef"])
        self._tables.clear()

    def tenant(self, sources: int) -> Tenant:
        """An organisation with a person who may search all of it."""
        made = Tenant()
        organisation, clock = made.organisation, LATER
        self._add("organisations", organisation_id=organisation, key=organisation.hex, name="Bulk")
        self._add("organisation_clocks", organisation_id=organisation, system_at=clock)
        self._space(made, made.root, None, "/")
        for number in range(sources):
            space, source = new_id(), new_id()
            self._space(made, space, made.root, f"space{number}")
            made.spaces.append(space)
            made.sources.append(source)
            self._add(
                "sources",
                organisation_id=organisation,
                id=source,
                space_id=space,
                kind="docs",
                provider="filesystem",
                name=f"source{number}",
                classification="internal",
                language="english",
                index_version=1,
                system_from=BORN,
            )
        for day in range(20):
            self._add(
                "source_syncs",
                organisation_id=organisation,
                source_id=made.sources[0],
                system_from=BORN + timedelta(days=day),
            )
        self._grant(made, made.person, made.root)
        for _ in range(300):
            self._grant(made, new_id(), made.spaces[0])
        return made

    def _space(self, tenant: Tenant, id: UUID, parent: UUID | None, key: str) -> None:
        self._add(
            "spaces",
            organisation_id=tenant.organisation,
            id=id,
            parent_id=parent,
            path=[parent, id] if parent else [id],
            key_path=key,
            level="project" if parent else "organisation",
            name=key,
            system_from=BORN,
        )

    def _grant(self, tenant: Tenant, principal: UUID, space: UUID) -> None:
        self._add(
            "grants",
            organisation_id=tenant.organisation,
            id=new_id(),
            principal_id=principal,
            space_id=space,
            permission="context:space:search",
            system_from=BORN,
        )

    def chunks(
        self,
        tenant: Tenant,
        count: int,
        *,
        valid_to: datetime | None = None,
        system_to: datetime | None = None,
    ) -> list[UUID]:
        """Chunks of new documents over the tenant's sources, with postings, texts, versions and embeddings."""
        made: list[UUID] = []
        drawn = self._chance.choice(VOCABULARY, size=(count, WORDS + 15), p=_SHARES)
        vectors = self._chance.standard_normal((count, 384), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors.astype(np.float16)
        numbers = np.array([lexical.dimension(int(lexeme)) for lexeme in _LEXEMES])
        by_source = [np.array(lexical.keys(space, _LEXEMES.tolist())) for space in tenant.spaces]
        clocks = {"valid_from": BORN, "valid_to": valid_to, "system_from": BORN, "system_to": system_to}
        document = new_id()
        for number in range(count):
            place = number // PER_DOCUMENT % len(tenant.sources)
            if number % PER_DOCUMENT == 0:
                document = new_id()
                self._version(tenant, document, tenant.sources[place], clocks)
            words = np.unique(drawn[number])
            id = new_id()
            made.append(id)
            own = {"organisation_id": tenant.organisation, "source_id": tenant.sources[place]}
            self._chunk(tenant, id, document, place, number, clocks)
            self._add(
                "postings",
                **own,
                chunk_id=id,
                space_id=tenant.spaces[place],
                keys=by_source[place][words].tolist(),
                terms=SparseVector(dict.fromkeys((numbers[words] - 1).tolist(), 0.5), DIMENSIONS),
                **clocks,
            )
            self._add(
                "embeddings",
                **own,
                live=valid_to is None and system_to is None,
                chunk_id=id,
                model=MODEL,
                space_id=tenant.spaces[place],
                vector=HalfVector(vectors[number]),
                **clocks,
            )
        tenant.chunks += made
        return made

    def _chunk(self, tenant: Tenant, id: UUID, document: UUID, place: int, number: int, clocks: dict) -> None:
        sha256 = hashlib.sha256(id.bytes).digest()
        self._add(
            "texts", organisation_id=tenant.organisation, sha256=sha256, text=f"{id.hex} " * 10, tokens=200
        )
        self._add(
            "chunks",
            organisation_id=tenant.organisation,
            id=id,
            document_id=document,
            source_id=tenant.sources[place],
            space_id=tenant.spaces[place],
            identity=sha256,
            text_sha256=sha256,
            content_sha256=document.bytes,
            ordinal=number % PER_DOCUMENT,
            start_offset=0,
            end_offset=330,
            heading_path=["Heading"],
            index_version=1,
            **clocks,
        )

    def _version(self, tenant: Tenant, document: UUID, source: UUID, clocks: dict) -> None:
        self._add(
            "documents",
            organisation_id=tenant.organisation,
            id=document,
            source_id=source,
            external_key=document.hex,
            system_from=BORN,
        )
        self._add(
            "document_versions",
            organisation_id=tenant.organisation,
            id=new_id(),
            document_id=document,
            source_id=source,
            content_sha256=document.bytes,
            external_id=f"{document.hex}.md",
            title="Title",
            mime="text/markdown",
            epistemic_status="observed",
            transform_type="ingest",
            tags=[],
            **clocks,
        )

    def waiting(self, tenant: Tenant, count: int) -> None:
        """The tenant's first chunks wait for an embedding by another model."""
        for id in tenant.chunks[:count]:
            self._add("embedding_queue", organisation_id=tenant.organisation, chunk_id=id)

    def events(self, tenant: Tenant, count: int, table: str) -> list[UUID]:
        """Records of retrievals, chained (`evidence`) or waiting (`attribution_queue`)."""
        made = [new_id() for _ in range(count)]
        for number, id in enumerate(made):
            payload = json.dumps(
                {
                    "category": "context_attribution",
                    "requestId": id.hex,
                    "userId": str(tenant.person),
                    "spaceId": str(tenant.root),
                }
            ).encode()
            chained = (
                {
                    "sequence": number + 1,
                    "previous_mac": hashlib.sha256(number.to_bytes(8)).digest(),
                    "mac": hashlib.sha256((number + 1).to_bytes(8)).digest(),
                    "key_id": "key",
                    "queued_at": BORN,
                }
                if table == "evidence"
                else {}
            )
            self._add(table, organisation_id=tenant.organisation, id=id, payload=payload, **chained)
        return made


async def count_words(owner: asyncpg.Connection) -> None:
    """Document frequencies of every space, as a refresh would leave them."""
    await owner.execute(
        """
        INSERT INTO lexeme_frequencies (organisation_id, space_id, key, frequency, system_from)
        SELECT organisation_id, space_id, key, count(*), $1 FROM (SELECT organisation_id, space_id, unnest(keys) AS key
            FROM postings WHERE system_to IS NULL AND valid_to IS NULL) AS held GROUP BY 1, 2, 3
        """,
        BORN,
    )
    await owner.execute(
        """
        INSERT INTO lexical_statistics (organisation_id, space_id, chunk_count, system_from)
        SELECT organisation_id, space_id, count(*), $1 FROM postings
        WHERE system_to IS NULL AND valid_to IS NULL GROUP BY 1, 2
        """,
        BORN,
    )
