"""Keys of programs: shown once, narrowed everywhere, gone at once."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.domain.principal import Level, Permission, principal_id
from app.identity import api_keys
from app.identity.credential_log import CATEGORY
from app.identity.key_secret import KeySecret, make_key
from app.providers.ids import new_id
from app.storage import tenancy
from tests.fixtures.owner import connection
from tests.fixtures.store import make_world
from tests.schema.conftest import Api, token_of

CREATE = """mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { secret apiKey {
    id principalId prefix name actions allowedProviders allowedSpaces actorType issuedAt expiresAt lastUsedAt
    revokedAt } } }"""
REVOKE = "mutation($id: ID!) { revokeApiKey(id: $id) { id revokedAt } }"
LIST = """query($revoked: Boolean!, $first: Int, $after: String) {
    apiKeys(revoked: $revoked, first: $first, after: $after) {
        edges { cursor node { id prefix revokedAt lastUsedAt } } pageInfo { hasNextPage } } }"""
ME = "{ me { id externalId actorType } }"
ASK = """query($q: String!, $space: String) { retrieve(input: {query: $q, spaceKey: $space}) {
    attributionId passages { text } contract { apiKeyId actorType } limitations { code } } }"""
SEARCH = [Permission.SEARCH.name]


async def create(api: Api, token: str | None = None, **given: Any) -> dict[str, Any]:
    made: dict[str, Any] = (
        await api.data(CREATE, {"input": {"name": "indexer", "actions": SEARCH, **given}}, token=token)
    )["createApiKey"]
    return made


async def refused(api: Api, query: str, variables: dict[str, Any] | None = None, token: str | None = None) -> str:
    error = await api.error(query, variables, token=token)
    return str(error["extensions"]["code"])


async def texts(api: Api, secret: str, space: str | None = "project") -> set[str]:
    answer = await api.data(ASK, {"q": "lantern", "space": space}, token=secret)
    return {passage["text"] for passage in answer["retrieve"]["passages"]}


async def test_a_key_is_shown_once_and_stands_for_itself(api: Api) -> None:
    made = await create(api, actorType="agent", allowedProviders=["filesystem"])
    secret, key = made["secret"], made["apiKey"]
    assert key["prefix"] == secret[:8]
    assert (key["name"], key["actions"], key["allowedSpaces"]) == ("indexer", SEARCH, None)
    assert key["revokedAt"] is None
    assert key["expiresAt"] is None
    me = (await api.data(ME, token=secret))["me"]
    assert me == {"id": key["principalId"], "externalId": key["id"], "actorType": "agent"}
    assert me["id"] == str(principal_id(api.world.organisation, "key", key["id"]))
    await api.world.write("a.md", ("A lantern is lit.", None, None))
    answer = (await api.data(ASK, {"q": "lantern", "space": "project"}, token=secret))["retrieve"]
    assert answer["contract"] == {"apiKeyId": key["id"], "actorType": "agent"}
    assert [passage["text"] for passage in answer["passages"]] == ["A lantern is lit."]
    narrow = (await create(api, allowedProviders=["git"]))["secret"]
    answer = (await api.data(ASK, {"q": "lantern", "space": "project"}, token=narrow))["retrieve"]
    assert answer["passages"] == []
    assert "PROVIDER_SCOPE_APPLIED" in {item["code"] for item in answer["limitations"]}


async def test_the_secret_is_nowhere_in_the_database(api: Api, owner_url: str) -> None:
    secret = (await create(api))["secret"]
    await api.data(ME, token=secret)
    read = KeySecret.read(secret)
    assert read is not None
    async with connection(owner_url) as owner:
        for table in ("api_keys", "principals", "grants", "client_keys", "attribution_queue", "evidence"):
            found = await owner.fetchval(
                f"SELECT count(*) FROM {table} t WHERE t::text LIKE '%' || $1 || '%'", secret[9:]
            )
            assert found == 0, table
        stored = await owner.fetchval("SELECT secret_sha256 FROM api_keys WHERE prefix = $1", read.prefix)
    assert stored == read.digest


async def test_what_is_no_key_or_nobodys(api: Api) -> None:
    secret = (await create(api))["secret"]
    swapped = "A" if secret[-1] != "A" else "B"
    for given in (
        make_key(api.world.organisation),
        secret[:-1] + swapped,
        secret[:-1],
        secret + "A",
        secret.lower(),
        secret.replace("mnm", "mnn", 1),
        f"{secret[:9]}{'A' * 22}{secret[31:]}",
    ):
        assert await refused(api, ME, token=given) == "UNAUTHENTICATED"


async def test_a_key_does_not_count_in_another_organisation(api: Api) -> None:
    other = Api(await make_world(api.world.parts), api.http)
    secret = (await create(api))["secret"]
    key = KeySecret.read(secret)
    assert key is not None
    # The same secret with the other's organisation in it.
    moved = f"{secret[:9]}{make_key(other.world.organisation)[9:31]}{secret[31:]}"
    assert KeySecret.read(moved) is not None
    assert await refused(other, ME, token=moved) == "UNAUTHENTICATED"
    made = await create(api)
    assert await refused(other, REVOKE, {"id": made["apiKey"]["id"]}) == "NOT_FOUND"
    assert (await other.data(LIST, {"revoked": True}))["apiKeys"]["edges"] == []


async def test_revoked_at_once(api: Api) -> None:
    made = await create(api)
    secret, id = made["secret"], made["apiKey"]["id"]
    assert await texts(api, secret) == set()
    revoked = (await api.data(REVOKE, {"id": id}))["revokeApiKey"]
    assert revoked["revokedAt"] is not None
    assert await refused(api, ME, token=secret) == "UNAUTHENTICATED"
    assert await refused(api, ASK, {"q": "x", "space": "project"}, secret) == "UNAUTHENTICATED"
    assert (await api.data(REVOKE, {"id": id}))["revokeApiKey"] == revoked
    listed = (await api.data(LIST, {"revoked": False}))["apiKeys"]["edges"]
    assert id not in {edge["node"]["id"] for edge in listed}
    listed = (await api.data(LIST, {"revoked": True}))["apiKeys"]["edges"]
    assert id in {edge["node"]["id"] for edge in listed}


async def test_a_key_ends(api: Api, owner_url: str) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    made = await create(api, expiresAt=soon)
    assert (await api.data(ME, token=made["secret"]))["me"]["id"] == made["apiKey"]["principalId"]
    async with connection(owner_url) as owner:
        await owner.execute(
            "UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE prefix = $1", made["apiKey"]["prefix"]
        )
    assert await refused(api, ME, token=made["secret"]) == "UNAUTHENTICATED"
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    assert (
        await refused(api, CREATE, {"input": {"name": "x", "actions": SEARCH, "expiresAt": past}}) == "BAD_USER_INPUT"
    )


async def test_spaces_narrow_every_way_in(api: Api) -> None:
    """Above, beside and below, whatever is granted beyond them."""
    world = api.world
    inner = await world.add_space("project/inner", Level.PROJECT, "project")
    beside = await world.add_space("beside", Level.PROJECT)
    for space, text in (
        (world.root, "Root lantern."),
        (world.project, "Project lantern."),
        (inner, "Inner lantern."),
        (beside, "Beside lantern."),
    ):
        await world.write("a.md", (text, None, None), source=await world.add_source(text, space))
    every = [permission.name for permission in (Permission.SEARCH, Permission.READ)]
    made = await create(api, actions=every, allowedSpaces=["project"])
    secret = made["secret"]
    assert made["apiKey"]["allowedSpaces"] == [str(world.project)]
    assert await texts(api, secret, "project/inner") == {"Project lantern.", "Inner lantern."}
    # Granted on the whole organisation, and for everything: it stays within its spaces and actions.
    holder = principal_id(world.organisation, "key", made["apiKey"]["id"])
    async with world.parts.database.write(world.organisation) as session:
        for permission in Permission:
            await tenancy.grant(session, new_id(), holder, world.root, permission)
    assert await texts(api, secret, "project/inner") == {"Project lantern.", "Inner lantern."}
    assert await texts(api, secret, None) == set()
    for hidden in ("beside", "/"):
        assert await refused(api, ASK, {"q": "lantern", "space": hidden}, secret) == "SPACE_NOT_FOUND"
    spaces = await api.data("{ spaces { edges { node { keyPath parentId } } } }", token=secret)
    assert [edge["node"] for edge in spaces["spaces"]["edges"]] == [
        {"keyPath": "project", "parentId": None},
        {"keyPath": "project/inner", "parentId": str(world.project)},
    ]
    for query in (
        "{ status { queueDepth } }",
        "{ verifyChain { verdict } }",
        'mutation { remember(input: {text: "x", spaceKey: "project"}) { id } }',
        'mutation { createSpace(input: {key: "x", parentKey: "project"}) { id } }',
        "{ levelWeights { __typename } }",
        'mutation { revokeTokens(subject: "tester") { subject } }',
    ):
        assert await refused(api, query, token=secret) in {"FORBIDDEN", "SPACE_NOT_FOUND"}, query


GRANT = """mutation($key: String!, $space: String!, $what: [Permission!]!) { grantPermissions(input: {
    grantee: {kind: KEY, name: $key}, spaceKey: $space, permissions: $what}) { id } }"""
TAKE = GRANT.replace("grantPermissions", "revokePermissions").replace(" { id } }", " }")


async def test_granted_and_taken_back_by_the_api(api: Api) -> None:
    world = api.world
    await world.add_space("beside", Level.PROJECT)
    await world.write("a.md", ("A lantern is lit.", None, None))
    made = await create(api, allowedSpaces=["project", "beside"])
    key = {"key": made["apiKey"]["id"]}
    assert await texts(api, made["secret"]) == {"A lantern is lit."}
    await api.data(TAKE, {**key, "space": "project", "what": ["SEARCH"]})
    assert await refused(api, ASK, {"q": "lantern", "space": "project"}, made["secret"]) == "SPACE_NOT_FOUND"
    await api.data(GRANT, {**key, "space": "project", "what": ["SEARCH", "WRITE"]})
    assert await texts(api, made["secret"]) == {"A lantern is lit."}
    write = 'mutation { ensureSpace(spaceKey: "project/new") { id } }'
    assert await refused(api, write, token=made["secret"]) in {"FORBIDDEN", "SPACE_NOT_FOUND"}


async def test_what_a_key_holds_in_vain_it_cannot_give_away(api: Api) -> None:
    world = api.world
    made = await create(api, actions=[Permission.ADMIN.name], allowedSpaces=["project"])
    holder = principal_id(world.organisation, "key", made["apiKey"]["id"])
    async with world.parts.database.write(world.organisation) as session:
        for permission in Permission:
            await tenancy.grant(session, new_id(), holder, world.root, permission)
    for space, what, code in (
        ("project", ["SEARCH"], "FORBIDDEN"),
        ("project", ["ADMIN", "ORG_ADMIN"], "FORBIDDEN"),
        ("/", ["ADMIN"], "SPACE_NOT_FOUND"),
    ):
        given = {"key": made["apiKey"]["id"], "space": space, "what": what}
        assert await refused(api, GRANT, given, made["secret"]) == code, (space, what)
    given = {"key": made["apiKey"]["id"], "space": "project", "what": ["ADMIN"]}
    assert await api.data(GRANT, given, token=made["secret"])


async def test_the_chain_keeps_who_made_and_revoked_it(api: Api, owner_url: str) -> None:
    made = await create(api, name="a name of theirs")
    await api.data(REVOKE, {"id": made["apiKey"]["id"]})
    async with connection(owner_url) as owner:
        payloads = [
            row["payload"]
            for row in await owner.fetch(
                "SELECT payload FROM attribution_queue WHERE organisation_id = $1", api.world.organisation
            )
        ]
    records = [json.loads(payload) for payload in payloads]
    said = [(record["change"], record["userId"]) for record in records if record["category"] == CATEGORY]
    assert sorted(said) == [(change, str(api.world.principal.id)) for change in ("key_created", "key_revoked")]
    for payload in payloads:
        assert made["secret"][9:].encode() not in payload
        assert b"a name of theirs" not in payload


async def test_memories_and_subjects_are_narrowed_too(api: Api) -> None:
    world = api.world
    await world.add_space("beside", Level.PROJECT)
    remember = """mutation($t: String!, $s: String!, $who: ID) { remember(input: {
        text: $t, spaceKey: $s, subjectId: $who})
        { id } }"""
    inside = await api.data(remember, {"t": "A lantern inside.", "s": "project", "who": None})
    outside = await api.data(remember, {"t": "A lantern beside.", "s": "beside", "who": None})
    await api.data(remember, {"t": "Ann beside.", "s": "beside", "who": "ann"})
    made = await create(api, actions=[Permission.SEARCH.name, Permission.READ.name], allowedSpaces=["project"])
    ask = """query($who: ID) { retrieve(input: {query: "lantern", spaceKey: "project", subjectId: $who}) {
        memories { text } groupMemories { text } } }"""
    answer = (await api.data(ask, {"who": "ann"}, token=made["secret"]))["retrieve"]
    assert [memory["text"] for memory in answer["memories"]] == ["A lantern inside."]
    read = "query($id: ID!) { memory(id: $id) { id } }"
    assert await api.data(read, {"id": inside["remember"]["id"]}, token=made["secret"])
    assert await refused(api, read, {"id": outside["remember"]["id"]}, made["secret"]) == "NOT_FOUND"
    only = await create(api, allowedSpaces=["project"])
    assert await refused(api, read, {"id": inside["remember"]["id"]}, only["secret"]) == "FORBIDDEN"


async def test_providers_narrow_what_is_read_and_written_too(api: Api) -> None:
    await api.world.write("a.md", ("A lantern is lit.", None, None))
    ask = '{ retrieve(input: {query: "lantern", spaceKey: "project"}) { passages { documentId } } }'
    document = {"id": (await api.data(ask))["retrieve"]["passages"][0]["documentId"]}
    read = "query($id: ID!) { document(id: $id) { id } }"
    past = "query($id: ID!) { history(id: $id) { edges { cursor } } }"
    retract = "mutation($id: ID!) { retractDocument(id: $id) }"
    actions = [permission.name for permission in (Permission.READ, Permission.WRITE, Permission.SEARCH)]
    admitted = (await create(api, actions=actions, allowedProviders=["filesystem"]))["secret"]
    others = (await create(api, actions=actions, allowedProviders=["git"]))["secret"]
    listed = "query($id: ID!) { documents(sourceId: $id) { edges { cursor } } }"
    source = {"id": str(api.world.source.id)}
    assert await refused(api, listed, source, others) == "NOT_FOUND"
    assert (await api.data(listed, source, token=admitted))["documents"]["edges"]
    for query in (read, past, retract):
        assert await refused(api, query, document, others) == "NOT_FOUND"
    for query in (read, past, retract):
        assert await api.data(query, document, token=admitted)


async def test_records_of_others_are_not_a_keys(api: Api) -> None:
    """What an auditor may read, a key of theirs may where it was made for that."""
    world = api.world
    await world.write("a.md", ("A lantern is lit.", None, None))
    record = "query($id: ID!) { attribution(id: $id) { id } }"
    by_person = (await api.data(ASK, {"q": "lantern", "space": "project"}))["retrieve"]["attributionId"]
    key = await create(api, allowedSpaces=["project"])
    assert await refused(api, record, {"id": by_person}, key["secret"]) == "ATTRIBUTION_NOT_FOUND"
    own = (await api.data(ASK, {"q": "lantern", "space": "project"}, token=key["secret"]))["retrieve"]["attributionId"]
    assert (await api.data(record, {"id": own}, token=key["secret"]))["attribution"]["id"] == own
    auditor = await create(api, actions=[Permission.AUDIT_READ.name])
    assert (await api.data(record, {"id": by_person}, token=auditor["secret"]))["attribution"]["id"] == by_person
    elsewhere = await create(api, actions=[Permission.AUDIT_READ.name], allowedSpaces=[str(world.project)])
    assert await refused(api, "{ verifyChain { verdict } }", token=elsewhere["secret"]) == "FORBIDDEN"


async def test_an_empty_list_admits_nothing(api: Api) -> None:
    await api.world.write("a.md", ("A lantern is lit.", None, None))
    nothing = await create(api, allowedProviders=[])
    assert await texts(api, nothing["secret"]) == set()


async def test_no_key_reaches_further_than_its_maker(api: Api) -> None:
    world = api.world
    admin = [Permission.ADMIN, Permission.SEARCH]
    await world.add_person("lead", *((world.project, permission) for permission in admin))
    lead = token_of(world, "lead")
    beside = await world.add_space("beside", Level.PROJECT)
    assert await create(api, lead, allowedSpaces=["project"])
    for given, code in (
        ({}, "FORBIDDEN"),
        ({"allowedSpaces": ["/"]}, "SPACE_NOT_FOUND"),
        ({"allowedSpaces": ["project", str(beside)]}, "SPACE_NOT_FOUND"),
        ({"allowedSpaces": ["project"], "actions": [Permission.READ.name]}, "FORBIDDEN"),
        ({"allowedSpaces": ["project"], "actions": [Permission.SEARCH.name, Permission.ORG_ADMIN.name]}, "FORBIDDEN"),
    ):
        assert await refused(api, CREATE, {"input": {"name": "x", "actions": SEARCH, **given}}, lead) == code
    # Who may only search makes none.
    await world.add_person("reader", (world.project, Permission.SEARCH))
    given = {"name": "x", "actions": SEARCH, "allowedSpaces": ["project"]}
    assert await refused(api, CREATE, {"input": given}, token_of(world, "reader")) == "FORBIDDEN"


async def test_a_key_that_makes_keys_gives_away_no_more_than_it_has(api: Api) -> None:
    end = datetime.now(UTC) + timedelta(days=1)
    parent = await create(
        api,
        actions=[Permission.ADMIN.name, Permission.SEARCH.name],
        allowedSpaces=["project"],
        allowedProviders=["git"],
        expiresAt=end.isoformat(),
    )
    secret = parent["secret"]
    child = await create(api, secret, allowedSpaces=["project"])
    assert child["apiKey"]["allowedProviders"] == ["git"]
    assert child["apiKey"]["expiresAt"] == parent["apiKey"]["expiresAt"]
    for more in (
        {},
        {"allowedSpaces": ["project"], "allowedProviders": ["git", "slack"]},
        {"allowedSpaces": ["project"], "expiresAt": (end + timedelta(days=1)).isoformat()},
        {"allowedSpaces": ["project"], "actions": [Permission.READ.name]},
    ):
        assert await refused(api, CREATE, {"input": {"name": "x", "actions": SEARCH, **more}}, secret) == "FORBIDDEN"
    # Neither itself nor the key that it came from; what came from it goes with it.
    assert await refused(api, REVOKE, {"id": parent["apiKey"]["id"]}, secret) == "FORBIDDEN"
    grown = await create(
        api, secret, actions=[Permission.ADMIN.name], allowedSpaces=["project"], allowedProviders=["git"]
    )
    assert await refused(api, REVOKE, {"id": parent["apiKey"]["id"]}, grown["secret"]) == "FORBIDDEN"
    assert await api.data(ME, token=child["secret"])
    await api.data(REVOKE, {"id": parent["apiKey"]["id"]})
    for ended in (secret, child["secret"], grown["secret"]):
        assert await refused(api, ME, token=ended) == "UNAUTHENTICATED"


async def test_who_does_not_administer_a_keys_spaces_does_not_know_of_it(api: Api) -> None:
    world = api.world
    made = await create(api)
    await world.add_person("lead", (world.project, Permission.ADMIN))
    lead = token_of(world, "lead")
    assert await refused(api, REVOKE, {"id": made["apiKey"]["id"]}, lead) == "NOT_FOUND"
    assert (await api.data(LIST, {"revoked": True}, token=lead))["apiKeys"]["edges"] == []
    for unknown in (str(new_id()), "nonsense", ""):
        assert await refused(api, REVOKE, {"id": unknown}) == "NOT_FOUND"


async def test_a_key_for_no_space_is_the_organisations(api: Api, owner_url: str) -> None:
    """Keys were made so before that was refused."""
    world = api.world
    made = (await create(api))["apiKey"]["id"]
    async with connection(owner_url) as owner:
        await owner.execute("UPDATE api_keys SET spaces = '{}' WHERE id = $1::text::uuid", made)
    await world.add_person("lead", (world.project, Permission.ADMIN))
    for by in ("lead", "nobody"):
        token = token_of(world, by)
        assert await refused(api, REVOKE, {"id": made}, token) == "NOT_FOUND"
        assert (await api.data(LIST, {"revoked": True}, token=token))["apiKeys"]["edges"] == []
    assert (await api.data(REVOKE, {"id": made}))["revokeApiKey"]["revokedAt"]


async def test_keys_of_one_maker_are_bounded_through_keys_that_make_keys(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_keys, "MOST_KEYS", 3)
    actions = [Permission.ADMIN.name, Permission.SEARCH.name]
    first = await create(api, actions=actions)
    second = await create(api, first["secret"], actions=actions)
    await create(api, second["secret"])
    one_more = {"input": {"name": "x", "actions": SEARCH}}
    for token in (None, first["secret"], second["secret"]):
        assert await refused(api, CREATE, one_more, token) == "CONFLICT"
    # Another's do not count, and those that are revoked no longer.
    world = api.world
    await world.add_person("lead", *((world.project, Permission(one)) for one in (Permission.ADMIN, Permission.SEARCH)))
    assert await create(api, token_of(world, "lead"), allowedSpaces=["project"])
    await api.data(REVOKE, {"id": second["apiKey"]["id"]})
    assert await create(api)


async def test_a_grant_does_not_outlive_the_key_that_makes_it(api: Api) -> None:
    grant = "mutation($i: PermissionsInput!) { grantPermissions(input: $i) { validTo } }"
    end = datetime.now(UTC) + timedelta(days=1)
    actions = [Permission.ADMIN.name, Permission.SEARCH.name]
    secret = (await create(api, actions=actions, expiresAt=end.isoformat()))["secret"]
    wish = {"grantee": {"kind": "PERSON", "name": "cid"}, "permissions": SEARCH, "spaceKey": "project"}
    for later in ({}, {"validTo": (end + timedelta(seconds=1)).isoformat()}):
        extensions = (await api.error(grant, {"i": {**wish, **later}}, token=secret))["extensions"]
        assert (extensions["code"], extensions["field"]) == ("FORBIDDEN", "validTo")
    [made] = (await api.data(grant, {"i": {**wish, "validTo": end.isoformat()}}, token=secret))["grantPermissions"]
    assert datetime.fromisoformat(made["validTo"]) == end
    # A key that does not end grants as a person does.
    lasting = (await create(api, actions=actions))["secret"]
    assert (await api.data(grant, {"i": wish}, token=lasting))["grantPermissions"][-1]["validTo"] is None


async def test_pages_of_keys(api: Api) -> None:
    made = [(await create(api))["apiKey"]["id"] for _ in range(3)]
    first = (await api.data(LIST, {"revoked": False, "first": 2}))["apiKeys"]
    assert first["pageInfo"]["hasNextPage"]
    after = first["edges"][-1]["cursor"]
    second = (await api.data(LIST, {"revoked": False, "first": 2, "after": after}))["apiKeys"]
    assert [edge["node"]["id"] for edge in (*first["edges"], *second["edges"])] == made


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": " "}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "\ud800"}, None),
        ({"name": "x" * 257}, "name"),
        ({"actions": []}, "actions"),
        ({"actions": ["everything"]}, "actions"),
        ({"actorType": "robot"}, "actorType"),
        ({"allowedProviders": [""]}, "allowedProviders"),
        ({"allowedProviders": ["a\0"]}, "allowedProviders"),
        ({"allowedSpaces": ["project"] * 101}, "allowedSpaces"),
        ({"allowedSpaces": []}, "allowedSpaces"),
    ],
    ids=ascii,
)
async def test_what_no_key_can_be(api: Api, given: dict[str, Any], field: str | None) -> None:
    error = await api.error(CREATE, {"input": {"name": "x", "actions": SEARCH, **given}})
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert error["extensions"]["field"] == field


async def test_spaces_that_are_not_there(api: Api) -> None:
    for space in (str(new_id()), "nowhere", "a\0b", "'; DROP TABLE api_keys; --"):
        given = {"name": "x", "actions": SEARCH, "allowedSpaces": [space]}
        error = await api.error(CREATE, {"input": given})
        assert error["extensions"]["code"] == "SPACE_NOT_FOUND"
        assert error["extensions"]["field"] == "allowedSpaces"


async def test_when_it_was_used_is_written_now_and_then(api: Api) -> None:
    made = await create(api)
    await api.data(ME, token=made["secret"])
    await api.world.parts.credentials.uses.write()
    [node] = [
        edge["node"]
        for edge in (await api.data(LIST, {"revoked": False}))["apiKeys"]["edges"]
        if edge["node"]["id"] == made["apiKey"]["id"]
    ]
    assert node["lastUsedAt"] is not None
