"""Looking through a lens: it narrows, in every leg, never widens, and is read as it was known then."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from app.domain.errors import Code, MunimentError
from app.domain.principal import Level, Permission
from app.domain.selection import Reason
from app.evidence.attribution import find
from app.memory.resolve import Named
from app.memory.revision import Changes
from app.retrieval.lenses import LensParts, change_lens, create_lens, retract_lens
from tests.fixtures.store import make_world
from tests.retrieval.test_authorise import add_personal
from tests.retrieval.test_statements import count

SEARCH = Permission.SEARCH
TEXT = "Refunds are authorised by tier two agents."
WIDE = {"top_k": 50, "max_per_level": 50, "max_passages_per_document": 50, "token_budget": None}


def names(answer):
    return {item.passage.external_id for item in answer.passages}


def remembered(answer):
    return {item.text.text for item in answer.memories}


async def refused(asking):
    with pytest.raises(MunimentError) as caught:
        await asking
    return caught.value.code, caught.value.field


async def remember(world, words, **named):
    await world.parts.memory.remember(
        world.principal, Named(**named), Changes(text=words), since=None, until=None, from_now=True
    )


@pytest.fixture
async def tree(world):
    """A document and a memory in the organisation's space, a project, and a part of it; two kinds of sources."""
    part = await world.add_space("project/part", Level.SUBPROJECT, "project")
    for name, space, kind in (
        ("root", world.root, "docs"),
        ("project", world.project, "issues"),
        ("part", part, "docs"),
    ):
        source = await world.add_source(name, space, kind)
        await world.write(f"{name}.md", (f"Of {name}: {TEXT}", None, None), source=source, tags=(name, "all"))
        await remember(world, f"Of {name}.", space_id=str(space))
    await world.settle()
    return world


async def lens(world, by=None, home=None, **parts):
    made = await create_lens(
        world.parts.database, by or world.principal, LensParts(name="Lens", **parts), space_id=home and str(home)
    )
    return str(made.id)


async def asked(world, lens_id, by=None, **options):
    return await world.ask("refunds", by=by, lens_id=lens_id, **{"space_key": "project/part", **WIDE, **options})


EVERYTHING = {"root.md", "project.md", "part.md"}


async def test_its_spaces_and_those_searched_intersect(tree):
    part = tree.sources["part"].space_id
    for spaces, found in (
        (None, EVERYTHING),
        ((), set()),
        ((str(tree.project),), {"project.md"}),
        ((str(tree.root), str(part)), {"root.md", "part.md"}),
    ):
        answer = await asked(tree, await lens(tree, space_ids=spaces))
        assert names(answer) == found
        assert remembered(answer) == {f"Of {name.removesuffix('.md')}." for name in found}
    # A lens never widens: the part is not searched from the project.
    assert names(await asked(tree, await lens(tree, space_ids=(str(part),)), space_key="project")) == set()


async def test_its_filters_and_the_requests_intersect(tree):
    issues = await lens(tree, source_kinds=("issues",))
    assert names(await asked(tree, issues)) == {"project.md"}
    assert names(await asked(tree, issues, source_kinds=["issues", "docs"])) == {"project.md"}
    assert names(await asked(tree, issues, source_kinds=["docs"])) == set()
    assert names(await asked(tree, issues, source_kinds=[])) == set()
    assert names(await asked(tree, await lens(tree, providers=("filesystem",)), providers=["git"])) == set()
    assert names(await asked(tree, await lens(tree, providers=("filesystem",)))) == EVERYTHING
    for name in ("source_kinds", "providers", "tags"):
        assert names(await asked(tree, await lens(tree, **{name: ()}))) == set()
    # A document carries a tag of each: of the lens's and of the request's.
    everywhere = await lens(tree, tags=("all", "unknown"))
    assert names(await asked(tree, everywhere)) == EVERYTHING
    assert names(await asked(tree, everywhere, tags=["root", "part"])) == {"root.md", "part.md"}
    assert names(await asked(tree, await lens(tree, tags=("project",)), tags=["part"])) == set()
    assert names(await asked(tree, await lens(tree, tags=("project",)), tags=["all"])) == {"project.md"}


async def test_what_it_sets_aside_is_counted_as_a_filter_does(tree):
    answer = await asked(tree, await lens(tree, source_kinds=("issues",)))
    aside = [(item.type, item.source_kind, item.count) for item in answer.exclusions if item.count]
    # The world's own source in the project is of docs too.
    assert aside == [(Reason.CALLER_FILTER, "docs", 3)]


async def test_a_space_in_it_that_the_caller_may_not_see_is_not_there(tree):
    """CASE 35, in every leg: nothing is served, nothing is counted."""
    hidden = await tree.add_space("hidden", Level.PROJECT)
    source = await tree.add_source("hidden", hidden)
    await tree.write("hidden.md", (TEXT, None, None), source=source, tags=("all",))
    await tree.settle()
    await remember(tree, "Of hidden.", space_id=str(hidden))
    part = tree.sources["part"].space_id
    member = await tree.add_person("member", (part, SEARCH))
    both = await lens(tree, home=part, space_ids=(str(hidden), str(tree.project), str(part)))
    alone = await lens(tree, home=part, space_ids=(str(part),))
    seen, compared = await asked(tree, both, member), await asked(tree, alone, member)
    assert names(seen) == {"part.md"}
    assert remembered(seen) == {"Of part."}
    assert (seen.exclusions, seen.limitations, seen.search.candidates) == (
        compared.exclusions,
        compared.limitations,
        compared.search.candidates,
    )
    only = await lens(tree, home=part, space_ids=(str(hidden),))
    nothing = await lens(tree, home=part, space_ids=())
    seen, compared = await asked(tree, only, member), await asked(tree, nothing, member)
    assert (names(seen), seen.exclusions, seen.limitations) == (set(), compared.exclusions, compared.limitations)


