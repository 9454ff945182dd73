"""Who gets what from where: spaces, permissions, tenants, and old clocks that never widen access."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import text

from app.domain.contract import LimitationCode
from app.domain.errors import Code, MunimentError
from app.domain.principal import Level, Permission, principal_id
from app.domain.selection import Reason
from app.providers.ids import new_id
from app.storage import tenancy
from tests.fixtures.store import make_world

SEARCH = Permission.SEARCH
TEXT = "Refunds are authorised by tier two agents."


def names(answer):
    return {item.passage.external_id for item in answer.passages}


async def refused(asking):
    with pytest.raises(MunimentError) as caught:
        await asking
    return caught.value


@pytest.fixture
async def tree(world):
    """The organisation, a project below it and a part of that, each with a document about refunds."""
    part = await world.add_space("project/part", Level.SUBPROJECT, "project")
    for name, space in (("of-root.md", world.root), ("of-project.md", world.project), ("of-part.md", part)):
        source = await world.add_source(name, space)
        await world.write(name, (f"{TEXT} ({name})", None, None), source=source)
    await world.settle()
    return world


async def add_personal(world, person):
    """A personal space with a document about refunds."""
    key = f"~{person.external_id}"
    async with world.parts.database.write(world.organisation) as session:
        root = await tenancy.find_space(session, "/")
        await tenancy.create_space(
            session, id=new_id(), parent=root, key_path=key, level=Level.PERSONAL, name=key, owner_id=person.id
        )
        space = (await tenancy.find_space(session, key)).id
    source = await world.add_source(f"{key}.md", space)
    await world.write(f"{key}.md", (f"{TEXT} ({key})", None, None), source=source)
    return key


async def close(world, table, condition, **parameters):
    """Take rows back as of now, as an administrator's removal does."""
    async with world.parts.database.write(world.organisation) as session:
        done = await session.run(
            text(f"UPDATE {table} SET system_to = :stamp WHERE system_to IS NULL AND {condition}"),
            {**parameters, "stamp": session.stamp},
        )
    assert done


async def test_a_question_searches_the_space_its_ancestors_and_ones_own(tree):
    personal = await add_personal(tree, tree.principal)
    own = f"{personal}.md"
    assert names(await tree.ask("refunds", space_key="project/part")) == {
        "of-root.md",
        "of-project.md",
        "of-part.md",
        own,
    }
    assert names(await tree.ask("refunds", space_key="project")) == {"of-root.md", "of-project.md", own}
    for root in ({"space_key": "/"}, {"space_id": str(tree.root)}, {"space_id": None}):
        assert names(await tree.ask("refunds", **root)) == {"of-root.md", own}
    assert names(await tree.ask("refunds", space_key=personal)) == {"of-root.md", own}


async def test_a_personal_space_is_its_owners_alone(tree):
    somebody = await tree.add_person("somebody", (tree.root, SEARCH))
    personal = await add_personal(tree, somebody)
    assert names(await tree.ask("refunds", by=somebody)) == {"of-root.md", "of-project.md", f"{personal}.md"}
    assert f"{personal}.md" not in names(await tree.ask("refunds", space_key="/"))
    error = await refused(tree.ask("refunds", space_key=personal))
    assert error.code is Code.SPACE_NOT_FOUND
    nobody = await tree.add_person("nobody")
    own = await add_personal(tree, nobody)
    assert names(await tree.ask("refunds", by=nobody, space_id=None)) == {f"{own}.md"}


async def test_unknown_malformed_invisible_and_foreign_spaces_have_one_answer(tree, parts):
    other = await make_world(parts)
    hidden = await tree.add_space("hidden", Level.PROJECT)
    blind = await tree.add_person("blind", (tree.project, SEARCH))
    stranger = replace(tree.principal, id=principal_id(tree.organisation, "person", "unheard of"))
    asked = [
        tree.ask("refunds", space_id=str(uuid4())),
        tree.ask("refunds", space_key="nowhere"),
        tree.ask("refunds", space_key="project/nowhere"),
        tree.ask("refunds", space_key=""),
        tree.ask("refunds", space_key="a\x00b"),
        tree.ask("refunds", space_key="\ud800"),
        tree.ask("refunds", space_key="x" * 100_000),
        tree.ask("refunds", space_key="' OR '1'='1' --"),
        tree.ask("refunds", space_key="%"),
        tree.ask("refunds", space_id=""),
        tree.ask("refunds", space_id="not-a-uuid"),
        tree.ask("refunds", space_id="a\x00b"),
        tree.ask("refunds", space_id=str(tree.root) + "0"),
        tree.ask("refunds", by=blind, space_id=str(hidden)),
        tree.ask("refunds", by=blind, space_key="hidden"),
        tree.ask("refunds", by=blind, space_key="/"),
        tree.ask("refunds", by=stranger, space_key="project"),
        tree.ask("refunds", space_id=str(other.project)),
        tree.ask("refunds", by=other.principal, space_id=str(tree.project)),
        tree.ask("refunds", by=other.principal, space_key="project/part"),
    ]
    answers = {(error.code, error.message, error.field) for error in [await refused(question) for question in asked]}
    # The field is the one that the caller named the space by, and says nothing else.
    assert answers == {(Code.SPACE_NOT_FOUND, "no such space", field) for field in ("spaceId", "spaceKey")}


