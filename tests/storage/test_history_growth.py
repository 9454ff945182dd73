"""T6: with ten times as many past versions, a question about now reads about as many rows and pages as before.

The past is made by the code itself, one write after the other, so that its traces in tables and indexes are the real
ones. Counted are rows and pages, not seconds.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import pytest

from app.domain import lexical
from app.domain.document import DocumentFacts
from app.domain.principal import Level
from app.domain.temporal import AsOf, Period, Portion
from app.ingestion.embedding import EmbeddingWorker
from app.ingestion.reconcile import cut_of
from app.ingestion.sources import Provider, ensure_source
from app.ingestion.store import Wanted, write_batch
from app.providers.embedder.hashing import HashingEmbedder
from app.providers.ids import new_id
from app.providers.parsers.registry import parse
from app.storage import passages, search_text, search_vector, tenancy
from app.storage.engine import Database
from app.storage.scope import Scope
from tests.fixtures.explain import explained
from tests.fixtures.owner import connection
from tests.storage.test_clock import CLOCK

DOCUMENTS, SECTIONS, ROUNDS = 48, 4, 10


def page(document: int, revision: int) -> bytes:
    """Every section changes with every revision, but speaks of the same things."""
    sections = [
        f"## Part {part}\n\nThe refund desk number {document * SECTIONS + part} follows rule {revision} of the book."
        for part in range(SECTIONS)
    ]
    return "\n\n".join([f"# Page {document}", *sections]).encode()


class Cost(NamedTuple):
    """What a statement looks at."""

    rows: int
    entries: int
    pages: int


@dataclass
class Library:
    database: Database
    organisation: object
    source: object
    parts: object
    embedder: HashingEmbedder

    async def write(self, revisions: int, start, *, history: bool) -> None:
        """Every page in so many revisions, a day each; with `history` they were all true in their day, without it each
        belief replaces the one before."""
        wanted, contents = [], {}
        for document in range(DOCUMENTS):
            timeline = []
            for revision in range(revisions) if history else [revisions - 1]:
                parsed = parse("page.md", page(document, revision))
                content = self.parts.preparer.content("page.md", parsed, "english")
                facts = DocumentFacts(content.sha256, "page.md", content.title, content.mime)
                contents[cut_of(facts)] = content
                last = not history or revision == revisions - 1
                began = start + timedelta(days=revision) if history else start
                timeline.append(Portion(Period(began, None if last else began + timedelta(days=1)), facts))
            wanted.append(Wanted(str(document), tuple(timeline)))
        await write_batch(self.database, self.organisation, self.source, wanted, contents, embed=True)
        await EmbeddingWorker(self.database, self.embedder).drain(self.organisation)

    async def cost(self) -> dict[str, Cost]:
        """Of each statement of a retrieval about now."""
        async with explained(self.database, self.organisation) as session:
            clock = await session.value(CLOCK, {"organisation": self.organisation})
            scope = Scope(self.organisation, AsOf(clock, clock), True)
            words = self.parts.preparer.analyser("english").lexemes("refund desk 17")
            numbers = [lexical.lexeme_id(word) for word in words]
            terms = search_text.term_vector({lexical.dimension(number): 1.0 for number in numbers})
            vector = np.asarray(self.embedder.embed(["the refund desk 17"])[0])
            session.plans.clear()
            hits = await search_text.search(
                session,
                scope,
                sources=[self.source.id],
                keys=[lexical.keys(self.source.space_id, numbers)],
                terms=terms,
                limit=50,
            )
            near = await search_vector.search(
                session, scope, sources=[self.source.id], query=vector, model=self.embedder.model, limit=50
            )
            ids = sorted({hit.chunk_id for hit in [*hits, *near]})[:50]
            await passages.named(session, scope, ids, query=vector, model=self.embedder.model, terms=terms)
            found = await passages.passages(session, scope, ids[:8])
            assert (len(hits), len(near), len(found)) == (50, 50, 8)
            names = ("text", "vector", "named", "passages")
            return {
                name: Cost(plan.fetched, plan.entries, plan.buffers)
                for name, plan in zip(names, session.plans, strict=True)
            }


TOUCHED = "chunks, texts, document_versions, postings, embeddings, embedding_queue"


@pytest.fixture(scope="module")
async def growth(loaded, parts, instant):
    """What a retrieval costs before and after ten rounds, by the kind of history; other organisations stand beside."""
    found = {}
    async with connection(loaded.owner_url) as owner:
        for history in (False, True):
            organisation, root = uuid4(), new_id()
            await tenancy.create_organisation(loaded.database, organisation, organisation.hex, "Library")
            async with loaded.database.write(organisation) as session:
                await tenancy.create_space(
                    session, id=root, parent=None, key_path="/", level=Level.ORGANISATION, name="Root"
                )
            source = await ensure_source(
                loaded.database, organisation, root, Provider.FILESYSTEM, name="library", kind="docs"
            )
            library = Library(loaded.database, organisation, source, parts, HashingEmbedder())
            await library.write(1, instant, history=history)
            await owner.execute(f"VACUUM ANALYZE {TOUCHED}")
            before = await library.cost()
            for revisions in range(2, ROUNDS + 2):
                await library.write(revisions, instant, history=history)
                if revisions % 3 == 0:  # as often as autovacuum would
                    await owner.execute(f"VACUUM {TOUCHED}")
            churned = await library.cost()
            await owner.execute(f"VACUUM ANALYZE {TOUCHED}")
            found[history] = before, churned, await library.cost()
            library.embedder.close()
            rows = await owner.fetchval("SELECT count(*) FROM chunks WHERE organisation_id = $1", organisation)
            assert rows >= DOCUMENTS * SECTIONS * (ROUNDS + 1)
    return found


@pytest.mark.parametrize("history", [False, True], ids=["superseded", "valid-closed"])
@pytest.mark.parametrize("statement", ["text", "vector", "named", "passages"])
def test_history_does_not_slow_the_present(growth, history, statement):
    before, _, after = (cost[statement] for cost in growth[history])
    assert after.rows <= 1.1 * before.rows
    assert after.entries <= 1.1 * before.entries
    # Rows that shared a page may lie alone on theirs later, and the other way round.
    assert after.pages <= 1.1 * before.pages + after.rows


@pytest.mark.parametrize("history", [False, True], ids=["superseded", "valid-closed"])
@pytest.mark.parametrize("statement", ["text", "vector", "named", "passages"])
def test_until_it_is_swept_the_past_costs_entries_but_no_rows(growth, history, statement):
    before, churned, _ = (cost[statement] for cost in growth[history])
    assert churned.rows <= 1.1 * before.rows
    assert churned.entries <= (ROUNDS + 1) * before.entries
