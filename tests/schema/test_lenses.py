"""Making, changing, retracting and reading lenses through the API."""

from typing import Any
from uuid import uuid4

import pytest

from app.domain.principal import Level, Permission
from tests.fixtures.store import make_world
from tests.schema.conftest import Api, token_of
from tests.schema.test_spaces import data, refusal

LENS = "id name spaceId spaceIds sourceKinds providers tags systemFrom"
CREATE = f"mutation($i: CreateLensInput!) {{ createLens(input: $i) {{ {LENS} }} }}"
CHANGE = f"""mutation($id: ID!, $c: LensChanges!, $e: Instant, $k: String) {{
    changeLens(id: $id, changes: $c, expectedSystemFrom: $e, clientKey: $k) {{ {LENS} }} }}"""
RETRACT = """mutation($id: ID!, $e: Instant, $k: String) {
    retractLens(id: $id, expectedSystemFrom: $e, clientKey: $k) }"""
READ = f"query($id: ID!, $at: Instant) {{ lens(id: $id, knownAt: $at) {{ {LENS} }} }}"
LIST = f"""query($at: Instant, $first: Int, $after: String) {{ lenses(knownAt: $at, first: $first, after: $after) {{
    edges {{ node {{ {LENS} }} }} pageInfo {{ hasNextPage endCursor }} }} }}"""
NOBODY = str(uuid4())


async def make(api: Api, by: str | None = None, **given: Any) -> dict[str, Any]:
    found: dict[str, Any] = await data(api, CREATE, {"i": {"name": "Lens", **given}}, by)
    return found


async def listed(api: Api, by: str | None = None, at: str | None = None) -> list[str]:
    found = await data(api, LIST, {"first": 100, "at": at}, by)
    return [edge["node"]["name"] for edge in found["edges"]]


async def test_a_lens_keeps_what_was_said(api: Api) -> None:
    project = str(api.world.project)
    made = await make(api, spaceIds=[project, project], sourceKinds=[], tags=["a", "b", "a"])
    assert made == {
        "id": made["id"],
        "name": "Lens",
        "spaceId": str(api.world.root),
        "spaceIds": [project],
        "sourceKinds": [],
        "providers": None,
        "tags": ["a", "b"],
        "systemFrom": made["systemFrom"],
    }
    assert await data(api, READ, {"id": made["id"]}) == made
    assert (await make(api, spaceKey="project"))["spaceId"] == project


async def test_a_change_leaves_the_rest_and_the_past(api: Api) -> None:
    made = await make(api, tags=["a"], providers=["git"])
    changed = await data(api, CHANGE, {"id": made["id"], "c": {"name": "Other", "tags": None}})
    assert changed == {**made, "name": "Other", "tags": None, "systemFrom": changed["systemFrom"]}
    same = await data(api, CHANGE, {"id": made["id"], "c": {"name": "Other", "providers": ["git"]}})
    assert same == changed
    assert await data(api, RETRACT, {"id": made["id"]}) == made["id"]
    assert await data(api, READ, {"id": made["id"]}) is None
    assert await data(api, READ, {"id": made["id"], "at": made["systemFrom"]}) == made
    assert await data(api, READ, {"id": made["id"], "at": changed["systemFrom"]}) == changed
    assert await data(api, READ, {"id": made["id"], "at": "2000-01-01T00:00:00Z"}) is None
    assert (await listed(api), await listed(api, at=made["systemFrom"])) == ([], ["Lens"])
    for query, variables in ((CHANGE, {"id": made["id"], "c": {"name": "x"}}), (RETRACT, {"id": made["id"]})):
        assert await refusal(api, query, variables) == ("CONFLICT", "id")


async def test_a_change_that_was_not_seen_is_a_conflict(api: Api) -> None:
    made = await make(api)
    changed = await data(api, CHANGE, {"id": made["id"], "c": {"name": "Other"}, "e": made["systemFrom"]})
    for query, variables in ((CHANGE, {"c": {"name": "x"}}), (RETRACT, {})):
        stale = {"id": made["id"], "e": made["systemFrom"], **variables}
        assert await refusal(api, query, stale) == ("CONFLICT", "expectedSystemFrom")
    await data(api, RETRACT, {"id": made["id"], "e": changed["systemFrom"]})


async def test_the_same_call_again_does_nothing(api: Api) -> None:
    made = await make(api, clientKey="one")
    assert await make(api, clientKey="one") == made
    assert await refusal(api, CREATE, {"i": {"name": "Other", "clientKey": "one"}}) == ("CONFLICT", "clientKey")
    change = {"id": made["id"], "c": {"name": "Other"}, "k": "two"}
    changed = await data(api, CHANGE, change)
    await data(api, CHANGE, {"id": made["id"], "c": {"name": "Third"}})
    assert await data(api, CHANGE, change) == changed
    assert await data(api, RETRACT, {"id": made["id"], "k": "three"}) == made["id"]
    assert await data(api, RETRACT, {"id": made["id"], "k": "three"}) == made["id"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a\u0000"}, "name"),
        ({"sourceKinds": ["nonsense"]}, "sourceKinds"),
        ({"providers": ["a\u0000"]}, "providers"),
        ({"tags": ["x" * 257]}, "tags"),
        ({"tags": ["x"] * 257}, "tags"),
        ({"clientKey": ""}, "clientKey"),
        ({"spaceId": NOBODY, "spaceKey": "project"}, "spaceId"),
    ],
)
async def test_what_no_lens_can_be(api: Api, given: dict[str, Any], field: str) -> None:
    assert await refusal(api, CREATE, {"i": {"name": "Lens", **given}}) == ("BAD_USER_INPUT", field)
    assert await listed(api) == []


