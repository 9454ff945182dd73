"""Credentials that are taken back: at once, in every process, in every way in."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import jwt
import pytest
from websockets.asyncio.client import connect as open_socket

from app.assembly.services import services
from app.domain.principal import Permission, Principal
from app.identity.development import DevelopmentKey
from app.storage.revocations import SKEW
from schema import streams
from schema.asgi import create_app
from tests.fixtures.store import World, make_world
from tests.gateway.conftest import listening
from tests.schema.conftest import Api, connect, token_of
from tests.schema.test_api_keys import create
from tests.schema.test_subscriptions import CHANGED

REVOKE = """mutation($token: ID, $subject: String, $before: Instant) {
    revokeTokens(tokenId: $token, subject: $subject, issuedBefore: $before) { tokenId subject issuedBefore } }"""
ME = "{ me { externalId } }"
ASK = '{ retrieve(input: {query: "x", spaceKey: "project"}) { attributionId } }'
ASK_TWICE = '{ compareRetrievals(input: {query: "x"}, left: {}, right: {}) { __typename } }'
WAYS = [
    ME,
    ASK,
    "{ capabilities { retrieval } }",
    "{ spaces { edges { cursor } } }",
    "mutation { setActiveSpace { id } }",
]


def made(world: World, subject: str = "tester", **claims: Any) -> str:
    """A token of the development key; None leaves a claim out."""
    settings = world.parts.settings
    key = DevelopmentKey.load_or_create(settings.home / "keys" / "development.pem")
    now = datetime.now(UTC)
    given = {
        "iss": settings.jwt_issuer,
        "aud": settings.jwt_audience,
        "sub": subject,
        "org": str(world.organisation),
        "iat": now,
        "exp": now + timedelta(hours=1),
        **claims,
    }
    said = {name: value for name, value in given.items() if value is not None}
    return jwt.encode(said, key._key, algorithm="EdDSA")


async def code(api: Api, query: str, token: str, variables: Any = None) -> str:
    answer = await api.ask(query, variables, token=token)
    return answer["errors"][0]["extensions"]["code"] if "errors" in answer else "fine"


@pytest.fixture
async def elsewhere(api: Api, installation: Any) -> AsyncIterator[Api]:
    """The same organisation, through parts that share nothing with the others but the database."""
    async with services(api.world.parts.settings, installation) as own, connect(own) as http:
        yield Api(api.world, http)


async def test_one_token_by_its_id(api: Api, elsewhere: Api) -> None:
    one, two = made(api.world, jti="one"), made(api.world, jti="two")
    for where in (api, elsewhere):
        assert await code(where, ME, one) == "fine"
    answer = await api.data(REVOKE, {"token": "one"})
    assert answer["revokeTokens"] == {"tokenId": "one", "subject": None, "issuedBefore": None}
    for where in (api, elsewhere):
        for way in WAYS:
            assert await code(where, way, one) == "UNAUTHENTICATED", way
            assert await code(where, way, two) == "fine", way
    # Again, it changes nothing.
    assert await code(api, REVOKE, token_of(api.world), {"token": "one"}) == "fine"


async def test_every_token_of_a_subject_since_a_moment(api: Api, elsewhere: Api) -> None:
    world = api.world
    await world.add_person("eve", (world.root, Permission.SEARCH))
    moment = datetime.now(UTC) - timedelta(hours=1)
    before = made(world, "eve", iat=moment - timedelta(minutes=1))
    ahead = made(world, "eve", iat=moment + SKEW - timedelta(seconds=1))
    after = made(world, "eve", iat=moment + SKEW + timedelta(seconds=1))
    silent = made(world, "eve", iat=None)
    answer = await api.data(REVOKE, {"subject": "eve", "before": moment.isoformat()})
    assert answer["revokeTokens"]["subject"] == "eve"
    for where in (api, elsewhere):
        for way in (ME, ASK):
            # An issuer's clock may be ahead by as much as a token may come from the future.
            for token in (before, ahead, silent):
                assert await code(where, way, token) == "UNAUTHENTICATED"
            assert await code(where, way, after) == "fine"
            assert await code(where, way, made(world, iat=moment - timedelta(minutes=1))) == "fine"


async def test_now_is_the_default(api: Api) -> None:
    old = made(api.world, "tester", iat=datetime.now(UTC) - timedelta(minutes=5))
    await api.data(REVOKE, {"subject": "tester"}, token=made(api.world))
    assert await code(api, ME, old) == "UNAUTHENTICATED"


async def test_a_comparison_looks_too(api: Api) -> None:
    token = made(api.world, jti="compared")
    assert await code(api, ASK_TWICE, token) == "fine"
    await api.data(REVOKE, {"token": "compared"})
    assert await code(api, ASK_TWICE, token) == "UNAUTHENTICATED"


async def test_who_may(api: Api) -> None:
    world = api.world
    person = await world.add_person("lead", *((world.project, permission) for permission in Permission))
    lead = token_of(world, person.external_id)
    assert await code(api, REVOKE, lead, {"subject": "tester"}) == "FORBIDDEN"
    key = await create(api)
    assert await code(api, REVOKE, key["secret"], {"subject": "tester"}) == "FORBIDDEN"
    assert await code(api, ME, token_of(world)) == "fine"


async def test_another_organisations_tokens_stay(api: Api) -> None:
    other = await make_world(api.world.parts)
    token = made(other, jti="same", iat=datetime.now(UTC) - timedelta(minutes=1))
    await api.data(REVOKE, {"token": "same"})
    await api.data(REVOKE, {"subject": "tester"})
    assert await code(Api(other, api.http), ME, token) == "fine"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "tokenId"),
        ({"token": "a", "subject": "b"}, "tokenId"),
        ({"token": ""}, "tokenId"),
        ({"token": "a\0"}, "tokenId"),
        ({"token": "x" * 257}, "tokenId"),
        ({"subject": ""}, "subject"),
        ({"subject": "a\0"}, "subject"),
        ({"token": "a", "before": "2026-01-01T00:00:00Z"}, "issuedBefore"),
        ({"subject": "a", "before": "2999-01-01T00:00:00Z"}, "issuedBefore"),
    ],
    ids=ascii,
)
async def test_what_cannot_be_revoked(api: Api, given: dict[str, Any], field: str) -> None:
    error = await api.error(REVOKE, given)
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert error["extensions"]["field"] == field


async def test_a_token_whose_age_is_no_age(api: Api) -> None:
    await api.data(REVOKE, {"subject": "tester", "before": "2000-01-01T00:00:00Z"}, token=made(api.world))
    for iat in (0, 1, 946_684_799, -1, -1e11, -62_135_596_800, 0.5):
        assert await code(api, ME, made(api.world, iat=iat)) == "UNAUTHENTICATED", iat
    assert await code(api, ME, made(api.world, iat=946_684_800 + 10)) == "fine"


async def test_a_race_has_no_stale_winner(api: Api, elsewhere: Api) -> None:
    """Whatever is asked after the revocation was answered is refused, in the other process too."""
    for number in range(20):
        token = made(api.world, jti=f"race-{number}")
        assert await code(elsewhere, ME, token) == "fine"
        await api.data(REVOKE, {"token": f"race-{number}"})
        assert await code(elsewhere, ASK if number % 2 else ME, token) == "UNAUTHENTICATED"
        key = await create(api)
        assert await code(elsewhere, ME, key["secret"]) == "fine"
        await api.data("mutation($id: ID!) { revokeApiKey(id: $id) { id } }", {"id": key["apiKey"]["id"]})
        assert await code(elsewhere, ASK if number % 2 else ME, key["secret"]) == "UNAUTHENTICATED"


class Subscriber:
    """One open socket."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket

    async def send(self, **message: Any) -> None:
        await self.socket.send(json.dumps(message))

    async def receive(self) -> dict[str, Any]:
        async with asyncio.timeout(20):
            message: dict[str, Any] = json.loads(await self.socket.recv())
        return message


