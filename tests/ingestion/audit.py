"""What must hold of a source's rows after any ingestion, and what its documents say at a moment."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from app.domain.temporal import Period, Version
from app.providers.parsers.registry import parse
from app.storage.tables import metadata

TICK = timedelta(microseconds=1)
BELIEVED = "organisation_id = $1 AND source_id = $2 AND system_to IS NULL"


@dataclass(frozen=True)
class Told:
    """A version of a document as it is believed now."""

    document: UUID
    name: str
    title: str
    text: str
    valid: Period


class Auditor:
    """Reads the rows of one organisation as their owner."""

    def __init__(self, owner, world):
        self._owner = owner
        self._world = world
        self.organisation = world.organisation

    async def fetch(self, query, *values):
        return await self._owner.fetch(query, self.organisation, *values)

    async def told(self, source) -> list[Told]:
        rows = await self.fetch(
            """
            SELECT v.document_id, v.external_id, v.title, t.text, v.valid_from, v.valid_to FROM document_versions v
            JOIN contents t ON t.organisation_id = v.organisation_id AND t.sha256 = v.content_sha256
            WHERE v.organisation_id = $1 AND v.source_id = $2 AND v.system_to IS NULL
            ORDER BY v.external_id, v.valid_from
            """,
            source.id,
        )
        return [Told(*list(row.values())[:4], Period(row["valid_from"], row["valid_to"])) for row in rows]

    async def texts_at(self, source, instant: datetime) -> dict[str, str]:
        """Name → text of what holds at a valid instant, as it is believed now."""
        return {item.name: item.text for item in await self.told(source) if item.valid.contains(instant)}

    async def rows(self) -> dict[str, frozenset]:
        """Every row of the organisation, in every table, by where it lies and which transaction wrote it: a row that
        is written again, even with the same values, is another."""
        found = {}
        for table in metadata.tables:
            rows = await self.fetch(f"SELECT tableoid, ctid::text, xmin::text FROM {table} WHERE organisation_id = $1")
            found[table] = frozenset(tuple(row.values()) for row in rows)
        return found

    async def chunks(self, source) -> dict[UUID, dict]:
        return {row["id"]: dict(row) for row in await self.fetch(f"SELECT * FROM chunks WHERE {BELIEVED}", source.id)}

    async def texts_of_chunks(self, ids) -> Counter:
        rows = await self.fetch(
            "SELECT t.text FROM chunks c JOIN texts t ON t.organisation_id = c.organisation_id "
            "AND t.sha256 = c.text_sha256 WHERE c.organisation_id = $1 AND c.id = ANY($2)",
            list(ids),
        )
        return Counter(row["text"] for row in rows)

    async def queued(self) -> set[UUID]:
        return {
            row["chunk_id"]
            for row in await self.fetch("SELECT chunk_id FROM embedding_queue WHERE organisation_id = $1")
        }

    async def vectors(self, source) -> dict[UUID, str]:
        rows = await self.fetch(f"SELECT chunk_id, vector::text AS v FROM embeddings WHERE {BELIEVED}", source.id)
        return {row["chunk_id"]: row["v"] for row in rows}

    async def check(self, source) -> None:
        """At every valid instant the chunks are exactly the slices of the contents that hold, cut anew here; postings
        and embeddings have the clocks of their chunk; what has no embedding waits for one."""
        told = await self.told(source)
        chunks = await self.chunks(source)
        expected = defaultdict(list)
        for item in told:
            content = self._world.parts.preparer.content(
                item.name, parse(item.name, item.text.encode()), source.language
            )
            assert content.title == item.title
            expected[item.document] += [(item.valid, piece) for piece in content.slices]
        held = defaultdict(list)
        for chunk in chunks.values():
            held[chunk["document_id"]].append((Period(chunk["valid_from"], chunk["valid_to"]), chunk))
        assert held.keys() <= expected.keys()
        for document, pieces in expected.items():
            edges = {edge for valid, _ in [*pieces, *held[document]] for edge in (valid.start, valid.end) if edge}
            for instant in sorted({edge + shift for edge in edges for shift in (-TICK, timedelta())}):
                assert Counter(
                    chunk["identity"] for valid, chunk in held[document] if valid.contains(instant)
                ) == Counter(piece.identity for valid, piece in pieces if valid.contains(instant))
        await self._check_places(chunks)
        await self._check_companions(source, chunks)
        await self._check_clocks(source)

    async def _check_places(self, chunks) -> None:
        rows = await self.fetch(
            """
            SELECT c.id, substr(d.text, c.start_offset + 1, c.end_offset - c.start_offset) = t.text AS exact
            FROM chunks c JOIN contents d ON d.organisation_id = c.organisation_id AND d.sha256 = c.content_sha256
            JOIN texts t ON t.organisation_id = c.organisation_id AND t.sha256 = c.text_sha256
            WHERE c.organisation_id = $1 AND c.id = ANY($2)
            """,
            list(chunks),
        )
        assert {row["id"]: row["exact"] for row in rows} == dict.fromkeys(chunks, True)

    async def _check_companions(self, source, chunks) -> None:
        clocks = {id: (chunk["valid_from"], chunk["valid_to"]) for id, chunk in chunks.items()}
        for table in ("postings", "embeddings"):
            rows = await self.fetch(f"SELECT * FROM {table} WHERE {BELIEVED}", source.id)
            found = {row["chunk_id"]: (row["valid_from"], row["valid_to"]) for row in rows}
            assert len(found) == len(rows)
            waiting = await self.queued() if table == "embeddings" else set()
            assert not waiting & found.keys()
            assert found == {id: clock for id, clock in clocks.items() if id not in waiting}
            if table == "embeddings":
                assert all(row["live"] == (row["valid_to"] is None) for row in rows)

    async def _check_clocks(self, source) -> None:
        """History too: no document says two things at one point of both clocks, and nothing closed stays live."""
        versions = defaultdict(list)
        for row in await self.fetch(
            "SELECT * FROM document_versions WHERE organisation_id = $1 AND source_id = $2", source.id
        ):
            versions[row["document_id"]].append(
                Version(
                    Period(row["valid_from"], row["valid_to"]),
                    Period(row["system_from"], row["system_to"]),
                    row["content_sha256"],
                )
            )
        for rectangles in versions.values():
            for number, one in enumerate(rectangles):
                for two in rectangles[number + 1 :]:
                    assert not (one.valid.overlaps(two.valid) and one.system.overlaps(two.system))
        mixed = await self.fetch(
            "SELECT count(*) FROM embeddings WHERE organisation_id = $1 AND source_id = $2 "
            "AND live <> (system_to IS NULL AND valid_to IS NULL)",
            source.id,
        )
        assert mixed[0][0] == 0
