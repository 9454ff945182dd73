"""Clients that send or read slowly, and one whose credential ends while it listens: they are told, or cut, and free."""

import asyncio
import json
import socket
from datetime import timedelta
from typing import Any

import pytest

from app.server.middleware import BodyLimit
from tests.fixtures.socket import Served, question, served
from tests.fixtures.store import World
from tests.schema.conftest import connect, token_of

WATCH = "subscription($id: ID!) { contextChanged(attributionId: $id) { attribution { id } } }"


async def test_a_body_that_does_not_come_in_time_is_a_408() -> None:
    async def reads_all(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass

    first = iter([{"type": "http.request", "body": b"{", "more_body": True}])
    sent: list[Any] = []

    async def receive() -> Any:
        if (message := next(first, None)) is not None:
            return message
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    limit = BodyLimit(reads_all, except_below="/v1", seconds=0.05)
    async with asyncio.timeout(10):
        await limit({"type": "http", "path": "/graphql", "method": "POST", "headers": []}, receive, send)
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
    [error] = json.loads(sent[1]["body"])["errors"]
    assert error["extensions"]["code"] == "BAD_USER_INPUT"


@pytest.fixture
async def large(world: World) -> bytes:
    """The head and body of a request whose answer is more than the buffers on the way take."""
    await world.write("large.md", ("large " * 120_000, None, None), embed=False)
    answer = await world.ask("large", top_k=1)
    fields = " ".join(f"a{number}: document(id: $id) {{ text }}" for number in range(25))
    body = question(f"query($id: ID!) {{ {fields} }}", id=str(answer.passages[0].candidate.document_id))
    head = (
        "POST /graphql HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {token_of(world)}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def opened(place: Served, sent: bytes) -> socket.socket:
    made = socket.socket()
    made.connect(("127.0.0.1", place.port))
    made.sendall(sent)
    made.setblocking(False)
    return made


async def test_a_client_that_reads_nothing_is_cut(world: World, large: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.server.connections.UNREAD_SECONDS", 0.3)
    async with served(world.parts) as place:
        with await opened(place, large):
            async with asyncio.timeout(20):
                while not place.server.server_state.connections:
                    await asyncio.sleep(0.01)
                while place.server.server_state.connections:
                    await asyncio.sleep(0.02)
        queue = world.parts.database.queue
        assert (place.gate.inside, queue.in_use, queue.waiting) == (0, 0, 0)


async def test_a_client_that_reads_slowly_gets_all_of_it(
    world: World, large: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.server.connections.UNREAD_SECONDS", 0.3)
    loop = asyncio.get_running_loop()
    async with served(world.parts) as place:
        with await opened(place, large) as slow:
            received = bytearray()
            async with asyncio.timeout(60):
                while b"\r\n\r\n" not in received:
                    received += await loop.sock_recv(slow, 4096)
                head, _, begun = bytes(received).partition(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                got = len(begun)
                while got < length:
                    got += len(piece := await loop.sock_recv(slow, 1 << 18))
                    assert piece
                    # Longer in all than who reads nothing may take.
                    await asyncio.sleep(0.02)
            assert length > 15_000_000


async def test_a_subscription_by_server_sent_events_ends_with_its_credential(world: World) -> None:
    await world.write("tea.md", ("Tea is kept in the red tin.", None, None))
    answer = await world.ask("where is the tea kept")
    settings, development = world.parts.settings, world.parts.development
    assert development is not None
    token = development.token(
        settings.jwt_issuer,
        settings.jwt_audience,
        subject=world.principal.external_id,
        organisation=world.organisation,
        lifetime=timedelta(seconds=2),
    )
    async with connect(world.parts) as http:
        async with asyncio.timeout(20):
            stream = await http.post(
                "/graphql",
                content=question(WATCH, id=str(answer.attribution_id)),
                headers={
                    "Content-Type": "application/json",
                    "Accept": "text/event-stream",
                    "Authorization": f"Bearer {token}",
                },
            )
    events = [
        json.loads(line[5:]) for line in stream.text.splitlines() if line.startswith("data:") and line[5:].strip()
    ]
    assert [error["extensions"]["code"] for error in events[-1]["errors"]] == ["UNAUTHENTICATED"]
    assert world.parts.watch.count == 0
    assert "event: complete" in stream.text
