"""R13: the same question at the same two moments has the same answer to the bit, whatever is written afterwards."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import HealthCheck, given
from hypothesis import settings as bounded
from hypothesis import strategies as st
from sqlalchemy import text

from app.domain.locality import Locality
from app.ingestion.embedding import EmbeddingWorker
from app.providers.embedder.base import Vectors
from app.providers.embedder.hashing import HashingEmbedder
from tests.fixtures.store import make_world
from tests.retrieval.shelves import docs, make_shelf, moments, questions, timelines

WIDE = {"top_k": 50, "max_per_level": 50, "max_passages_per_document": 50, "token_budget": None}


def account(answer):
    """All of an answer but what is new each time: ids of the request, timings, whether it was the present."""
    return answer.passages, answer.exclusions, answer.sources, answer.tokens_total, answer.search.candidates


async def again(world, answer, options):
    clocks = {"as_of": answer.contract.valid_at, "known_at": answer.contract.known_at}
    return account(await world.ask(**{**options, **clocks}))


steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), docs, timelines(), st.booleans()),
        st.tuples(st.just("settle")),
        st.tuples(st.just("ask"), questions, moments | st.none()),
        st.tuples(st.just("ask"), questions, moments | st.none()),
    ),
    min_size=6,
    max_size=18,
)


@bounded(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(steps)
async def test_every_answer_ever_given_is_given_again(parts, steps):
    shelf = await make_shelf(parts)
    answers = []
    for step in steps:
        match step:
            case ("write", doc, timeline, embed):
                await shelf.write(doc, timeline, embed=embed)
            case ("settle",):
                await shelf.world.settle()
            case ("ask", options, as_of):
                answers.append((options, await shelf.world.ask(**options, as_of=as_of)))
    await shelf.world.settle()
    for options, answer in answers:
        assert await again(shelf.world, answer, options) == account(answer)


@dataclass(frozen=True)
class Another:
    """Another model, of as many dimensions, that sees the same in every text."""

    model: str = "another"
    dimensions: int = HashingEmbedder.dimensions
    locality: Locality = "in_deployment"
    in_process: bool = True
    languages: frozenset[str] | None = None

    def reads(self, text: str) -> bool:
        return True

    def embed(self, texts) -> Vectors:
        return np.full((len(texts), self.dimensions), self.dimensions**-0.5, dtype=np.float32)

    async def embed_query(self, text: str):
        return self.embed([text])[0]

    async def embed_documents(self, texts) -> Vectors:
        return self.embed(texts)


async def embed_anew(world, embedder):
    """Queue every chunk once more and drain the queue with `embedder`."""
    async with world.parts.database.write(world.organisation) as session:
        await session.run(
            text(
                "INSERT INTO embedding_queue (organisation_id, chunk_id) SELECT organisation_id, id FROM chunks "
                "WHERE organisation_id = :organisation AND system_to IS NULL ON CONFLICT DO NOTHING"
            ),
            {"organisation": world.organisation},
        )
    await EmbeddingWorker(world.parts.database, embedder).drain(world.organisation)


async def many(world, first, last):
    """Documents of equal and of different texts: ties, and more than a leg names."""
    for number in range(first, last, 20):
        sections = "\n\n".join(
            f"# Rule {n % 7}\n\nRefunds follow rule {n % 7} in case {n % 3}." for n in range(number, number + 20)
        )
        await world.write(f"part-{number}.md", (sections, None, None))


async def test_nothing_written_later_moves_a_pinned_answer(world, parts):
    asked = [
        {"query": "refunds follow which rule", **WIDE},
        {"query": "refunds rule 3 case 1"},
        {"query": "case", "token_budget": 40},
        {"query": "rule", "source_kinds": ["docs"], "max_per_level": 50},
    ]
    await many(world, 0, 80)
    waiting = [(options, await world.ask(**options)) for options in asked]
    await world.settle()
    settled = [(options, await world.ask(**options)) for options in asked]
    assert any(account(one[1]) != account(two[1]) for one, two in zip(waiting, settled, strict=True))

    async def all_stand():
        for options, answer in (*waiting, *settled):
            assert await again(world, answer, options) == account(answer)

    await all_stand()
    other = await make_world(parts)
    await other.write("theirs.md", ("Refunds follow rule 3 in case 1.", None, None))
    await other.settle()
    await all_stand()
    # New documents, and with them other frequencies of every word.
    await many(world, 200, 300)
    await world.write("rare.md", ("case " * 50, None, None))
    await all_stand()
    await world.settle()
    await all_stand()
    changed = [(options, await world.ask(**options)) for options in asked]
    assert any(account(one[1]) != account(two[1]) for one, two in zip(settled, changed, strict=True))
    # Embedded once more, by this model and by another.
    await embed_anew(world, parts.retriever.embedder)
    await embed_anew(world, Another())
    await all_stand()
    # Corrected, retracted, ended, and written again as it was.
    await world.write("part-0.md", ("# Rule 3\n\nRefunds follow no rule at all in case 1.", None, None))
    await world.write("part-20.md")
    end = settled[0][1].contract.valid_at
    await world.write("part-40.md", ("# Rule 0\n\nRefunds follow rule 0 in case 0.", None, end))
    await world.settle()
    await all_stand()
    await many(world, 0, 80)
    await world.settle()
    await all_stand()


async def test_equal_scores_are_ordered_by_id(world):
    for number in range(12):
        await world.write(f"{number}.txt", (f"Refunds follow one rule. {'.' * number}", None, None))
    await world.settle()
    alone = replace(world, parts=replace(world.parts, retriever=replace(world.parts.retriever, embedder=None)))
    answer = await alone.ask("refunds follow one rule", **WIDE)
    by_score = {}
    for item in answer.passages:
        by_score.setdefault(item.candidate.score, []).append(item.candidate.id)
    assert max(map(len, by_score.values())) > 1
    assert all(ids == sorted(ids) for ids in by_score.values())
