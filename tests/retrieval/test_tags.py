"""The tags filter: any of them, as the documents carry them at the point of both clocks, in every leg."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.errors import MunimentError
from app.domain.selection import Reason
from app.memory.resolve import Named
from app.memory.revision import Changes
from app.retrieval.request import MAX_TAG
from tests.fixtures.store import make_world
from tests.retrieval.test_statements import count

WIDE = {"top_k": 50, "max_per_level": 50, "max_passages_per_document": 50, "token_budget": None}
TEXT = "Refunds are authorised by tier two agents."


def names(answer):
    return {item.passage.external_id for item in answer.passages}


@pytest.fixture
async def shelf(world, instant):
    for name, tags in (("a.md", ("a",)), ("ab.md", ("a", "b")), ("c.md", ("c",)), ("none.md", ())):
        await world.write(name, (f"# {name}\n\n{TEXT}", instant, None), tags=tags)
    await world.settle()
    return world


def text_only(world):
    return replace(world, parts=replace(world.parts, retriever=replace(world.parts.retriever, embedder=None)))


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        (None, {"a.md", "ab.md", "c.md", "none.md"}),
        ([], set()),
        (["a"], {"a.md", "ab.md"}),
        (["b", "c"], {"ab.md", "c.md"}),
        (["a", "a", "unknown"], {"a.md", "ab.md"}),
        (["A"], set()),
        (["a' OR '1'='1' --"], set()),
        (["{a}"], set()),
        ([""], set()),
        (["%"], set()),
    ],
)
async def test_any_of_them(shelf, tags, found):
    """CASE 33: null is not given, an empty list admits nothing."""
    for world in (shelf, text_only(shelf)):
        answer = await world.ask("who authorises refunds", tags=tags, **WIDE)
        assert names(answer) == found
        assert answer.search.candidates == len(found)
        assert answer.contract.parameters.tags == (None if tags is None else tuple(dict.fromkeys(tags)))


async def test_what_was_set_aside_is_told_without_a_count(shelf):
    answer = await shelf.ask("refunds", tags=["a"], **WIDE)
    assert [(item.type, item.stage, item.count) for item in answer.exclusions] == [
        (Reason.CALLER_FILTER, "gather", None)
    ]
    # A filter that admits nothing sets whole sources aside.
    answer = await shelf.ask("refunds", tags=[], **WIDE)
    assert [(item.type, item.stage, item.count) for item in answer.exclusions] == [
        (Reason.CALLER_FILTER, "authorise", 1)
    ]


@pytest.mark.parametrize("tag", ["a\x00b", "\ud800", "x" * (MAX_TAG + 1)])
async def test_what_no_tag_can_be(shelf, tag):
    with pytest.raises(MunimentError) as caught:
        await shelf.ask("refunds", tags=[tag])
    assert caught.value.field == "tags"


async def test_the_version_at_the_point_of_both_clocks_decides(world, instant):
    """A slice outlives the version that it came with: its document was tagged otherwise then."""
    day = timedelta(days=1)
    await world.write("memo.md", (TEXT, instant, instant + day), tags=("draft",))
    await world.settle()
    drafted = (await world.ask("refunds", tags=["draft"], as_of=instant)).contract.known_at
    await world.write("memo.md", (TEXT, instant, None), tags=("final",))
    await world.settle()
    for as_of in (None, instant, instant + 2 * day):
        assert names(await world.ask("refunds", tags=["final"], as_of=as_of)) == {"memo.md"}
        assert names(await world.ask("refunds", tags=["draft"], as_of=as_of)) == set()
    then = {"known_at": drafted, "as_of": instant}
    assert names(await world.ask("refunds", tags=["draft"], **then)) == {"memo.md"}
    assert names(await world.ask("refunds", tags=["final"], **then)) == set()
    assert names(await world.ask("refunds", tags=["draft"], known_at=drafted, as_of=instant + day)) == set()


async def test_memories_are_not_narrowed(shelf):
    """As `subjectId` narrows memories only, so tags narrow passages only."""
    await shelf.parts.memory.remember(
        shelf.principal,
        Named(space_key="project"),
        Changes(text="Refunds took a week.", tags=("x",)),
        since=None,
        until=None,
        from_now=True,
    )
    for tags in (None, [], ["a"], ["x"]):
        answer = await shelf.ask("refunds", tags=tags)
        assert [item.text.text for item in answer.memories] == ["Refunds took a week."]


async def test_another_organisations_tags_are_its_own(shelf, parts):
    other = await make_world(parts)
    await other.write("theirs.md", (TEXT, None, None), tags=("a",))
    await other.settle()
    assert names(await other.ask("refunds", tags=["a"])) == {"theirs.md"}
    assert "theirs.md" not in names(await shelf.ask("refunds", tags=["a"]))


async def test_it_takes_no_further_statement(shelf):
    without, _ = await count(shelf, "who authorises refunds")
    for tags in (["a"], ["a", "b", "c"]):
        assert (await count(shelf, "who authorises refunds", tags=tags))[0] == without


async def test_as_many_as_there_are(world, instant):
    """The filter stands inside each leg, before its LIMIT: a few tagged documents are found among many others."""
    for number in range(3):
        text = "\n\n".join(f"# R{number}-{part}\n\nRefunds refunds refunds memo." for part in range(60))
        await world.write(f"many-{number}.md", (text, instant, None), tags=("other",))
    await world.write("rare.md", ("# Elsewhere\n\nA note that mentions a refund once.", instant, None), tags=("rare",))
    await world.settle()
    for asked in (world, text_only(world)):
        assert names(await asked.ask("refunds memo", tags=["rare"])) == {"rare.md"}


TAGS = st.lists(st.sampled_from("abcd"), max_size=3, unique=True)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=st.one_of(st.none(), TAGS))
async def test_exactly_the_documents_that_carry_one(shelf, asked):
    carried = {"a.md": {"a"}, "ab.md": {"a", "b"}, "c.md": {"c"}, "none.md": set()}
    answer = await shelf.ask("who authorises refunds", tags=asked, **WIDE)
    assert names(answer) == {name for name, tags in carried.items() if asked is None or tags & set(asked)}
