"""`contextChanged` over real sockets, with the write in one process and who waits in another."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from websockets.asyncio.client import ClientConnection, connect

from app.identity.development import DevelopmentKey
from app.storage.listening import CHANNEL
from tests.fixtures.server import LiveServer
from tests.fixtures.store import World
from tests.schema.test_subscriptions import ASK, CHANGED, CORRECT, REMEMBER

FORGET = "mutation($s: ID!) { forgetSubject(subjectId: $s) { erasedMemories } }"
#: Seconds until what does not come is missed.
PATIENCE = 20


@pytest.fixture(scope="module")
def servers(home: Path, installation: object) -> Iterator[tuple[LiveServer, LiveServer]]:
    """Two processes over the store of the tests."""
    pair = (LiveServer(home), LiveServer(home))
    for server in pair:
        server.start("--no-demo")
    yield pair
    for server in pair:
        server.stop()


def token(world: World, lifetime: timedelta = timedelta(hours=1)) -> str:
    settings, principal = world.parts.settings, world.principal
    key = DevelopmentKey.load_or_create(settings.home / "keys" / "development.pem")
    return key.token(
        settings.jwt_issuer,
        settings.jwt_audience,
        subject=principal.external_id,
        organisation=world.organisation,
        lifetime=lifetime,
    )


@asynccontextmanager
async def socket(server: LiveServer, bearer: str) -> AsyncIterator[ClientConnection]:
    url = f"ws://127.0.0.1:{server.port}/graphql"
    async with connect(url, subprotocols=["graphql-transport-ws"]) as made:  # type: ignore[list-item]
        await send(made, {"type": "connection_init", "payload": {"Authorization": f"Bearer {bearer}"}})
        assert (await receive(made))["type"] == "connection_ack"
        yield made


async def send(made: ClientConnection, message: Any) -> None:
    await made.send(json.dumps(message))


async def receive(made: ClientConnection) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        message: dict[str, Any] = json.loads(await made.recv())
    return message


async def follow(made: ClientConnection, attribution: str, name: str = "1") -> None:
    payload = {"query": CHANGED, "variables": {"id": attribution}}
    await send(made, {"id": name, "type": "subscribe", "payload": payload})


async def moved(made: ClientConnection) -> list[tuple[str, str]]:
    message = await receive(made)
    assert message["type"] == "next", message
    return [(item["itemId"], item["movement"]) for item in message["payload"]["data"]["contextChanged"]["moved"]]


class Asker:
    """What is asked and written through one of the processes."""

    def __init__(self, server: LiveServer, bearer: str) -> None:
        self._server = server
        self._bearer = bearer

    def do(self, query: str, **variables: Any) -> Any:
        answer = self._server.ask(query.replace('"muniment"', '"project"'), variables, self._bearer)
        assert "errors" not in answer, answer
        [found] = answer["data"].values()
        return found


async def test_a_write_in_one_process_is_told_in_the_other(
    world: World, servers: tuple[LiveServer, LiveServer], owner: asyncpg.Connection
) -> None:
    one, other = servers
    asker = Asker(one, token(world))
    memory = asker.do(REMEMBER, t="zebras graze beside the quarry")
    answer = asker.do(ASK, q="where do zebras graze")
    async with socket(other, token(world)) as made:
        await follow(made, answer["attributionId"])
        asker.do(REMEMBER, t="lions sleep")
        asker.do(CORRECT, id=memory["id"], t="zebras graze beyond the quarry")
        assert await moved(made) == [(memory["versionId"], "CORRECTED")]
        # The listening connection is cut: a new one is made, and what was missed is looked for.
        cut = await owner.fetchval(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' "
            "AND pid <> pg_backend_pid()"
        )
        assert cut >= 2
        asker.do("mutation($id: ID!) { retractMemory(id: $id) }", id=memory["id"])
        assert await moved(made) == [(memory["versionId"], "RETRACTED")]
        await send(made, {"id": "1", "type": "complete"})
        # Who comes late is told at once what has moved already.
        await follow(made, answer["attributionId"], "2")
        assert await moved(made) == [(memory["versionId"], "RETRACTED")]


async def test_what_is_erased_and_what_is_ingested_anew(world: World, servers: tuple[LiveServer, LiveServer]) -> None:
    one, other = servers
    asker = Asker(one, token(world))
    await world.write("tea.md", ("# Tea\n\nTea is kept in the red tin.", None, None))
    made_memory = asker.do(
        'mutation { remember(input: {text: "ada likes tea", subjectId: "ada", spaceKey: "project"}) { versionId } }'
    )
    answer = asker.do(
        """query { retrieve(input: {query: "where is the tea kept", subjectId: "ada", spaceKey: "project"}) {
        attributionId passages { chunkId } memories { memoryId } } }"""
    )
    async with socket(other, token(world)) as made:
        await follow(made, answer["attributionId"])
        await world.write("tea.md", ("# Tea\n\nTea is kept in the green tin.", None, None))
        assert await moved(made) == [(answer["passages"][0]["chunkId"], "CORRECTED")]
        asker.do(FORGET, s="ada")
        assert await moved(made) == [(made_memory["versionId"], "ERASED")]


async def test_it_ends_with_the_credential(world: World, servers: tuple[LiveServer, LiveServer]) -> None:
    one, _ = servers
    answer = Asker(one, token(world)).do(ASK, q="anything")
    async with socket(one, token(world, timedelta(seconds=-2))) as made:
        # Within the leeway for clocks that differ one is let in, and not for long.
        await follow(made, answer["attributionId"])
        message = await receive(made)
        assert (message["type"], message["id"]) == ("next", "1")
        assert message["payload"]["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
        message = await receive(made)
        assert (message["type"], message["id"]) == ("complete", "1")
        for number in range(2, 1000):
            await asyncio.sleep(0.05)
            await follow(made, answer["attributionId"], str(number))
            message = await receive(made)
            if message["type"] == "error":
                break
        assert message["payload"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_a_notification_names_the_organisation_and_the_instant_only(
    world: World, owner: asyncpg.Connection
) -> None:
    heard: list[str] = []
    await owner.add_listener(CHANNEL, lambda _connection, _pid, _channel, payload: heard.append(payload))
    with pytest.raises(RuntimeError):
        async with world.parts.database.write(world.organisation):
            raise RuntimeError
    async with world.parts.database.write(world.organisation) as write:
        stamp = write.stamp
    await owner.fetchval("SELECT 1")
    # Of what was rolled back nobody hears.
    mine = [payload.partition(" ") for payload in heard if payload.startswith(str(world.organisation))]
    assert len(mine) == 1
    assert mine[0][2] == await owner.fetchval("SELECT CAST($1 AS timestamptz)::text", stamp)


async def test_a_replay_at_the_command_line(world: World, servers: tuple[LiveServer, LiveServer]) -> None:
    one, _ = servers
    await world.write("tea.md", ("# Tea\n\nTea is kept in the red tin.", None, None))
    answer = await world.ask("where is the tea kept")
    await world.write("tea.md", ("# Tea\n\nTea is kept in the green tin.", None, None))
    command = ("replay", str(answer.attribution_id), "--organisation", str(world.organisation))
    ended = await asyncio.to_thread(one.run, *command)
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (0, "REPRODUCED")
    ended = await asyncio.to_thread(one.run, *command, "--now")
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (1, "DRIFTED")
    assert "CONTENT_CORRECTED: " in ended.stdout
    assert str(answer.passages[0].candidate.id) in ended.stdout
