"""Who may do what with whose memories; and what is not theirs to know is as if it did not exist."""

from typing import Any
from uuid import uuid4

import pytest

from app.domain.principal import Level, Permission
from app.providers.ids import new_id
from app.storage import tenancy
from tests.fixtures.store import make_world
from tests.memory.conftest import (
    ACCEPT,
    CHANGE,
    CORRECT,
    FORGET,
    GROUP,
    HISTORY,
    MEMBER,
    MEMORIES,
    MEMORY,
    PROPOSE,
    REMEMBER,
    RETRACT,
    RETRIEVE,
    SUBJECT,
    Memories,
)
from tests.schema.conftest import token_of

NOBODY = str(uuid4())


@pytest.fixture
async def beside(memory: Memories) -> Memories:
    """Ann and the crew are at home in a space that "stranger" may not see; "stranger" may do everything in another."""
    await memory.world.add_space("beside", Level.TEAM)
    await memory.person("stranger", "project", *Permission)
    await memory.group("crew", "beside")
    await memory.remember("Ann.", subjectId="ann", spaceKey="beside")
    return memory


def on_memory(id: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (MEMORY, {"id": id}),
        (HISTORY, {"id": id}),
        (CORRECT, {"id": id, "c": {"text": "x"}}),
        (CHANGE, {"id": id, "c": {"text": "x"}}),
        (RETRACT, {"id": id}),
        (PROPOSE, {"id": id, "c": {"text": "x"}}),
        (ACCEPT, {"id": id, "r": 1}),
    ]


