"""Clients that send or read slowly, and one whose credential ends while it listens: they are told, or cut, and free."""

import asyncio
import json
import socket
from datetime import timedelta
from typing import Any

import pytest

from app.server.middleware import BodyLimit
from tests.fixtures.socket import question, served
from tests.fixtures.store import World
from tests.schema.conftest import connect, token_of

WATCH = "subscription($id: ID!) { contextChanged(attributionId: $id) { attribution { id } } }"


async def until_idle(place: Any) -> None:
    async with asyncio.timeout(20):
        while place.gate.inside:
            await asyncio.sleep(0.02)


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


async def test_a_client_that_reads_nothing_is_cut(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schema.endpoint.MOST_UNREAD_SECONDS", 0.3)
    await world.write("large.md", ("large " * 120_000, None, None), embed=False)
    answer = await world.ask("large", top_k=1)
    document = str(answer.passages[0].candidate.document_id)
    # More than the buffers on the way take.
    fields = " ".join(f"a{number}: document(id: $id) {{ text }}" for number in range(25))
    body = question(f"query($id: ID!) {{ {fields} }}", id=document)
    async with served(world.parts) as place:
        silent = socket.socket()
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        silent.connect(("127.0.0.1", place.port))
        head = (
            f"POST /graphql HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {token_of(world)}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        silent.sendall(head.encode() + body)
        async with asyncio.timeout(20):
            while not place.gate.inside:
                await asyncio.sleep(0.01)
        await until_idle(place)
        queue = world.parts.database.queue
        assert (queue.in_use, queue.waiting) == (0, 0)
        silent.close()
        # Who reads gets all of it.
        async with connect(world.parts) as http:
            whole = await http.post(
                "/graphql",
                content=body,
                headers={"Content-Type": "application/json", "Authorization": f"Bearer {token_of(world)}"},
            )
        assert len(whole.json()["data"]) == 25


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
