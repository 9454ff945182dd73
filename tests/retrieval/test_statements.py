"""How many SQL statements a retrieval takes: few, and not more for a greater answer or a greater store."""

from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import event

from app.retrieval.gather import FEW

WIDE = {"top_k": 50, "max_per_level": 50, "max_passages_per_document": 50, "token_budget": None}

#: The transaction's settings; who may search what; word statistics; each leg; both signals of all candidates; the texts
#: of the survivors; the record. One more where subjects or memories are read.
MOST = 9


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


async def count(world, query, **options):
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
    assert now == past == older


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
    sections = "\n\n".join(f"# S{n}\n\n{' '.join(common)}" for n in range(FEW + 30))
    await world.write("many.md", (sections, None, None))
    issues = await world.add_source("issues", kind="issues")
    await world.write("one.md", (" ".join(common), None, None), source=issues)
    await world.settle()
    few, _ = await count(world, common[0], source_kinds=["issues"])
    number, answer = await count(world, " ".join(common), source_kinds=["issues"])
    assert [item.passage.external_id for item in answer.passages] == ["one.md"]
    assert number <= few + 2
