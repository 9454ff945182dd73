"""Subscriptions over real sockets: who is let in, how much at once, and what comes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from schema.sockets import MOST_OPERATIONS
from tests.fixtures.server import LiveServer

CHANGED = """subscription($id: ID!) { contextChanged(attributionId: $id) {
    attribution { id } moved { itemId wholeId movement at } } }"""
ASK = """query($q: String!) { retrieve(input: {query: $q, spaceKey: "muniment"}) {
    attributionId passages { chunkId documentId } } }"""
REMEMBER = 'mutation($t: String!) { remember(input: {text: $t, spaceKey: "muniment"}) { id versionId } }'
CORRECT = "mutation($id: ID!, $t: String!) { correctMemory(id: $id, changes: {text: $t}) { id } }"


def socket(server: LiveServer, *protocols: str, **options: Any) -> Any:
    names: Any = list(protocols or ["graphql-transport-ws"])
    return connect(f"ws://127.0.0.1:{server.port}/graphql", subprotocols=names, **options)


@contextmanager
def opened(server: LiveServer) -> Iterator[ClientConnection]:
    token = server.token
    with socket(server) as made:
        send(made, {"type": "connection_init", "payload": {"Authorization": f"Bearer {token}"}})
        assert receive(made)["type"] == "connection_ack"
        yield made


def send(made: ClientConnection, message: Any) -> None:
    made.send(json.dumps(message))


def receive(made: ClientConnection, seconds: float = 20) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(made.recv(timeout=seconds))
    return message


def subscribe(made: ClientConnection, name: str, attribution: str) -> None:
    send(made, {"id": name, "type": "subscribe", "payload": {"query": CHANGED, "variables": {"id": attribution}}})


def closed(made: ClientConnection) -> int:
    with pytest.raises(ConnectionClosed) as end:
        made.recv(timeout=20)
    assert end.value.rcvd is not None
    return end.value.rcvd.code


@pytest.fixture(scope="module")
def delivered(live_server: LiveServer) -> dict[str, str]:
    """A memory that was delivered, and the record of that."""
    token = live_server.token
    memory = live_server.ask(REMEMBER, {"t": "zebras graze beside the quarry"}, token)["data"]["remember"]
    answer = live_server.ask(ASK, {"q": "where do zebras graze"}, token)["data"]["retrieve"]
    return {"attribution": answer["attributionId"], **memory}


def test_the_legacy_protocol_is_refused(live_server: LiveServer) -> None:
    with socket(live_server, "graphql-ws") as made:
        assert closed(made) == 4406


def test_to_subscribe_before_saying_who_one_is_ends_the_connection(live_server: LiveServer) -> None:
    with socket(live_server) as made:
        subscribe(made, "1", "x")
        assert closed(made) == 4401


@pytest.mark.parametrize(
    "payload", [None, {}, {"Authorization": "Bearer nonsense"}, {"Authorization": 5}, {"Cookie": "token=x"}]
)
def test_a_connection_without_a_credential_is_refused(live_server: LiveServer, payload: Any) -> None:
    with socket(live_server) as made:
        send(made, {"type": "connection_init"} | ({} if payload is None else {"payload": payload}))
        assert closed(made) == 4403


@pytest.mark.parametrize("message", [[], 5, {"type": 5}, {"type": "subscribe"}, {"type": "subscribe", "id": "1"}])
def test_a_message_of_another_shape_ends_the_connection(live_server: LiveServer, message: Any) -> None:
    with opened(live_server) as made:
        send(made, message)
        assert closed(made) == 4400


def test_who_says_nothing_is_not_waited_for(live_server: LiveServer) -> None:
    with socket(live_server) as made:
        assert closed(made) == 4408


def test_a_page_of_another_site_is_refused(live_server: LiveServer) -> None:
    with pytest.raises(InvalidStatus) as refused, socket(live_server, origin="https://elsewhere.example"):
        pass
    assert refused.value.response.status_code == 403


def test_one_connection_serves_so_many_operations(live_server: LiveServer, delivered: dict[str, str]) -> None:
    with opened(live_server) as made:
        for number in range(MOST_OPERATIONS + 5):
            subscribe(made, str(number), delivered["attribution"])
        refused = [receive(made) for _ in range(5)]
        assert {message["type"] for message in refused} == {"error"}
        assert {message["payload"][0]["extensions"]["code"] for message in refused} == {"RATE_LIMITED"}
        send(made, {"id": "0", "type": "complete"})
        send(made, {"type": "ping"})
        assert receive(made)["type"] == "pong"
        subscribe(made, "again", "unknown")
        assert receive(made)["payload"][0]["extensions"]["code"] == "ATTRIBUTION_NOT_FOUND"


def test_what_cannot_be_followed_is_told_with_its_code(live_server: LiveServer) -> None:
    with opened(live_server) as made:
        subscribe(made, "1", "00000000-0000-0000-0000-000000000000")
        message = receive(made)
        assert (message["type"], message["id"]) == ("error", "1")
        assert message["payload"][0]["extensions"]["code"] == "ATTRIBUTION_NOT_FOUND"


def events(answer: httpx.Response) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in answer.iter_lines():
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:") and name:
            yield name, json.loads(line[5:]) if line[5:].strip() else None


def stream(server: LiveServer, attribution: str, token: str | None = None) -> Any:
    headers = {"Accept": "text/event-stream"} | ({"Authorization": f"Bearer {token}"} if token else {})
    body = {"query": CHANGED, "variables": {"id": attribution}}
    return httpx.stream("POST", f"{server.url}/graphql", json=body, headers=headers, timeout=20)


def test_events_come_over_http(live_server: LiveServer, delivered: dict[str, str]) -> None:
    with stream(live_server, delivered["attribution"], live_server.token) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        coming = events(answer)
        live_server.ask(CORRECT, {"id": delivered["id"], "t": "zebras graze beyond the quarry"}, live_server.token)
        name, event = next(coming)
    assert name == "next"
    [moved] = event["data"]["contextChanged"]["moved"]
    assert (moved["itemId"], moved["movement"]) == (delivered["versionId"], "CORRECTED")
    assert moved["at"] is not None


def test_without_a_credential_no_stream_begins(live_server: LiveServer, delivered: dict[str, str]) -> None:
    with stream(live_server, delivered["attribution"]) as answer:
        name, event = next(events(answer))
    assert name == "next"
    assert event["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