async def answers(memory: Memories, by: str, operations: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    return [await memory.refusal(query, variables, by) for query, variables in operations]


async def test_an_unseen_memory_is_one_that_does_not_exist(beside: Memories) -> None:
    hidden = [
        await beside.remember("Ann.", subjectId="ann"),
        await beside.remember("Crew.", groupKey="crew"),
        await beside.remember("Space.", spaceKey="beside"),
    ]
    nothing = await answers(beside, "stranger", on_memory(NOBODY))
    assert {code for code, _ in nothing} == {"NOT_FOUND"}
    for item in hidden:
        assert await answers(beside, "stranger", on_memory(item["id"])) == nothing
    for malformed in ("", "x", "%", NOBODY + "0", NOBODY[:-1]):
        assert await answers(beside, "stranger", on_memory(malformed)) == nothing


async def test_an_unseen_subject_or_group_is_one_that_does_not_exist(beside: Memories) -> None:
    await beside.remember("Bob.", subjectId="bob")
    await beside.group("team")

    def about(subject: str, group: str) -> list[tuple[str, dict[str, Any]]]:
        return [
            (FORGET, {"id": subject}),
            (MEMBER, {"g": "team", "s": subject, "v": True, "m": True}),
            (MEMBER, {"g": group, "s": "bob", "v": True, "m": True}),
            (MEMBER, {"g": group, "s": subject, "v": True, "m": True}),
            (REMEMBER, {"i": {"text": "x", "groupKey": group}}),
            (PROPOSE, {"group": group, "c": {"text": "x"}}),
        ]

    unknown = await answers(beside, "stranger", about("nobody", "none"))
    assert {code for code, _ in unknown} == {"NOT_FOUND"}
    assert await answers(beside, "stranger", about("ann", "crew")) == unknown
    assert await beside.listed("stranger", subjectId="ann") == await beside.listed("stranger", subjectId="nobody") == []
    assert await beside.listed("stranger", groupKey="crew") == await beside.listed("stranger", groupKey="none") == []
    unknown_answer, hidden_answer = [
        await beside.retrieve("stranger", subjectId=subject) for subject in ("nobody", "ann")
    ]
    for name in ("memories", "groupMemories", "exclusions", "limitations", "searchMeta"):
        assert hidden_answer[name] == unknown_answer[name]


async def test_a_name_that_is_taken_where_one_may_not_look_is_free(beside: Memories) -> None:
    """C4: names are a space's own, so that nobody learns of a hidden subject or group by making one."""
    new = {"text": "Another Ann.", "subjectId": "ann", "spaceKey": "project"}
    await beside.data(SUBJECT, {"id": "ann", "space": "project"}, "stranger")
    await beside.remember("Another Ann.", "stranger", subjectId="ann", spaceKey="project")
    crew = await beside.data(GROUP, {"key": "crew", "space": "project"}, "stranger")
    await beside.remember("Another crew.", "stranger", groupKey="crew")
    assert crew["spaceId"] == str(beside.world.project)
    assert [item["text"] for item in await beside.listed("stranger", subjectId="ann")] == ["Another Ann."]
    assert [item["text"] for item in await beside.listed("stranger", groupKey="crew")] == ["Another crew."]
    await beside.person("reader", "project", Permission.READ, Permission.SEARCH)
    for query, variables in (
        (REMEMBER, {"i": new}),
        (REMEMBER, {"i": {**new, "subjectId": "nobody"}}),
        (SUBJECT, {"id": "ann", "space": "project"}),
        (SUBJECT, {"id": "nobody", "space": "project"}),
    ):
        assert (await beside.refusal(query, variables, "reader"))[0] == "FORBIDDEN"


async def test_who_sees_several_of_a_name_says_which_by_its_space(beside: Memories) -> None:
    """The one in the named space or nearest above it; never both."""
    await beside.remember("Another Ann.", "stranger", subjectId="ann", spaceKey="project", validFrom=None)
    await beside.world.add_space("project/part", Level.SUBPROJECT, "project")

    async def texts(**named: object) -> list[str]:
        return [item["text"] for item in await beside.listed(subjectId="ann", **named)]

    assert await texts(spaceKey="beside") == ["Ann."]
    assert await texts(spaceKey="project") == ["Another Ann."]
    assert await texts(spaceKey="project/part") == ["Another Ann."]
    assert await beside.refusal(MEMORIES, {"subjectId": "ann"}) == ("CONFLICT", "subjectId")
    assert await beside.given(spaceKey="project/part", subjectId="ann") == {"Another Ann."}
    assert await beside.given(spaceKey="beside", subjectId="ann") == {"Ann."}
    for query, variables in (
        (RETRIEVE, {"i": {"subjectId": "ann", "spaceKey": "/"}}),
        (REMEMBER, {"i": {"text": "x", "subjectId": "ann"}}),
        (FORGET, {"id": "ann"}),
    ):
        assert await beside.refusal(query, variables) == ("CONFLICT", "subjectId")
    # One more in the organisation's own space: with no space named, that one.
    await beside.data(SUBJECT, {"id": "ann", "space": "/"}, None)
    assert await texts() == []
    assert await beside.given(spaceKey="/", subjectId="ann") == set()


async def test_a_name_means_at_an_old_clock_whom_it_meant_then(beside: Memories) -> None:
    before = (await beside.retrieve(subjectId="ann", spaceKey="project"))["contract"]["knownAt"]
    assert await beside.given(subjectId="ann", spaceKey="project") == {"Ann."}
    await beside.remember("Another Ann.", "stranger", subjectId="ann", spaceKey="project", validFrom=None)
    assert await beside.given(subjectId="ann", spaceKey="project") == {"Another Ann."}
    assert await beside.given(subjectId="ann", spaceKey="project", knownAt=before) == {"Ann."}


@pytest.mark.parametrize("space", ["beside", "nowhere", "", "/nowhere/", "nowhere/below", "a\u0000b", "%"])
async def test_unknown_malformed_and_unseen_spaces_are_one_answer(beside: Memories, space: str) -> None:
    named = {"text": "x", "spaceKey": space}
    if space != "":  # the organisation's own
        for query, variables in (
            (REMEMBER, {"i": named}),
            (REMEMBER, {"i": {**named, "subjectId": "new"}}),
            (MEMORIES, {"spaceKey": space}),
            (PROPOSE, {"space": space, "c": {"text": "x"}}),
            (SUBJECT, {"id": "new", "space": space}),
            (GROUP, {"key": "new", "space": space}),
            (RETRIEVE, {"i": {"spaceKey": space}}),
        ):
            assert (await beside.refusal(query, variables, "stranger"))[0] == "SPACE_NOT_FOUND", query
    for id in (NOBODY, "x", ""):
        assert (await beside.refusal(MEMORIES, {"spaceId": id}, "stranger"))[0] == "SPACE_NOT_FOUND"
        assert (await beside.refusal(REMEMBER, {"i": {"text": "x", "spaceId": id}}, "stranger"))[0] == "SPACE_NOT_FOUND"


#: What each operation needs, as its permission alone and nothing else.
NEEDED = {
    "read": Permission.READ,
    "write": Permission.MEMORY_WRITE,
    "admin": Permission.ADMIN,
}


@pytest.mark.parametrize("held", [*Permission])
async def test_each_operation_needs_its_permission_and_no_other(memory: Memories, held: Permission) -> None:
    await memory.group("team")
    ann = await memory.remember("Ann.", subjectId="ann")
    await memory.member("team", "ann")
    team = await memory.remember("Team.", groupKey="team")
    proposed = await memory.data(PROPOSE, {"id": team["id"], "c": {"text": "Better."}}, None)
    by = await memory.person("somebody", "project", held)
    operations = [
        ("read", MEMORY, {"id": ann["id"]}),
        ("read", MEMORIES, {"subjectId": "ann"}),
        ("read", MEMORIES, {"groupKey": "team"}),
        ("read", MEMORIES, {"spaceKey": "project"}),
        ("read", HISTORY, {"id": team["id"]}),
        ("write", REMEMBER, {"i": {"text": "x", "subjectId": "ann"}}),
        ("write", REMEMBER, {"i": {"text": "x", "subjectId": "new", "spaceKey": "project"}}),
        ("write", REMEMBER, {"i": {"text": "x", "groupKey": "team"}}),
        ("write", REMEMBER, {"i": {"text": "x", "spaceKey": "project"}}),
        ("write", CORRECT, {"id": ann["id"], "c": {"text": "y"}}),
        ("write", CHANGE, {"id": ann["id"], "c": {"text": "z"}}),
        ("write", PROPOSE, {"group": "team", "c": {"text": "x"}}),
        ("write", SUBJECT, {"id": "more", "space": "project"}),
        ("write", GROUP, {"key": "more", "space": "project"}),
        ("write", MEMBER, {"g": "team", "s": "ann", "v": True, "m": True}),
        ("write", RETRACT, {"id": ann["id"]}),
        ("admin", ACCEPT, {"id": team["id"], "r": proposed["revision"]}),
        ("admin", FORGET, {"id": "ann"}),
    ]
    for need, query, variables in operations:
        if NEEDED[need] is held:
            assert await memory.data(query, variables, by) is not None, query
        else:
            assert (await memory.refusal(query, variables, by))[0] == "FORBIDDEN", query


@pytest.mark.parametrize("query", [REMEMBER, MEMORIES])
async def test_the_organisations_space_needs_more_than_a_grant_below(memory: Memories, query: str) -> None:
    by = await memory.person("somebody", "project", *Permission)
    variables: dict[str, Any] = {"i": {"text": "x"}} if query == REMEMBER else {}
    assert (await memory.refusal(query, variables, by))[0] == "SPACE_NOT_FOUND"


async def test_a_membership_needs_both_spaces(memory: Memories) -> None:
    await memory.world.add_space("beside", Level.TEAM)
    await memory.group("crew", "beside")
    await memory.remember("Ann.", subjectId="ann")
    by = await memory.person("somebody", "project", *Permission)
    assert (await memory.refusal(MEMBER, {"g": "crew", "s": "ann", "v": True, "m": True}, by))[0] == "NOT_FOUND"
    assert await memory.listed(groupKey="crew") == []


async def personal(memory: Memories, owner: str) -> None:
    person = await memory.world.add_person(owner)
    async with memory.world.parts.database.write(memory.world.organisation) as session:
        root = await tenancy.find_space(session, "/")
        await tenancy.create_space(
            session, id=new_id(), parent=root, key_path=owner, level=Level.PERSONAL, name=owner, owner_id=person.id
        )


async def test_a_personal_space_is_its_owners_alone(memory: Memories) -> None:
    """The tester holds everything on the organisation's space, and so below it: but not there."""
    await personal(memory, "carl")
    kept = await memory.remember("Carl's own.", "carl", spaceKey="carl")
    about = await memory.remember("Carl about Ann.", "carl", spaceKey="carl", subjectId="ann")
    assert await memory.given(by="carl", spaceKey="carl") == {"Carl's own."}
    assert await memory.given(by="carl", spaceKey="carl", subjectId="ann") == {"Carl's own.", "Carl about Ann."}
    assert await memory.given(subjectId="ann") == set()
    assert await memory.listed(subjectId="ann") == []
    for item in (kept, about):
        assert {code for code, _ in await answers(memory, "tester", on_memory(item["id"]))} == {"NOT_FOUND"}
    assert (await memory.refusal(FORGET, {"id": "ann"}))[0] == "NOT_FOUND"
    assert (await memory.data(FORGET, {"id": "ann"}, "carl"))["erasedMemories"] == 1


async def test_another_organisation_has_nothing_of_it(memory: Memories, parts: Any) -> None:
    await memory.group("team")
    ann = await memory.remember("Ann.", subjectId="ann")
    other = token_of(await make_world(parts))
    for query, variables in [*on_memory(ann["id"]), (FORGET, {"id": "ann"})]:
        assert (await memory.api.error(query, variables, token=other))["extensions"]["code"] == "NOT_FOUND"
    found = await memory.api.data(MEMORIES, {"subjectId": "ann"}, token=other)
    assert found["memories"]["edges"] == []
    # Names are an organisation's own.
    made = await memory.api.data(REMEMBER, {"i": {"text": "x", "subjectId": "ann", "spaceKey": "project"}}, token=other)
    assert made["remember"]["id"] != ann["id"]