async def test_unknown_malformed_invisible_and_foreign_lenses_are_one_answer(tree, parts):
    other = await make_world(parts)
    hidden = await tree.add_space("hidden", Level.PROJECT)
    member = await tree.add_person("member", (tree.project, SEARCH))
    for named in (
        str(uuid4()),
        "x",
        "",
        "a\x00b",
        await lens(tree, home=hidden),
        await lens(tree, home=tree.root),
        await lens(other),
    ):
        assert await refused(asked(tree, named, member, space_key="project")) == (Code.NOT_FOUND, "lensId")
    assert names(await asked(tree, await lens(tree, home=tree.project), member, space_key="project")) == {"project.md"}


async def test_it_is_read_as_it_was_known_then(tree):
    id = await lens(tree, source_kinds=("issues",))
    first = await asked(tree, id)
    await change_lens(tree.parts.database, tree.principal, id, LensParts(source_kinds=("docs",)))
    second = await asked(tree, id)
    await retract_lens(tree.parts.database, tree.principal, id)
    assert (names(first), names(second)) == ({"project.md"}, {"root.md", "part.md"})
    assert await refused(asked(tree, id)) == (Code.NOT_FOUND, "lensId")
    for answer in (first, second):
        again = await asked(tree, id, known_at=answer.contract.known_at, as_of=answer.contract.valid_at)
        assert names(again) == names(answer)
        assert again.contract.lens == answer.contract.lens
    assert first.contract.lens.id == second.contract.lens.id == UUID(id)
    assert first.contract.lens.system_from < second.contract.lens.system_from


async def test_an_old_clock_opens_no_lens_that_is_closed_today(tree):
    member = await tree.add_person("member", (tree.project, SEARCH))
    id = await lens(tree, home=tree.project)
    before = await asked(tree, id, member, space_key="project")
    async with tree.parts.database.write(tree.organisation) as session:
        await session.run(
            text("UPDATE grants SET system_to = :stamp WHERE principal_id = :person"),
            {"stamp": session.stamp, "person": member.id},
        )
    for known_at in (None, before.contract.known_at):
        options = {"space_key": None, "known_at": known_at}
        assert await refused(asked(tree, id, member, **options)) == (Code.NOT_FOUND, "lensId")


async def test_the_record_names_the_lens_and_its_version(tree):
    id = await lens(tree)
    answer = await asked(tree, id)
    found = await find(tree.parts.database, tree.principal, str(answer.attribution_id))
    assert found.record["lensId"] == id
    assert found.record["lensSystemFrom"] is not None
    bare = await tree.ask("refunds")
    found = await find(tree.parts.database, tree.principal, str(bare.attribution_id))
    assert (found.record["lensId"], found.record["lensSystemFrom"]) == (None, None)
    assert bare.contract.lens is None


async def test_it_takes_no_further_statement(tree):
    without, _ = await count(tree, "refunds")
    number, answer = await count(tree, "refunds", lens_id=await lens(tree, tags=("all",), source_kinds=("issues",)))
    assert names(answer) == {"project.md"}
    assert number == without


async def test_a_lens_of_a_personal_space_is_its_owners(tree):
    ann = await tree.add_person("ann", (tree.root, SEARCH))
    key = await add_personal(tree, ann)
    made = await create_lens(tree.parts.database, ann, LensParts(name="Mine"), space_key=key)
    assert names(await asked(tree, str(made.id), ann, space_key="/")) == {"root.md", f"{key}.md"}
    assert await refused(asked(tree, str(made.id))) == (Code.NOT_FOUND, "lensId")


SOME = st.one_of(st.none(), st.lists(st.sampled_from(["root", "project", "part"]), max_size=2, unique=True))
KINDS = st.one_of(st.none(), st.lists(st.sampled_from(["docs", "issues", "custom"]), max_size=2, unique=True))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spaces=SOME, lens_kinds=KINDS, kinds=KINDS, lens_tags=SOME, tags=SOME)
async def test_what_every_filter_admits_and_nothing_else(tree, spaces, lens_kinds, kinds, lens_tags, tags):
    ids = {"root": tree.root, "project": tree.project, "part": tree.sources["part"].space_id}
    kind = {"root": "docs", "project": "issues", "part": "docs"}
    id = await lens(
        tree,
        space_ids=None if spaces is None else tuple(str(ids[name]) for name in spaces),
        source_kinds=None if lens_kinds is None else tuple(lens_kinds),
        tags=None if lens_tags is None else tuple(lens_tags),
    )
    answer = await asked(tree, id, source_kinds=kinds, tags=tags)
    assert names(answer) == {
        f"{name}.md"
        for name in ids
        if all(
            wanted is None or value in wanted
            for wanted, value in (
                (spaces, name),
                (lens_kinds, kind[name]),
                (kinds, kind[name]),
                (lens_tags, name),
                (tags, name),
            )
        )
    }
    assert replace(answer, passages=()).search.candidates == len(names(answer)) + len(remembered(answer))