async def test_an_organisation_answers_from_its_own_rows_only(tree, parts):
    other = await make_world(parts)
    await other.write("theirs.md", (f"{TEXT} (theirs)", None, None))
    await other.settle()
    assert names(await other.ask("refunds")) == {"theirs.md"}
    assert names(await tree.ask("refunds")) == {"of-root.md", "of-project.md"}
    # A grant of one organisation says nothing in another, even to the same person.
    crossed = replace(other.principal, organisation=tree.organisation)
    assert (await refused(tree.ask("refunds", by=crossed))).code is Code.SPACE_NOT_FOUND
    assert (await tree.ask("refunds", by=crossed, space_id=None)).passages == ()


async def test_without_permission_on_an_ancestor_it_gives_nothing_and_counts_nothing(tree):
    member = await tree.add_person("member", (tree.project, SEARCH))
    everything = await tree.ask("refunds", top_k=1, token_budget=None)
    answer = await tree.ask("refunds", by=member, source_kinds=["docs"], token_budget=1)
    assert everything.search.candidates == 2
    assert answer.search.candidates == 1
    assert [(item.type, item.count) for item in answer.exclusions] == [(Reason.TOKEN_BUDGET, 1)]
    filtered = await tree.ask("refunds", by=member, source_kinds=["issues"])
    assert [(item.type, item.count) for item in filtered.exclusions if item.count] == [(Reason.CALLER_FILTER, 2)]
    for said in (answer, filtered, everything):
        scope = [item for item in said.limitations if item.code is LimitationCode.SCOPE_APPLIED]
        assert [(item.count, "of-root" in item.message) for item in scope] == [(None, False)]
    assert "of-root" not in repr(answer)
    assert str(tree.root) not in repr([answer.exclusions, answer.limitations, answer.sources])


async def test_a_space_is_searched_with_search_permission_only(tree):
    for permission in set(Permission) - {SEARCH}:
        other = await tree.add_person(f"may-{permission.name}", (tree.root, permission))
        answer = await tree.ask("refunds", by=other)
        assert answer.passages == ()
        assert answer.search.candidates == 0


async def test_a_grant_holds_below_its_space_and_nowhere_else(tree):
    below = await tree.add_person("below", (tree.project, SEARCH))
    assert names(await tree.ask("refunds", by=below, space_key="project/part")) == {"of-project.md", "of-part.md"}
    beside = await tree.add_space("beside", Level.PROJECT)
    away = await tree.add_person("away", (beside, SEARCH))
    assert (await refused(tree.ask("refunds", by=away, space_key="project/part"))).code is Code.SPACE_NOT_FOUND


async def test_a_group_lends_its_grants_to_its_members(tree):
    group = principal_id(tree.organisation, "group", "support")
    async with tree.parts.database.write(tree.organisation) as session:
        await tenancy.create_principal(session, group, "group", "support")
        await tenancy.grant(session, new_id(), group, tree.project, SEARCH)
    outsider = await tree.add_person("outsider")
    assert (await refused(tree.ask("refunds", by=outsider))).code is Code.SPACE_NOT_FOUND
    assert names(await tree.ask("refunds", by=replace(outsider, groups=(group,)))) == {"of-project.md"}


