"""The tree of spaces, its level weights and the active space, through the API."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text

from app.domain.principal import Level, Permission, principal_id
from app.providers.ids import new_id
from app.storage import tenancy
from tests.fixtures.store import make_world
from tests.schema.conftest import Api, token_of

SPACE = "id parentId keyPath level name"
CREATE = f"mutation($i: CreateSpaceInput!) {{ createSpace(input: $i) {{ {SPACE} }} }}"
ENSURE = f"""mutation($key: String!, $name: String, $level: SpaceLevel, $k: String) {{
    ensureSpace(spaceKey: $key, name: $name, level: $level, clientKey: $k) {{ {SPACE} }} }}"""
SPACES = f"""query($first: Int, $after: String) {{ spaces(first: $first, after: $after) {{
    edges {{ node {{ {SPACE} }} }} pageInfo {{ hasNextPage endCursor }} }} }}"""
WEIGHTS = """query($space: ID, $at: Instant) { levelWeights(spaceId: $space, knownAt: $at) {
    knownAt systemFrom levels { level default override effective } } }"""
SET = """mutation($o: [LevelWeightInput!]!, $e: Instant, $k: String) {
    setLevelWeights(overrides: $o, expectedSystemFrom: $e, clientKey: $k) {
    knownAt systemFrom levels { level default override effective } } }"""
ACTIVE = f"mutation($id: ID, $key: String) {{ setActiveSpace(spaceId: $id, spaceKey: $key) {{ {SPACE} }} }}"
ME = f"{{ me {{ id activeSpace {{ {SPACE} }} }} }}"


async def refusal(api: Api, query: str, variables: dict[str, Any], by: str | None = None) -> tuple[str, str | None]:
    token = None if by is None else token_of(api.world, by)
    extensions = (await api.error(query, variables, token=token))["extensions"]
    return extensions["code"], extensions.get("field")


async def data(api: Api, query: str, variables: dict[str, Any] | None = None, by: str | None = None) -> Any:
    token = None if by is None else token_of(api.world, by)
    [found] = (await api.data(query, variables, token=token)).values()
    return found


async def listed(api: Api, by: str | None = None) -> dict[str, dict[str, Any]]:
    found = await data(api, SPACES, {"first": 100}, by)
    return {edge["node"]["keyPath"]: edge["node"] for edge in found["edges"]}


async def add_personal(api: Api, subject: str, *grants: Any) -> str:
    person = await api.world.add_person(subject, *grants)
    key = f"~{subject}"
    async with api.world.parts.database.write(api.world.organisation) as session:
        root = await tenancy.find_space(session, "/")
        await tenancy.create_space(
            session, id=new_id(), parent=root, key_path=key, level=Level.PERSONAL, name=key, owner_id=person.id
        )
    return key


# createSpace


async def test_a_space_is_made_below_another(api: Api) -> None:
    made = await data(api, CREATE, {"i": {"key": "sales", "level": "DEPARTMENT", "name": "Sales"}})
    root = (await listed(api))["/"]
    assert made == {
        "id": made["id"],
        "parentId": root["id"],
        "keyPath": "sales",
        "level": "DEPARTMENT",
        "name": "Sales",
    }
    below = await data(api, CREATE, {"i": {"key": "emea", "parentKey": "sales"}})
    assert (below["keyPath"], below["level"], below["name"]) == ("sales/emea", "PROJECT", "emea")
    part = await data(api, CREATE, {"i": {"key": "q1", "parentId": below["id"]}})
    assert (part["keyPath"], part["level"], part["parentId"]) == ("sales/emea/q1", "SUBPROJECT", below["id"])
    assert {"sales", "sales/emea", "sales/emea/q1", "project", "/"} == set(await listed(api))


async def test_a_key_path_that_is_taken_is_a_conflict(api: Api) -> None:
    assert await refusal(api, CREATE, {"i": {"key": "project"}}) == ("CONFLICT", "key")
    answers = await asyncio.gather(*(api.ask(CREATE, {"i": {"key": "raced"}}) for _ in range(5)))
    assert sum("errors" not in answer for answer in answers) == 1
    assert {error["extensions"]["code"] for answer in answers for error in answer.get("errors", ())} == {"CONFLICT"}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"key": ""}, "key"),
        ({"key": "a/b"}, "key"),
        ({"key": "a\u0000b"}, "key"),
        ({"key": "~me"}, "key"),
        ({"key": "ok", "name": " "}, "name"),
        ({"key": "ok", "level": "PERSONAL"}, "level"),
        ({"key": "ok", "level": "ORGANISATION"}, "level"),
        ({"key": "ok", "parentKey": "project", "level": "TEAM"}, "level"),
        ({"key": "ok", "parentKey": "project", "parentId": str(uuid4())}, "parentId"),
        ({"key": "ok", "clientKey": ""}, "clientKey"),
    ],
)
async def test_what_cannot_be_made(api: Api, given: dict[str, Any], field: str) -> None:
    assert await refusal(api, CREATE, {"i": given}) == ("BAD_USER_INPUT", field)
    assert set(await listed(api)) == {"/", "project"}


@pytest.mark.parametrize("held", [*Permission])
async def test_only_who_administers_the_parent_makes_a_space(api: Api, held: Permission) -> None:
    await api.world.add_person("holder", (api.world.project, held))
    given = {"i": {"key": "part", "parentKey": "project"}}
    if held is Permission.ADMIN:
        assert (await data(api, CREATE, given, "holder"))["keyPath"] == "project/part"
    else:
        assert (await refusal(api, CREATE, given, "holder"))[0] == "FORBIDDEN"


async def test_unknown_and_unseen_parents_are_one_answer(api: Api, parts: Any) -> None:
    other = await make_world(parts)
    await api.world.add_space("hidden", Level.TEAM)
    await api.world.add_person("blind", (api.world.project, Permission.ADMIN))
    hidden = (await listed(api))["hidden"]["id"]
    for parent in ({"parentKey": "hidden"}, {"parentKey": "nowhere"}, {"parentKey": "a\u0000"}, {}):
        code, field = await refusal(api, CREATE, {"i": {"key": "x", **parent}}, "blind")
        assert (code, field) == ("SPACE_NOT_FOUND", "parentKey" if parent else "parentId")
    for id in (hidden, str(uuid4()), "x", str(other.project)):
        assert await refusal(api, CREATE, {"i": {"key": "x", "parentId": id}}, "blind") == (
            "SPACE_NOT_FOUND",
            "parentId",
        )


async def test_no_space_is_made_below_a_personal_one(api: Api) -> None:
    key = await add_personal(api, "ann", (api.world.root, Permission.WRITE), (api.world.root, Permission.MEMORY_WRITE))
    assert await refusal(api, CREATE, {"i": {"key": "x", "parentKey": key}}, "ann") == ("BAD_USER_INPUT", "parentId")
    assert (await refusal(api, ENSURE, {"key": f"{key}/x"}, "ann"))[0] == "BAD_USER_INPUT"
    remember = 'mutation($k: String) { remember(input: {text: "x", spaceKey: $k}) { id } }'
    for by in ("ann", None):
        assert (await refusal(api, remember, {"k": f"{key}/x"}, by))[0] == "SPACE_NOT_FOUND"
    # To the organisation's administrator it is not there at all.
    assert await refusal(api, CREATE, {"i": {"key": "x", "parentKey": key}}) == ("SPACE_NOT_FOUND", "parentKey")
    assert (await data(api, ENSURE, {"key": key}, "ann"))["keyPath"] == key
    assert (await refusal(api, ENSURE, {"key": key}))[0] == "BAD_USER_INPUT"


async def test_a_clients_own_key_makes_one_space(api: Api) -> None:
    given = {"i": {"key": "once", "clientKey": "k"}}
    first = await data(api, CREATE, given)
    assert await data(api, CREATE, given) == first
    assert await refusal(api, CREATE, {"i": {"key": "other", "clientKey": "k"}}) == ("CONFLICT", "clientKey")
    ensured = {"key": "a/b", "k": "e"}
    assert await data(api, ENSURE, ensured) == await data(api, ENSURE, ensured)
    assert await refusal(api, ENSURE, {"key": "a/c", "k": "e"}) == ("CONFLICT", "clientKey")


# ensureSpace, and spaces that a write names


async def test_ensure_finds_or_makes_with_what_is_missing(api: Api) -> None:
    found = await data(api, ENSURE, {"key": "project", "name": "Other", "level": "TEAM"})
    assert (found["id"], found["name"], found["level"]) == (str(api.world.project), "Project", "PROJECT")
    made = await data(api, ENSURE, {"key": "/a/b/c/", "name": "C"})
    assert (made["keyPath"], made["name"]) == ("a/b/c", "C")
    tree = await listed(api)
    assert [(key, tree[key]["name"], tree[key]["level"]) for key in ("a", "a/b", "a/b/c")] == [
        ("a", "a", "PROJECT"),
        ("a/b", "b", "SUBPROJECT"),
        ("a/b/c", "C", "SUBPROJECT"),
    ]
    assert made["parentId"] == tree["a/b"]["id"]
    assert await data(api, ENSURE, {"key": "a/b/c"}) == made
    team = await data(api, ENSURE, {"key": "unit/team", "level": "TEAM"})
    assert (team["level"], (await listed(api))["unit"]["level"]) == ("TEAM", "TEAM")
    assert (await data(api, ENSURE, {"key": "/"}))["level"] == "ORGANISATION"


@pytest.mark.parametrize("key", ["", "//", "a//b", "a/../b", "a\u0000b", " a", "~you", "a/~you", "x" * 200])
async def test_what_is_no_key_path_is_refused(api: Api, key: str) -> None:
    assert await refusal(api, ENSURE, {"key": key}) == ("BAD_USER_INPUT", "spaceKey")
    assert set(await listed(api)) == {"/", "project"}


async def test_a_reading_of_an_unknown_space_makes_none(api: Api) -> None:
    for query in (
        '{ retrieve(input: {query: "x", spaceKey: "new"}) { requestId } }',
        '{ memories(spaceKey: "new") { edges { node { id } } } }',
        'mutation { setActiveSpace(spaceKey: "new") { id } }',
        'mutation { createSubject(subjectId: "x", spaceKey: "new") { subjectId } }',
    ):
        assert (await refusal(api, query, {}))[0] == "SPACE_NOT_FOUND"
    assert set(await listed(api)) == {"/", "project"}


REMEMBER = "mutation($i: RememberInput!) { remember(input: $i) { id spaceId } }"


async def test_remembering_makes_the_space_where_the_caller_may_write(api: Api) -> None:
    made = await data(api, REMEMBER, {"i": {"text": "Tea.", "spaceKey": "project/kitchen/tea"}})
    tree = await listed(api)
    assert made["spaceId"] == tree["project/kitchen/tea"]["id"]
    assert tree["project/kitchen"]["level"] == "SUBPROJECT"
    about = {"text": "Tea.", "spaceKey": "project/of-ann", "subjectId": "ann"}
    assert (await data(api, REMEMBER, {"i": about}))["spaceId"] == (await listed(api))["project/of-ann"]["id"]


async def test_remembering_makes_nothing_without_that_right(api: Api) -> None:
    project = api.world.project
    await api.world.add_person("rememberer", (project, Permission.MEMORY_WRITE))
    await api.world.add_person("writer", (project, Permission.WRITE))
    await api.world.add_person("both", (project, Permission.WRITE), (project, Permission.MEMORY_WRITE))
    before = set(await listed(api))
    new = {"i": {"text": "x", "spaceKey": "project/new"}}
    assert (await refusal(api, REMEMBER, new, "rememberer"))[0] == "SPACE_NOT_FOUND"
    assert (await refusal(api, REMEMBER, new, "writer"))[0] == "FORBIDDEN"
    elsewhere = {"i": {"text": "x", "spaceKey": "new"}}
    for by in ("rememberer", "writer", "both"):
        assert (await refusal(api, REMEMBER, elsewhere, by))[0] == "SPACE_NOT_FOUND"
    invalid = {"i": {"text": "x", "spaceKey": "project/a//b"}}
    assert (await refusal(api, REMEMBER, invalid, "both"))[0] == "SPACE_NOT_FOUND"
    assert set(await listed(api)) == before
    assert (await data(api, REMEMBER, new, "both"))["id"]
    # A call that fails after all leaves no space behind.
    unknown = {"i": {"text": "x", "spaceKey": "project/newer", "clientKey": "k"}}
    await data(api, REMEMBER, {"i": {"text": "y", "spaceKey": "project", "clientKey": "k"}}, "both")
    assert (await refusal(api, REMEMBER, unknown, "both")) == ("CONFLICT", "clientKey")
    assert "project/newer" not in await listed(api)


async def test_ensuring_needs_the_right_to_write_above(api: Api) -> None:
    await api.world.add_space("hidden", Level.TEAM)
    project = api.world.project
    await api.world.add_person("writer", (project, Permission.WRITE))
    await api.world.add_person("reader", (project, Permission.READ))
    assert await refusal(api, ENSURE, {"key": "project/new"}, "reader") == ("FORBIDDEN", "spaceKey")
    for key in ("hidden", "hidden/new", "new", "/"):
        for by in ("reader", "writer"):
            assert await refusal(api, ENSURE, {"key": key}, by) == ("SPACE_NOT_FOUND", "spaceKey")
    made = await data(api, ENSURE, {"key": "project/new"}, "writer")
    assert made["parentId"] == str(project)
    # What stands above is told only to who may see it.
    assert (await data(api, ENSURE, {"key": "project"}, "writer"))["parentId"] is None
    assert (await listed(api, "writer"))["project"]["parentId"] is None


async def test_the_tree_shows_what_the_caller_may_see(api: Api, parts: Any) -> None:
    other = token_of(await make_world(parts))
    key = await add_personal(api, "ann", (api.world.project, Permission.SEARCH))
    await data(api, ENSURE, {"key": "project/part"})
    assert set(await listed(api)) == {"/", "project", "project/part"}
    assert set(await listed(api, "ann")) == {key, "project", "project/part"}
    assert set(await listed(api, "stranger")) == set()
    theirs = (await api.data(SPACES, {"first": 100}, token=other))["spaces"]["edges"]
    assert not {edge["node"]["id"] for edge in theirs} & {space["id"] for space in (await listed(api)).values()}
    seen, after = [], None
    while True:
        page = await data(api, SPACES, {"first": 1, "after": after})
        seen += [edge["node"]["keyPath"] for edge in page["edges"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert seen == ["/", "project", "project/part"]


# Level weights


def overridden(found: dict[str, Any]) -> dict[str, float]:
    return {item["level"]: item["override"] for item in found["levels"] if item["override"] is not None}


async def test_weights_are_replaced_as_a_whole_and_keep_their_history(api: Api) -> None:
    never = await data(api, WEIGHTS)
    assert never["systemFrom"] is None
    assert [(item["level"], item["default"]) for item in never["levels"]] == [
        ("ORGANISATION", 0.85),
        ("BUSINESS_UNIT", 0.88),
        ("DEPARTMENT", 0.92),
        ("GROUP", 1.0),
        ("TEAM", 1.0),
        ("PROJECT", 1.2),
        ("SUBPROJECT", 1.4),
        ("PERSONAL", 0.85),
    ]
    assert all(item["effective"] == item["default"] and item["override"] is None for item in never["levels"])
    first = await data(api, SET, {"o": [{"level": "PROJECT", "weight": 1.3}, {"level": "TEAM", "weight": 0.0001}]})
    assert overridden(first) == {"PROJECT": 1.3, "TEAM": 0.0001}
    assert {item["level"]: item["effective"] for item in first["levels"]}["PROJECT"] == 1.3
    second = await data(api, SET, {"o": [{"level": "PERSONAL", "weight": 10}]})
    assert overridden(second) == {"PERSONAL": 10.0}
    reset = await data(api, SET, {"o": []})
    assert overridden(reset) == {}
    assert reset["systemFrom"] == reset["knownAt"] > second["systemFrom"] > first["systemFrom"]
    for then in (first, second, reset):
        found = await data(api, WEIGHTS, {"at": then["knownAt"]})
        assert found == then
    before = await data(api, WEIGHTS, {"at": never["knownAt"]})
    assert before == never
    assert (await data(api, WEIGHTS, {"at": "2999-01-01T00:00:00Z"}))["systemFrom"] == reset["systemFrom"]


async def test_a_retrieval_counts_with_the_weights_of_its_time(api: Api, instant: Any) -> None:
    await api.world.write("tea.md", ("Tea is served at four.", instant, None))
    await api.world.settle()

    async def weighed(known_at: str | None = None) -> Any:
        answer = await data(
            api,
            "query($i: RetrieveInput!) { retrieve(input: $i) { contract { knownAt } "
            "passages { score scores { levelWeight } } } }",
            {"i": {"query": "tea", "spaceKey": "project", "knownAt": known_at}},
        )
        [passage] = answer["passages"]
        return passage["scores"]["levelWeight"], answer["contract"]["knownAt"]

    default, then = await weighed()
    await data(api, SET, {"o": [{"level": "PROJECT", "weight": 2.5}]})
    assert default == 1.2
    assert (await weighed())[0] == 2.5
    assert (await weighed(then))[0] == 1.2
    asked = {item["level"]: item["effective"] for item in (await data(api, WEIGHTS, {"at": then}))["levels"]}
    assert asked["PROJECT"] == 1.2


@pytest.mark.parametrize("weight", [0, -1, 10.0001, 1e9, 0.00001, 1.23456])
async def test_a_weight_out_of_bounds_is_refused(api: Api, weight: float) -> None:
    given = {"o": [{"level": "TEAM", "weight": 1.5}, {"level": "PROJECT", "weight": weight}]}
    assert await refusal(api, SET, given) == ("BAD_USER_INPUT", "weight")
    assert (await data(api, WEIGHTS))["systemFrom"] is None


async def test_a_level_is_weighed_once(api: Api) -> None:
    twice = {"o": [{"level": "TEAM", "weight": 1.5}, {"level": "TEAM", "weight": 1.5}]}
    assert await refusal(api, SET, twice) == ("BAD_USER_INPUT", "level")


async def test_a_change_that_was_not_seen_is_a_conflict(api: Api) -> None:
    one = {"o": [{"level": "TEAM", "weight": 1.5}]}
    first = await data(api, SET, one)
    reset = await data(api, SET, {"o": [], "e": first["systemFrom"]})
    assert await refusal(api, SET, {**one, "e": first["systemFrom"]}) == ("CONFLICT", "expectedSystemFrom")
    again = await data(api, SET, {**one, "e": reset["systemFrom"]})
    # The same set once more changes nothing.
    assert (await data(api, SET, one))["systemFrom"] == again["systemFrom"]
    keyed = {"o": [{"level": "TEAM", "weight": 2}], "k": "key"}
    made = await data(api, SET, keyed)
    await data(api, SET, {"o": []})
    assert await data(api, SET, keyed) == made
    assert overridden(await data(api, WEIGHTS)) == {}
    assert await refusal(api, SET, {"o": [], "k": "key"}) == ("CONFLICT", "clientKey")


@pytest.mark.parametrize("held", [*Permission])
async def test_weights_are_the_administrators(api: Api, held: Permission) -> None:
    world = api.world
    await world.add_person("below", (world.project, held))
    await world.add_person("above", (world.root, held))
    one = {"o": [{"level": "TEAM", "weight": 1.5}]}
    assert (await refusal(api, SET, one, "below"))[0] == "FORBIDDEN"
    assert (await refusal(api, WEIGHTS, {}, "below"))[0] == "FORBIDDEN"
    project = {"space": str(world.project)}
    assert (await refusal(api, WEIGHTS, {"space": str(world.root)}, "below"))[0] == "SPACE_NOT_FOUND"
    if held is Permission.ADMIN:
        assert (await data(api, WEIGHTS, project, "below"))["levels"]
        assert overridden(await data(api, SET, one, "above")) == {"TEAM": 1.5}
    else:
        assert (await refusal(api, SET, one, "above"))[0] == "FORBIDDEN"
        assert (await refusal(api, WEIGHTS, project, "below"))[0] == "FORBIDDEN"


async def test_another_organisations_weights_stay(api: Api, parts: Any) -> None:
    other = await make_world(parts)
    await data(api, SET, {"o": [{"level": "TEAM", "weight": 3}]})
    found = (await api.data(WEIGHTS, {}, token=token_of(other)))["levelWeights"]
    assert overridden(found) == {}
    error = await api.error(WEIGHTS, {"space": str(api.world.project)}, token=token_of(other))
    assert error["extensions"]["code"] == "SPACE_NOT_FOUND"


# The active space

ASK = '{ retrieve(input: {query: "tea"}) { contract { knownAt } passages { spaceKey } } }'


@pytest.fixture
async def served(api: Api, instant: Any) -> Api:
    """Tea in the project and in a team beside it."""
    team = await api.world.add_space("team", Level.TEAM)
    notes = await api.world.add_source("team-notes", team)
    await api.world.write("tea.md", ("Tea is served at four.", instant, None))
    await api.world.write("team-tea.md", ("Tea is served at five.", instant, None), source=notes)
    await api.world.settle()
    return api


async def asked(api: Api, by: str | None = None, query: str = ASK, **options: Any) -> list[str]:
    token = None if by is None else token_of(api.world, by)
    found = (await api.data(query, token=token, **options))["retrieve"]
    return [passage["spaceKey"] for passage in found["passages"]]


async def test_a_question_that_names_no_space_is_asked_from_the_active_one(served: Api) -> None:
    assert (await data(served, ME))["activeSpace"] is None
    assert await asked(served) == []
    chosen = await data(served, ACTIVE, {"key": "team"})
    assert chosen["keyPath"] == "team"
    assert (await data(served, ME))["activeSpace"] == chosen
    assert await asked(served) == ["team"]
    # The header comes before it, and the input before the header.
    assert await asked(served, headers={"X-Muniment-Space": "project"}) == ["project"]
    named = ASK.replace('"tea"', '"tea", spaceKey: "/"')
    assert await asked(served, query=named, headers={"X-Muniment-Space": "project"}) == []
    assert (await data(served, ACTIVE, {"id": str(served.world.project)}))["keyPath"] == "project"
    assert await asked(served) == ["project"]
    assert await data(served, ACTIVE) is None
    assert (await data(served, ME))["activeSpace"] is None
    assert await asked(served) == []


async def test_it_is_ones_own(served: Api) -> None:
    await served.world.add_person("ann", (served.world.root, Permission.SEARCH))
    await data(served, ACTIVE, {"key": "team"})
    assert await asked(served, "ann") == []
    await data(served, ACTIVE, {"key": "project"}, "ann")
    assert (await asked(served), await asked(served, "ann")) == (["team"], ["project"])


async def test_at_an_old_clock_it_is_what_it_was_then(served: Api) -> None:
    await data(served, ACTIVE, {"key": "team"})
    then = (await data(served, ASK))["contract"]["knownAt"]
    await data(served, ACTIVE, {"key": "project"})
    assert await asked(served) == ["project"]
    assert await asked(served, query=ASK.replace('"tea"', f'"tea", knownAt: "{then}"')) == ["team"]


async def test_one_that_the_caller_may_not_see_any_more_counts_as_none(served: Api) -> None:
    team = (await listed(served))["team"]["id"]
    await served.world.add_person("ann", (served.world.root, Permission.SEARCH))
    await data(served, ACTIVE, {"key": "team"}, "ann")
    then = (await data(served, ASK, by="ann"))["contract"]["knownAt"]
    assert await asked(served, "ann") == ["team"]
    await _revoke(served, "ann")
    assert (await data(served, ME, by="ann"))["activeSpace"] is None
    for query in (ASK, ASK.replace('"tea"', f'"tea", knownAt: "{then}"')):
        assert await asked(served, "ann", query) == []
    for variables in ({"key": "team"}, {"id": team}, {"id": str(uuid4())}, {"id": "x"}, {"key": "nowhere"}):
        assert (await refusal(served, ACTIVE, variables, "ann"))[0] == "SPACE_NOT_FOUND"
    # It can still be taken back.
    assert await data(served, ACTIVE, {}, "ann") is None


async def _revoke(api: Api, subject: str) -> None:
    async with api.world.parts.database.write(api.world.organisation) as session:
        await session.run(
            text("UPDATE grants SET system_to = :stamp WHERE principal_id = :person AND system_to IS NULL"),
            {"stamp": session.stamp, "person": principal_id(api.world.organisation, "person", subject)},
        )


async def test_equal_calls_at_once_make_one_space(api) -> None:
    made = await asyncio.gather(
        *(api.data('mutation { ensureSpace(spaceKey: "race/for/it") { id } }') for _ in range(8))
    )
    assert len({item["ensureSpace"]["id"] for item in made}) == 1