async def test_its_spaces_are_the_makers_to_see(api: Api, parts: Any) -> None:
    other = await make_world(parts)
    hidden = str(await api.world.add_space("hidden", Level.TEAM))
    project = str(api.world.project)
    await api.world.add_person("maker", (api.world.project, Permission.ADMIN))
    for space in (hidden, NOBODY, "x", "", str(other.project)):
        given = {"name": "Lens", "spaceKey": "project", "spaceIds": [project, space]}
        assert await refusal(api, CREATE, {"i": given}, "maker") == ("SPACE_NOT_FOUND", "spaceIds")
    made = await make(api, "maker", spaceKey="project", spaceIds=[project])
    change = {"id": made["id"], "c": {"spaceIds": [hidden]}}
    assert await refusal(api, CHANGE, change, "maker") == ("SPACE_NOT_FOUND", "spaceIds")


async def test_a_reader_sees_of_its_spaces_their_own(api: Api) -> None:
    """CASE 35: what is not the reader's to see does not exist; a change of something else leaves it in place."""
    hidden = str(await api.world.add_space("hidden", Level.TEAM))
    project = str(api.world.project)
    made = await make(api, spaceKey="project", spaceIds=[hidden, project])
    await api.world.add_person("local", (api.world.project, Permission.ADMIN))
    assert (await data(api, READ, {"id": made["id"]}, "local"))["spaceIds"] == [project]
    page = await data(api, LIST, {}, "local")
    assert [edge["node"]["spaceIds"] for edge in page["edges"]] == [[project]]
    changed = await data(api, CHANGE, {"id": made["id"], "c": {"name": "Other"}}, "local")
    assert (changed["name"], changed["spaceIds"]) == ("Other", [project])
    assert (await data(api, READ, {"id": made["id"]}))["spaceIds"] == [hidden, project]


async def test_unknown_invisible_and_foreign_lenses_are_one_answer(api: Api, parts: Any) -> None:
    other = await make_world(parts)
    await api.world.add_space("hidden", Level.TEAM)
    await api.world.add_person("local", (api.world.project, Permission.ADMIN))
    hidden, root = await make(api, spaceKey="hidden"), await make(api)
    for id in (hidden["id"], root["id"], NOBODY, "x", ""):
        for query, variables in ((READ, {}), (CHANGE, {"c": {"name": "x"}}), (RETRACT, {})):
            assert await refusal(api, query, {"id": id, **variables}, "local") == ("NOT_FOUND", "id")
    assert await listed(api, "local") == []
    error = await api.error(READ, {"id": root["id"]}, token=token_of(other))
    assert error["extensions"]["code"] == "NOT_FOUND"
    assert (await api.data(LIST, {}, token=token_of(other)))["lenses"]["edges"] == []


@pytest.mark.parametrize("held", [*Permission])
async def test_only_who_administers_its_space_changes_it(api: Api, held: Permission) -> None:
    made = await make(api, spaceKey="project")
    await api.world.add_person("holder", (api.world.project, held))
    assert await data(api, READ, {"id": made["id"]}, "holder") == made
    calls = (
        (CREATE, {"i": {"name": "x", "spaceKey": "project"}}),
        (CHANGE, {"id": made["id"], "c": {"name": "x"}}),
        (RETRACT, {"id": made["id"]}),
    )
    for query, variables in calls:
        if held is Permission.ADMIN:
            await data(api, query, variables, "holder")
        else:
            assert (await refusal(api, query, variables, "holder"))[0] == "FORBIDDEN"


async def test_pages(api: Api) -> None:
    made = [await make(api, name=str(number)) for number in range(3)]
    seen: list[str] = []
    after = None
    while True:
        page = await data(api, LIST, {"first": 1, "after": after})
        seen += [edge["node"]["id"] for edge in page["edges"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert seen == [lens["id"] for lens in made]
    assert await refusal(api, LIST, {"after": "nonsense"}) == ("BAD_USER_INPUT", "after")


async def test_the_contract_names_the_lens(api: Api) -> None:
    made = await make(api)
    query = """query($i: RetrieveInput!) { retrieve(input: $i) { contract { lensId lensSystemFrom } } }"""
    asked = {"query": "tea", "spaceKey": "project", "lensId": made["id"]}
    answer = await data(api, query, {"i": asked})
    assert answer["contract"] == {"lensId": made["id"], "lensSystemFrom": made["systemFrom"]}
    assert await refusal(api, query, {"i": {**asked, "lensId": NOBODY}}) == ("NOT_FOUND", "lensId")
    plain = await data(api, query, {"i": {**asked, "lensId": None}})
    assert plain["contract"] == {"lensId": None, "lensSystemFrom": None}