async def test_a_revoked_grant_opens_no_old_clock(tree):
    person = await tree.add_person("leaver", (tree.project, SEARCH))
    before = await tree.ask("refunds", by=person)
    assert names(before) == {"of-project.md"}
    past = {"known_at": before.contract.known_at, "as_of": before.contract.valid_at}
    await close(tree, "grants", "principal_id = :person", person=person.id)
    for clocks in ({}, past, {"known_at": past["known_at"]}, {"as_of": past["as_of"]}):
        assert (await refused(tree.ask("refunds", by=person, **clocks))).code is Code.SPACE_NOT_FOUND
        assert (await tree.ask("refunds", by=person, space_id=None, **clocks)).passages == ()


async def test_a_grant_that_has_ended_opens_no_point_of_valid_time_within_it(tree):
    person = await tree.add_person("guest", (tree.project, SEARCH))
    now = (await tree.ask("refunds", by=person)).contract.valid_at
    async with tree.parts.database.write(tree.organisation) as session:
        await session.run(
            text("UPDATE grants SET valid_from = :start, valid_to = :ended WHERE principal_id = :person"),
            {"start": now - timedelta(days=9), "ended": now - timedelta(days=1), "person": person.id},
        )
    for as_of in (None, now - timedelta(days=5)):
        assert (await refused(tree.ask("refunds", by=person, as_of=as_of))).code is Code.SPACE_NOT_FOUND


async def test_a_new_grant_opens_the_past(tree):
    person = await tree.add_person("joiner")
    known_at = (await tree.ask("refunds")).contract.known_at
    async with tree.parts.database.write(tree.organisation) as session:
        await tenancy.grant(session, new_id(), person.id, tree.project, SEARCH)
    assert names(await tree.ask("refunds", by=person, known_at=known_at)) == {"of-project.md"}


async def test_a_space_that_was_removed_is_not_served_at_an_old_clock(tree):
    before = await tree.ask("refunds", space_key="project/part")
    assert "of-part.md" in names(before)
    await close(tree, "spaces", "key_path = 'project/part'")
    for known_at in (None, before.contract.known_at):
        error = await refused(tree.ask("refunds", space_key="project/part", known_at=known_at))
        assert error.code is Code.SPACE_NOT_FOUND


async def test_an_ancestor_that_was_removed_is_not_served_at_an_old_clock(tree):
    before = await tree.ask("refunds", space_key="project/part")
    await close(tree, "spaces", "key_path = 'project'")
    answer = await tree.ask("refunds", space_key="project/part", known_at=before.contract.known_at)
    assert "of-project.md" not in names(answer)


async def test_a_source_that_was_removed_is_not_served_at_an_old_clock(tree):
    before = await tree.ask("refunds")
    assert names(before) == {"of-root.md", "of-project.md"}
    await close(tree, "sources", "id = :source", source=tree.sources["of-project.md"].id)
    for known_at in (None, before.contract.known_at):
        answer = await tree.ask("refunds", known_at=known_at)
        assert names(answer) == {"of-root.md"}
        assert answer.search.candidates == 1
        assert "of-project" not in repr([answer.exclusions, answer.limitations, answer.sources])


async def test_a_space_that_has_moved_is_guarded_by_where_it_is_today(tree):
    """Whoever may search the old parent only gets nothing of it, at no clock."""
    before = await tree.ask("refunds", space_key="project/part")
    part = tree.sources["of-part.md"].space_id
    vault = await tree.add_space("vault", Level.PROJECT)
    member = await tree.add_person("member", (tree.project, SEARCH))
    keeper = await tree.add_person("keeper", (vault, SEARCH))
    assert "of-part.md" in names(await tree.ask("refunds", by=member, space_id=str(part)))
    async with tree.parts.database.write(tree.organisation) as session:
        moved = {"stamp": session.stamp, "part": part, "vault": vault, "path": [tree.root, vault, part]}
        await session.run(text("UPDATE spaces SET system_to = :stamp WHERE id = :part AND system_to IS NULL"), moved)
        await session.run(
            text(
                "INSERT INTO spaces (organisation_id, id, parent_id, path, key_path, level, name, system_from) "
                "SELECT organisation_id, id, :vault, :path, 'vault/part', level, name, system_to FROM spaces "
                "WHERE id = :part AND system_to = :stamp"
            ),
            moved,
        )
    old = {"known_at": before.contract.known_at, "space_id": str(part)}
    assert "of-part.md" in names(await tree.ask("refunds", by=keeper, space_id=str(part)))
    assert (await refused(tree.ask("refunds", by=member, space_id=str(part)))).code is Code.SPACE_NOT_FOUND
    assert (await refused(tree.ask("refunds", by=member, **old))).code is Code.SPACE_NOT_FOUND
