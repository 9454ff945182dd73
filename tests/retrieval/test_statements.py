"""How many SQL statements a retrieval takes: few, and not more for a greater answer or a greater store."""

from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import event

from app.retrieval.cache import SearchCache
from app.retrieval.words import BUDGET

WIDE = {"top_k": 50, "max_per_level": 50, "max_passages_per_document": 50, "token_budget": None}

#: The transaction's settings; who may search what; word statistics; each leg; both signals of all candidates; the texts
#: of the survivors; until when the search stands; the record with its trace. One more where subjects or memories are
#: read, and where the near misses are asked for.
MOST = 10


@contextmanager
def statements(database):
    seen = []

    def note(connection, cursor, statement, parameters, context, executemany):
        seen.append(statement)

    engine = database._engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)


def with_cache(world, cache):
    """The same world, remembering its searches there."""
    return replace(world, parts=replace(world.parts, retriever=replace(world.parts.retriever, cache=cache)))


async def count(world, query, **options):
    """Of a question that nobody asked before."""
    world = with_cache(world, SearchCache())
    with statements(world.parts.database) as seen:
        answer = await world.ask(query, **options)
    return len(seen), answer


@pytest.fixture
async def shelf(world):
    await world.write("first.md", ("Refunds are authorised.", None, None))
    await world.settle()
    return world


async def test_the_number_of_statements_depends_on_neither_the_answer_nor_the_store(shelf):
    small, answer = await count(shelf, "refunds")
    assert len(answer.passages) == 1
    assert small <= MOST
    sections = "\n\n".join(f"# Rule {n}\n\nRefunds follow rule {n}." for n in range(80))
    part = await shelf.add_source("more")
    await shelf.write("many.md", (sections, None, None), source=part)
    for number in range(5):
        await shelf.write(f"more-{number}.md", (f"Refunds in memo {number}.", None, None))
    await shelf.settle()
    for options in ({}, WIDE, {**WIDE, "top_k": 0}, {**WIDE, "token_budget": 100}):
        number, answer = await count(shelf, "refunds", **options)
        assert number == small
    number, answer = await count(
        shelf, "how are refunds authorised and which rule do they follow in which memo", **WIDE
    )
    assert (number, len(answer.passages)) == (small, 50)


async def test_a_past_reading_takes_as_many(shelf):
    now, answer = await count(shelf, "refunds")
    past, _ = await count(shelf, "refunds", as_of=answer.contract.valid_at, known_at=answer.contract.known_at)
    await shelf.write("second.md", ("More.", None, None))
    older, _ = await count(shelf, "refunds", as_of=answer.contract.valid_at, known_at=answer.contract.known_at)
    # No change in the world ends an answer about a named moment.
    assert now == past + 1
    assert past == older


async def test_near_misses_take_one_more(shelf):
    plain, _ = await count(shelf, "refunds")
    number, _ = await count(shelf, "refunds", near_misses=True)
    assert number == plain + 1
    silent, _ = await count(shelf, None)
    number, _ = await count(shelf, None, near_misses=True)
    assert number == silent


async def test_no_trace_takes_as_many(shelf):
    traced, _ = await count(shelf, "refunds")
    off = replace(shelf, parts=replace(shelf.parts, retriever=replace(shelf.parts.retriever, traces=False)))
    number, answer = await count(off, "refunds")
    assert number == traced
    assert answer.trace_id is None


async def test_a_remembered_search_takes_none_of_its_own(shelf):
    world = with_cache(shelf, SearchCache())
    await world.ask("refunds", near_misses=True)
    with statements(world.parts.database) as seen:
        answer = await world.ask("refunds", near_misses=True)
    assert answer.search.cache_hit
    plain, _ = await count(shelf, "refunds")
    # Not the word statistics, the two legs, the signals, and until when it stands.
    assert len(seen) == plain - 5


async def test_without_a_question_no_search_is_made(shelf):
    asked, _ = await count(shelf, "refunds")
    silent, _ = await count(shelf, None)
    assert silent < asked


async def test_text_alone_takes_fewer(shelf):
    both, _ = await count(shelf, "refunds")
    alone = replace(shelf, parts=replace(shelf.parts, retriever=replace(shelf.parts.retriever, embedder=None)))
    text, _ = await count(alone, "refunds")
    assert text == both - 1


async def test_a_question_of_many_common_words_under_a_filter_takes_a_bounded_number(world):
    """Every word is common in the space, and the filter leaves fewer chunks than a leg asks for."""
    common = [f"common{chr(97 + n)}{chr(97 + n)}" for n in range(20)]
    sections = "\n\n".join(f"# S{n}\n\n{' '.join(common)}" for n in range(BUDGET // 8))
    await world.write("many.md", (sections, None, None))
    issues = await world.add_source("issues", kind="issues")
    await world.write("one.md", (" ".join(common), None, None), source=issues)
    await world.settle()
    few, _ = await count(world, common[0], source_kinds=["issues"])
    number, answer = await count(world, " ".join(common), source_kinds=["issues"])
    assert [item.passage.external_id for item in answer.passages] == ["one.md"]
    assert number <= few + 2


async def test_a_quotation_takes_one_more(shelf):
    plain, _ = await count(shelf, "refunds authorised")
    quoted, _ = await count(shelf, '"are authorised" refunds')
    assert quoted == plain + 1


async def test_to_ask_the_index_takes_one_more_to_decide_it(shelf):
    """And nothing where it is not worth it: the exact search is then the one that would have been."""
    plain, _ = await count(shelf, "refunds")
    retriever = replace(shelf.parts.retriever, approximate=True)
    number, answer = await count(replace(shelf, parts=replace(shelf.parts, retriever=retriever)), "refunds")
    assert (number, answer.search.vector_mode) == (plain + 1, "exact")
