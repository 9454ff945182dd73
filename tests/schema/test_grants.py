"""Granting permissions to people, groups and keys, and taking them back, through the API."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import jwt
import pytest
from sqlalchemy import text

from app.domain.errors import Code, MunimentError
from app.domain.grant import Grantee, GranteeKind
from app.domain.instant import format_instant, parse_instant
from app.domain.principal import Level, Permission, principal_id
from app.domain.temporal import ALWAYS
from app.evidence.watching import Watch, context_changed
from app.identity.grants import CHANGE_CATEGORY, Wish, revoke_permissions
from app.retrieval.cache import SearchCache
from app.storage.engine import Database
from tests.fixtures.store import World, make_world
from tests.schema.conftest import Api, token_of
from tests.schema.test_spaces import add_personal

GRANT = """mutation($i: PermissionsInput!) { grantPermissions(input: $i) { id versionId
    grantee { id kind name } spaceId permission grantedBy validFrom validTo systemFrom systemTo } }"""
REVOKE = "mutation($i: PermissionsInput!) { revokePermissions(input: $i) }"
LIST = """query($id: ID, $key: String, $g: GranteeInput, $asOf: Instant, $knownAt: Instant, $first: Int,
    $after: String) { grants(spaceId: $id, spaceKey: $key, grantee: $g, asOf: $asOf, knownAt: $knownAt,
    first: $first, after: $after) {
    edges { node { id grantee { kind name } permission validFrom validTo } } pageInfo { hasNextPage endCursor } } }"""
HISTORY = """query($id: ID!) { history(id: $id) { edges { node {
    kind validFrom validTo systemFrom systemTo value } } } }"""
SEARCH = 'query($q: String!) { retrieve(input: {query: $q, spaceKey: "project"}) { passages { text } } }'
SPACES = "{ spaces { edges { node { keyPath } } } }"
LATER = datetime(2100, 1, 1, tzinfo=UTC)


def person(name: str) -> dict[str, str]:
    return {"kind": "PERSON", "name": name}


def wish(name: str, *permissions: str, **more: Any) -> dict[str, Any]:
    return {"i": {"grantee": person(name), "permissions": list(permissions), "spaceKey": "project", **more}}


async def data(api: Api, query: str, variables: dict[str, Any] | None = None, by: str | None = None) -> Any:
    [found] = (await api.data(query, variables, token=None if by is None else token_of(api.world, by))).values()
    return found


async def refusal(api: Api, query: str, variables: dict[str, Any], by: str | None = None) -> tuple[str, str | None]:
    error = await api.error(query, variables, token=None if by is None else token_of(api.world, by))
    return error["extensions"]["code"], error["extensions"].get("field")


async def listed(api: Api, by: str | None = None, **given: Any) -> list[tuple[str, str, str]]:
    found = await data(api, LIST, {"key": "project", "first": 100, **given}, by)
    nodes = [edge["node"] for edge in found["edges"]]
    return [(node["grantee"]["kind"], node["grantee"]["name"], node["permission"]) for node in nodes]


async def sees(api: Api, subject: str, **claims: Any) -> bool:
    """Whether somebody finds what is kept in the project."""
    body = await api.ask(SEARCH, {"q": "ledger"}, token=token_with(api, subject, **claims))
    return bool((body.get("data") or {"retrieve": {"passages": []}})["retrieve"]["passages"])


def token_with(api: Api, subject: str, **claims: Any) -> str:
    """A token with claims that a development token does not have."""
    parts, token = api.world.parts, token_of(api.world, subject)
    said = {**jwt.decode(token, options={"verify_signature": False}), **claims}
    assert parts.development is not None
    return jwt.encode(said, parts.development._key, algorithm="EdDSA")


@pytest.fixture
async def page(api: Api) -> Api:
    await api.world.write("page.md", ("# Ledger\n\nThe ledger closes on Fridays.", None, None))
    return api


# What a grant gives


async def test_a_person_may_from_the_next_request_on(page: Api) -> None:
    assert not await sees(page, "ann")
    [made] = await data(page, GRANT, wish("ann", "SEARCH"))
    ann = principal_id(page.world.organisation, "person", "ann")
    assert made["grantee"] == {"id": str(ann), "kind": "PERSON", "name": "ann"}
    assert (made["permission"], made["spaceId"]) == ("SEARCH", str(page.world.project))
    assert made["grantedBy"] == str(page.world.principal.id)
    assert made["validFrom"] == made["systemFrom"]
    assert (made["validTo"], made["systemTo"]) == (None, None)
    assert await sees(page, "ann")
    assert await data(page, REVOKE, wish("ann", "SEARCH")) == [made["id"]]
    assert not await sees(page, "ann")
    assert await data(page, SPACES, by="ann") == {"edges": []}


async def test_a_group_may_as_the_token_names_it(page: Api) -> None:
    variables = {"i": {"grantee": {"kind": "GROUP", "name": "auditors"}, "permissions": ["SEARCH"], "spaceKey": "/"}}
    await data(page, GRANT, variables)
    assert not await sees(page, "ann")
    assert await sees(page, "ann", groups=["auditors"])
    assert not await sees(page, "ann", groups=["auditor"])
    await data(page, REVOKE, variables)
    assert not await sees(page, "ann", groups=["auditors"])


async def test_it_holds_below_the_space_and_not_above(api: Api) -> None:
    await api.world.add_space("project/part", Level.SUBPROJECT, "project")
    await data(api, GRANT, wish("ann", "READ"))
    found = await data(api, SPACES, by="ann")
    assert [edge["node"]["keyPath"] for edge in found["edges"]] == ["project", "project/part"]


async def test_a_key_is_granted_by_its_id(api: Api) -> None:
    variables = {"i": {"grantee": {"kind": "KEY", "name": str(uuid4())}, "permissions": ["SEARCH"]}}
    [made] = await data(api, GRANT, variables)
    assert made["grantee"]["kind"] == "KEY"


async def test_what_holds_already_stays_as_it_is(api: Api) -> None:
    [first] = await data(api, GRANT, wish("ann", "READ"))
    [second] = await data(api, GRANT, wish("ann", "READ"))
    assert second == first
    assert len((await data(api, HISTORY, {"id": first["id"]}))["edges"]) == 1


async def test_nothing_to_take_back_is_no_fault(api: Api) -> None:
    assert await data(api, REVOKE, wish("nobody", "READ", "SEARCH")) == []


# Both clocks


async def test_a_grant_begins_and_ends_in_the_world(page: Api) -> None:
    await data(page, GRANT, wish("ann", "SEARCH", validFrom=format_instant(LATER)))
    assert not await sees(page, "ann")
    await data(page, GRANT, wish("ann", "SEARCH", validFrom=None, validTo="2020-01-01T00:00:00Z"))
    assert not await sees(page, "ann")
    [_, _, third] = await data(
        page, GRANT, wish("ann", "SEARCH", validFrom="2025-01-01T00:00:00Z", validTo=format_instant(LATER))
    )
    assert third["validTo"] is None
    assert await sees(page, "ann")


async def test_the_list_and_the_history_speak_of_both_clocks(api: Api) -> None:
    [made] = await data(api, GRANT, wish("ann", "READ"))
    held = ("PERSON", "ann", "READ")
    assert held in await listed(api)
    before = parse_instant(made["systemFrom"]) - timedelta(microseconds=1)
    assert held not in await listed(api, knownAt=format_instant(before))
    assert held not in await listed(api, asOf=format_instant(before))
    await data(api, REVOKE, wish("ann", "READ"))
    assert held not in await listed(api)
    # It was so then, and it was believed then.
    assert held in await listed(api, asOf=made["validFrom"])
    assert held in await listed(api, knownAt=made["systemFrom"])
    edges = (await data(api, HISTORY, {"id": made["id"]}))["edges"]
    whole, rest = (edge["node"] for edge in edges)
    assert (whole["kind"], whole["validTo"]) == ("GRANT", None)
    assert whole["systemTo"] == rest["systemFrom"] == rest["validTo"]
    assert rest["value"] == {"grantedBy": str(api.world.principal.id)}


async def test_the_history_of_a_grant_is_for_who_administers_its_space(api: Api) -> None:
    [made] = await data(api, GRANT, wish("ann", "READ"))
    await api.world.add_person("reader", (api.world.project, Permission.READ))
    assert await refusal(api, HISTORY, {"id": made["id"]}, "reader") == ("FORBIDDEN", None)
    assert await refusal(api, HISTORY, {"id": made["id"]}, "stranger") == ("NOT_FOUND", "id")


async def test_old_clocks_never_widen_access(page: Api) -> None:
    [made] = await data(page, GRANT, wish("ann", "SEARCH"))
    await data(page, REVOKE, wish("ann", "SEARCH"))
    past = (
        """query($at: Instant) { retrieve(input: {query: "ledger", asOf: $at, knownAt: $at}) { passages { text } } }"""
    )
    found = await data(page, past, {"at": made["systemFrom"]}, "ann")
    assert found["passages"] == []


async def test_pages_of_grants(api: Api) -> None:
    for name in ("ann", "bob", "cid"):
        await data(api, GRANT, wish(name, "READ"))
    first = await data(api, LIST, {"key": "project", "first": 2})
    assert [edge["node"]["grantee"]["name"] for edge in first["edges"]] == ["ann", "bob"]
    assert first["pageInfo"]["hasNextPage"]
    last = await data(api, LIST, {"key": "project", "after": first["pageInfo"]["endCursor"]})
    assert [edge["node"]["grantee"]["name"] for edge in last["edges"]] == ["cid"]
    assert await listed(api, g=person("bob")) == [("PERSON", "bob", "READ")]


# Who may grant


async def test_only_who_administers_the_space(api: Api) -> None:
    world = api.world
    others = [permission for permission in Permission if permission not in {Permission.ADMIN, Permission.ORG_ADMIN}]
    await world.add_person("writer", *((world.project, permission) for permission in others))
    for query in (GRANT, REVOKE):
        assert await refusal(api, query, wish("ann", "READ"), "writer") == ("FORBIDDEN", None)
        assert await refusal(api, query, wish("ann", "READ"), "stranger") == ("SPACE_NOT_FOUND", "spaceKey")
    assert await refusal(api, LIST, {"key": "project"}, "writer") == ("FORBIDDEN", None)
    assert await refusal(api, LIST, {"key": "project"}, "stranger") == ("SPACE_NOT_FOUND", "spaceKey")


async def test_an_administrator_of_a_space_grants_there_and_nowhere_else(api: Api) -> None:
    world = api.world
    await world.add_space("other", Level.PROJECT)
    await world.add_person("lead", (world.project, Permission.ADMIN), (world.project, Permission.READ))
    await data(api, GRANT, wish("ann", "READ"), "lead")
    assert await refusal(api, GRANT, wish("ann", "READ", spaceKey="other"), "lead") == ("SPACE_NOT_FOUND", "spaceKey")
    assert await refusal(api, GRANT, wish("ann", "READ", spaceKey="/"), "lead") == ("SPACE_NOT_FOUND", "spaceKey")


async def test_nobody_grants_what_they_do_not_hold(api: Api) -> None:
    world = api.world
    await world.add_person("lead", (world.project, Permission.ADMIN))
    await world.add_person("chief", (world.root, Permission.ORG_ADMIN))
    for by, permission in (("lead", "SEARCH"), ("lead", "AUDIT_READ"), ("chief", "SEARCH"), ("chief", "ADMIN")):
        assert await refusal(api, GRANT, wish("lead", permission), by) == ("FORBIDDEN", "permissions")
    # Nor to themselves, nor beside something that they do hold: all or nothing.
    assert await refusal(api, GRANT, wish("ann", "ADMIN", "READ"), "lead") == ("FORBIDDEN", "permissions")
    assert await listed(api, "lead", g=person("ann")) == []


async def test_nobody_grants_for_longer_than_they_hold(api: Api) -> None:
    until = format_instant(LATER)
    await data(api, GRANT, wish("lead", "ADMIN", "READ", validTo=until))
    assert await refusal(api, GRANT, wish("ann", "READ"), "lead") == ("FORBIDDEN", "validTo")
    await data(api, GRANT, wish("ann", "READ", validTo=until), "lead")
    # Two grants that meet are one time.
    await data(api, GRANT, wish("lead", "READ", spaceKey="/", validFrom=until))
    await data(api, GRANT, wish("ann", "READ"), "lead")


async def test_what_is_granted_above_may_be_granted_below(api: Api) -> None:
    await api.world.add_person("chief", (api.world.root, Permission.ADMIN), (api.world.root, Permission.READ))
    await data(api, GRANT, wish("ann", "READ"), "chief")


async def test_a_personal_space_is_its_owners_alone(api: Api) -> None:
    key = await add_personal(api, "ann", (api.world.root, Permission.ADMIN))
    assert await refusal(api, GRANT, wish("bob", "READ", spaceKey=key), "ann") == ("BAD_USER_INPUT", "spaceKey")
    assert await refusal(api, GRANT, wish("bob", "READ", spaceKey=key)) == ("SPACE_NOT_FOUND", "spaceKey")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"permissions": []}, "permissions"),
        ({"grantee": person("")}, "name"),
        ({"grantee": person("a" * 257)}, "name"),
        ({"grantee": person("a\0b")}, "name"),
        ({"permissions": ["ORG_ADMIN"]}, "permissions"),
        ({"clientKey": ""}, "clientKey"),
        ({"validFrom": "2026-01-02T00:00:00Z", "validTo": "2026-01-01T00:00:00Z"}, "validTo"),
    ],
)
async def test_what_cannot_be_granted(api: Api, changes: dict[str, Any], field: str) -> None:
    variables = wish("ann", "READ")
    variables["i"] |= changes
    assert await refusal(api, GRANT, variables) == ("BAD_USER_INPUT", field)


# Administrators of the organisation


async def test_the_last_administrator_stays(api: Api) -> None:
    name, root = api.world.principal.external_id, {"spaceKey": "/"}
    assert await refusal(api, REVOKE, wish(name, "ORG_ADMIN", **root)) == ("CONFLICT", "permissions")
    # One who will not be there for ever, or who is not a person or a group, is no successor.
    await data(api, GRANT, wish("ann", "ORG_ADMIN", validTo=format_instant(LATER), **root))
    key = {"grantee": {"kind": "KEY", "name": "key"}, "permissions": ["ORG_ADMIN"]}
    await data(api, GRANT, {"i": key})
    assert await refusal(api, REVOKE, wish(name, "ORG_ADMIN", **root)) == ("CONFLICT", "permissions")
    assert await refusal(api, REVOKE, wish(name, "READ", "ORG_ADMIN", **root)) == ("CONFLICT", "permissions")
    assert len(await listed(api, key="/", g=person(name))) == len(Permission)
    # Until then there is one.
    until = {"validTo": format_instant(LATER - timedelta(days=1))}
    assert len(await data(api, REVOKE, wish(name, "ORG_ADMIN", **root, **until), "ann")) == 1
    assert await refusal(api, REVOKE, wish(name, "ORG_ADMIN", **root), "ann") == ("CONFLICT", "permissions")


async def test_two_administrators_cannot_take_each_other_away(api: Api) -> None:
    world, root = api.world, {"spaceKey": "/"}
    await data(api, GRANT, wish("ann", *(permission.name for permission in Permission), **root))
    name = world.principal.external_id
    answers = await asyncio.gather(
        api.ask(REVOKE, wish(name, "ORG_ADMIN", **root), token=token_of(world, "ann")),
        api.ask(REVOKE, wish("ann", "ORG_ADMIN", **root)),
    )
    codes = [answer["errors"][0]["extensions"]["code"] for answer in answers if "errors" in answer]
    assert codes in (["CONFLICT"], ["FORBIDDEN"])


async def test_who_watches_is_not_taken_away_by_who_is_watched(api: Api) -> None:
    await api.world.add_person("lead", (api.world.project, Permission.ADMIN))
    await data(api, GRANT, wish("auditor", "AUDIT_READ", "SEARCH"))
    assert await refusal(api, REVOKE, wish("auditor", "AUDIT_READ"), "lead") == ("FORBIDDEN", "permissions")
    assert len(await data(api, REVOKE, wish("auditor", "SEARCH"), "lead")) == 1
    assert len(await data(api, REVOKE, wish("auditor", "AUDIT_READ"))) == 1


# Once


async def test_the_same_call_with_its_key_does_nothing_again(api: Api) -> None:
    call = wish("ann", "READ", clientKey="first")
    made = await data(api, GRANT, call)
    await data(api, REVOKE, wish("ann", "READ", clientKey="second"))
    [again] = await data(api, GRANT, call)
    assert again | {"systemTo": None} == made[0]
    assert again["systemTo"] is not None
    assert await listed(api, g=person("ann")) == []
    assert await refusal(api, GRANT, wish("ann", "SEARCH", clientKey="first")) == ("CONFLICT", "clientKey")
    assert await refusal(api, REVOKE, wish("ann", "READ", clientKey="first")) == ("CONFLICT", "clientKey")


async def test_twenty_at_once_are_one_grant(api: Api) -> None:
    answers = await asyncio.gather(*(data(api, GRANT, wish("ann", "READ")) for _ in range(20)))
    assert len({json.dumps(answer) for answer in answers}) == 1
    assert await listed(api, g=person("ann")) == [("PERSON", "ann", "READ")]


# Taken back, everywhere


async def test_in_another_process_and_past_a_remembered_search(page: Api, installation: Any) -> None:
    """Two pools and two caches, as two processes have them."""
    world = page.world
    await world.settle()
    other = Database.connect(installation.url, pool_size=2)
    try:
        retriever = replace(world.parts.retriever, database=other, cache=SearchCache(60))
        there = replace(world, parts=replace(world.parts, database=other, retriever=retriever))
        await data(page, GRANT, wish("ann", "SEARCH"))
        ann = replace(world.principal, id=principal_id(world.organisation, "person", "ann"), external_id="ann")
        for _ in range(2):
            answer = await there.ask("ledger", by=ann)
            assert answer.passages
        assert answer.search.cache_hit
        await data(page, REVOKE, wish("ann", "SEARCH"))
        with pytest.raises(MunimentError) as refused:
            await there.ask("ledger", by=ann)
        assert refused.value.code is Code.SPACE_NOT_FOUND
    finally:
        await other.close()


async def test_a_running_subscription_ends(page: Api) -> None:
    """Somebody who watches over the shoulder of another, as an administrator of the space."""
    world, database = page.world, page.world.parts.database
    asked = await world.ask("ledger")
    await data(page, GRANT, wish("lead", "ADMIN"))
    lead = replace(world.principal, id=principal_id(world.organisation, "person", "lead"), external_id="lead")
    watch = Watch(2)
    events = context_changed(database, watch, lead, str(asked.attribution_id), LATER)
    waiting = asyncio.ensure_future(anext(events))
    while not watch.count:
        await asyncio.sleep(0.01)
    await data(page, REVOKE, wish("lead", "ADMIN"))
    watch.heard(world.organisation)
    with pytest.raises(MunimentError) as refused:
        await asyncio.wait_for(waiting, 30)
    assert refused.value.code is Code.ATTRIBUTION_NOT_FOUND


async def test_who_did_it_is_in_the_chain(api: Api) -> None:
    world = api.world
    [made] = await data(api, GRANT, wish("ann", "READ"))
    await data(api, GRANT, wish("ann", "READ"))
    await data(api, REVOKE, wish("ann", "READ"))
    async with world.parts.database.snapshot(world.organisation) as session:
        queued = text("SELECT payload FROM attribution_queue UNION ALL SELECT payload FROM evidence")
        payloads = [json.loads(row.payload) for row in await session.rows(queued)]
    said = [record for record in payloads if record["category"] == CHANGE_CATEGORY]
    records = sorted(said, key=lambda record: record["knownAt"])
    assert [record["change"] for record in records] == ["granted", "revoked"]
    for record in records:
        assert record["userId"] == str(world.principal.id)
        assert record["grantee"] == {"kind": "person", "id": made["grantee"]["id"]}
        assert record["permissions"] == ["context:space:read"]


async def test_a_stamp_ahead_of_the_wall_clock_takes_back_at_once(page: Api) -> None:
    """A clock that was set back, or facts that came with times of their own: what is revoked now is gone now."""
    world = page.world
    async with world.parts.database.write(world.organisation, at=datetime.now(UTC) + timedelta(days=400)):
        pass
    await data(page, GRANT, wish("ann", "SEARCH"))
    assert await sees(page, "ann")
    assert len((await data(page, SPACES, by="ann"))["edges"]) == 1
    await data(page, REVOKE, wish("ann", "SEARCH"))
    assert not await sees(page, "ann")
    assert await data(page, SPACES, by="ann") == {"edges": []}


async def test_another_organisation_is_never_touched(api: Api) -> None:
    other: World = await make_world(api.world.parts)
    grantee = Grantee(GranteeKind.PERSON, other.principal.external_id)
    changed = await revoke_permissions(
        other.parts.database, api.world.principal, Wish(grantee, [Permission.READ], ALWAYS), space_key="project"
    )
    assert changed == []
    variables = {"i": {"grantee": person("ann"), "permissions": ["READ"], "spaceId": str(other.project)}}
    assert await refusal(api, GRANT, variables) == ("SPACE_NOT_FOUND", "spaceId")