@pytest.mark.parametrize("kind", ["token", "key"])
async def test_a_silent_subscription_ends_too(api: Api, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(streams, "WHEN_IDLE", 0.05)
    jti = uuid4().hex
    key = await create(api, allowedSpaces=["project"])
    credential = made(api.world, jti=jti) if kind == "token" else key["secret"]
    answer = await api.data(ASK, token=credential)
    application = create_app()
    application.state.services = api.world.parts
    async with (
        listening(application) as url,
        open_socket(f"ws{url[4:]}/graphql", subprotocols=["graphql-transport-ws"]) as socket,  # type: ignore[list-item]
    ):
        subscriber = Subscriber(socket)
        await subscriber.send(type="connection_init", payload={"Authorization": f"Bearer {credential}"})
        assert (await subscriber.receive())["type"] == "connection_ack"
        variables = {"id": answer["retrieve"]["attributionId"]}
        await subscriber.send(id="1", type="subscribe", payload={"query": CHANGED, "variables": variables})
        await asyncio.sleep(0.2)
        if kind == "token":
            await api.data(REVOKE, {"token": jti})
        else:
            await api.data("mutation($id: ID!) { revokeApiKey(id: $id) { id } }", {"id": key["apiKey"]["id"]})
        ended = await subscriber.receive()
        assert ended["id"] == "1"
        [error] = ended["payload"] if ended["type"] == "error" else ended["payload"]["errors"]
        assert error["extensions"]["code"] == "UNAUTHENTICATED"


async def test_a_principal_who_is_not_here_has_no_token_to_revoke(api: Api) -> None:
    """A replay for an auditor runs as who asked then: their sign-in today is not what it is about."""
    await api.data(REVOKE, {"subject": "tester"}, token=made(api.world))
    absent = Principal(api.world.organisation, api.world.principal.id, "tester")
    assert (await api.world.ask("x", by=absent)).attribution_id
