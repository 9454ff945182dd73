"""The graph of a content is stored with it, once, whoever has the content; and only for what has one."""

import pytest
from sqlalchemy import text

from tests.fixtures.store import make_world

CODE = "import m\n\n\ndef f():\n    return m.g()\n"
PAGE = "See [the other](other.md)."
TABLES = ["content_graphs", "code_definitions", "code_references", "code_imports", "document_links"]


async def counts(world):
    async with world.parts.database.snapshot(world.organisation) as session:
        return {table: await session.value(text(f"SELECT count(*) FROM {table}")) for table in TABLES}


def held(**some):
    return dict.fromkeys(TABLES, 0) | some


ONE = held(content_graphs=1, code_definitions=1, code_references=1, code_imports=1)


async def test_code_has_a_graph_and_is_given_it_once(world):
    await world.write("a.py", (CODE, None, None))
    assert await counts(world) == ONE
    await world.write("a.py", (CODE, None, None))
    await world.write("copy.py", (CODE, None, None))
    assert await counts(world) == ONE


async def test_every_revision_has_its_own(world, instant):
    later = CODE.replace("g()", "g(m.h())")
    await world.write("a.py", (CODE, None, instant), (later, instant, None))
    assert await counts(world) == held(content_graphs=2, code_definitions=2, code_references=3, code_imports=2)
    await world.write("a.py", (CODE, None, None))
    assert (await counts(world))["content_graphs"] == 2


async def test_each_organisation_has_its_own(world, parts):
    other = await make_world(parts)
    await world.write("a.py", (CODE, None, None))
    assert await counts(other) == held()
    await other.write("a.py", (CODE, None, None))
    assert await counts(other) == await counts(world) == ONE


async def test_pages_have_links(world):
    await world.write("a.md", (PAGE, None, None))
    await world.write("b.html", ('<p>See <a href="a.html">a</a></p>', None, None))
    assert await counts(world) == held(content_graphs=2, document_links=2)


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.sql"])
async def test_what_is_no_code_has_none(world, name):
    await world.write(name, (CODE, None, None))
    assert await counts(world) == held()


async def test_a_content_that_was_text_first_is_read_when_it_is_code(world):
    await world.write("a.txt", (CODE, None, None))
    assert await counts(world) == held()
    await world.write("a.py", (CODE, None, None))
    assert await counts(world) == ONE


async def test_code_that_says_nothing_is_known_to_have_been_read(world):
    await world.write("a.py", ("x = 1\n", None, None))
    assert await counts(world) == held(content_graphs=1)
