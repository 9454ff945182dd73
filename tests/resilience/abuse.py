"""Everything at once that a hostile client may try, against a live server, and what happened to each:

    python -m tests.resilience.abuse [--url http://host:port --token TOKEN]

Without an address a server of its own is started. The exit code is 0 when each was refused or survived, and the server
answers an ordinary question afterwards.
"""

import argparse
import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from app.server.connections import HEAD_SECONDS, MAX_HEAD_BYTES
from app.server.middleware import MAX_BODY_BYTES
from schema.sockets import INIT_SECONDS, MOST_OPERATIONS
from tests.fixtures.server import LiveServer
from tests.schema.test_limits import ABUSE, aliased

ME = "{ me { id } }"
#: Aliases of a retrieve that are within every limit.
ALLOWED = 20


@dataclass
class Target:
    url: str
    token: str

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return str(parts.hostname), parts.port or 80

    def post(self, body: Any, **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}", **headers}
        return httpx.post(f"{self.url}/graphql", content=content, headers=given, timeout=60)

    def raw(self, data: bytes, wait: float = 0.0, seconds: float = HEAD_SECONDS + 5) -> bytes:
        """What is answered to exactly these bytes; b"" when the connection is just closed."""
        with socket.create_connection(self.address, timeout=seconds) as made:
            try:
                made.sendall(data)
                time.sleep(wait)
                answer = b""
                while more := made.recv(65536):
                    answer += more
            except (ConnectionError, BrokenPipeError):
                pass
            return answer

    @contextmanager
    def socket(self, *protocols: str, init: bool = True) -> Iterator[ClientConnection]:
        host, port = self.address
        names: Any = list(protocols or ["graphql-transport-ws"])
        with connect(f"ws://{host}:{port}/graphql", subprotocols=names) as made:
            if init:
                payload = {"Authorization": f"Bearer {self.token}"}
                made.send(json.dumps({"type": "connection_init", "payload": payload}))
                assert json.loads(made.recv(timeout=20))["type"] == "connection_ack"
            yield made


def _told(answer: httpx.Response) -> str:
    error = (answer.json().get("errors") or [{}])[0]
    code = error.get("extensions", {}).get("code", "no error")
    return f"{answer.status_code} {code}: {error.get('message', '')[:70]}"


def _expect(answer: httpx.Response, *codes: str) -> str:
    errors = answer.json().get("errors") or []
    assert errors, answer.text[:300]
    assert all(error["extensions"]["code"] in codes for error in errors), answer.text[:300]
    return _told(answer)


def _operation(query: str) -> Callable[[Target], str]:
    return lambda target: _expect(target.post({"query": query}), "QUERY_TOO_COMPLEX")


def _closed(made: ClientConnection) -> str:
    try:
        while True:
            made.recv(timeout=INIT_SECONDS + 10)
    except ConnectionClosed as end:
        return f"closed {end.rcvd.code if end.rcvd else '(cut)'} {end.rcvd.reason if end.rcvd else ''}".strip()


def _status(answer: bytes, *statuses: int) -> str:
    found = int(answer.split()[1]) if answer else 0
    assert found in statuses, answer[:200]
    return str(found) if found else "connection closed"


def batch(target: Target) -> str:
    answer = target.post([{"query": ME}] * 100)
    assert answer.status_code == 400
    return _expect(answer, "BAD_USER_INPUT")


def huge(target: Target) -> str:
    answer = target.post(b" " * (MAX_BODY_BYTES + 1))
    assert answer.status_code == 413
    return _told(answer)


def huge_text(target: Target) -> str:
    query = "query ($q: String!) { retrieve(input: {query: $q}) { requestId } }"
    return _expect(target.post({"query": query, "variables": {"q": "a" * 900_000}}), "BAD_USER_INPUT")


def nested_json(target: Target) -> str:
    answer = target.post(b'{"query": "{ me { id } }", "variables": ' + b'{"a":' * 100_000)
    return _expect(answer, "BAD_USER_INPUT")


def number(target: Target) -> str:
    return _expect(
        target.post({"query": "{ spaces(first: " + "9" * 9000 + ") { edges { cursor } } }"}), "BAD_USER_INPUT"
    )


def many_retrieves(target: Target) -> str:
    """As many as one operation may hold, from many connections at once; another caller's question meanwhile."""
    query = aliased(ALLOWED, 'retrieve(input: {query: "refunds"}) { requestId }')
    with httpx.Client(timeout=60) as http:
        first = http.post(
            f"{target.url}/graphql", json={"query": query}, headers={"Authorization": f"Bearer {target.token}"}
        )
    body = first.json()
    codes = {error["extensions"]["code"] for error in body.get("errors", ())}
    assert codes <= {"RATE_LIMITED"}, body
    return f"{first.status_code} {len(body['data'] or ())} answers" if not codes else _told(first)


def flood(target: Target) -> str:
    """Calls until one is too many."""
    counts: dict[int, int] = {}
    wait = ""
    with httpx.Client(timeout=60, headers={"Authorization": f"Bearer {target.token}"}) as http:
        for _ in range(5000):
            answer = http.post(f"{target.url}/graphql", json={"query": "{ capabilities { __typename } }"})
            counts[answer.status_code] = counts.get(answer.status_code, 0) + 1
            if answer.status_code == 429:
                wait = answer.headers["retry-after"]
                break
    assert counts.get(429) == 1, counts
    return f"{counts[200]} calls, then 429 RATE_LIMITED with Retry-After {wait}"


def strangers(target: Target) -> str:
    counts: dict[int, int] = {}
    with httpx.Client(timeout=60, headers={"Authorization": "Bearer nonsense"}) as http:
        for _ in range(5000):
            answer = http.post(f"{target.url}/graphql", json={"query": ME})
            counts[answer.status_code] = counts.get(answer.status_code, 0) + 1
            if answer.status_code == 429:
                break
    assert counts.get(429) == 1, counts
    believed = target.post({"query": ME})
    assert believed.json()["data"]["me"], believed.text
    return f"{counts[200]} calls, then 429; with a token from the same address: {believed.status_code}"


def slow_head(target: Target) -> str:
    return _status(target.raw(b"POST /graphql HTTP/1.1\r\nHost: x\r\nX-A: "), 408)


def slow_head_in_drops(target: Target) -> str:
    """A byte a second, from 20 connections."""
    with ExitStack() as stack:
        made = [stack.enter_context(socket.create_connection(target.address, timeout=30)) for _ in range(20)]
        for connection in made:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nX-A: ")
        begun = time.monotonic()
        open_ = set(made)
        while open_ and time.monotonic() - begun < HEAD_SECONDS + 10:
            for connection in list(open_):
                try:
                    connection.sendall(b"a")
                    connection.settimeout(0.01)
                    if not connection.recv(100):
                        open_.discard(connection)
                except TimeoutError:
                    continue
                except OSError:
                    open_.discard(connection)
            time.sleep(1)
        assert not open_
    return "20 of 20 connections closed (408)"


def endless_head(target: Target) -> str:
    return _status(target.raw(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * (MAX_HEAD_BYTES // 4)), 431, 0)


def endless_target(target: Target) -> str:
    return _status(target.raw(b"GET /" + b"a" * (2 * MAX_HEAD_BYTES)), 431, 0)


def nonsense(target: Target) -> str:
    return _status(target.raw(os.urandom(200)), 400, 408)


def smuggled(target: Target) -> str:
    data = b"POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG"
    return _status(target.raw(data), 400)


def legacy_socket(target: Target) -> str:
    with target.socket("graphql-ws", init=False) as made:
        return _closed(made)


def silent_socket(target: Target) -> str:
    with target.socket(init=False) as made:
        return _closed(made)


def eager_socket(target: Target) -> str:
    with target.socket(init=False) as made:
        made.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": ME}}))
        return _closed(made)


def huge_message(target: Target) -> str:
    with target.socket() as made:
        with suppress(ConnectionClosed):
            made.send("x" * (MAX_BODY_BYTES + 1))
        return _closed(made)


def subscribing(target: Target) -> str:
    """10,000 subscribes on one connection, of something that lasts."""
    attribution = target.post({"query": '{ retrieve(input: {query: "refunds"}) { attributionId } }'}).json()
    id = attribution["data"]["retrieve"]["attributionId"]
    query = f'subscription {{ contextChanged(attributionId: "{id}") {{ attribution {{ id }} }} }}'
    with target.socket() as made:
        refused = 0
        for count in range(10_000):
            made.send(json.dumps({"id": str(count), "type": "subscribe", "payload": {"query": query}}))
            if count >= MOST_OPERATIONS:
                message = json.loads(made.recv(timeout=20))
                assert message["payload"][0]["extensions"]["code"] == "RATE_LIMITED", message
                refused += 1
    return f"{MOST_OPERATIONS} served, {refused} refused with RATE_LIMITED"


def socket_of_complex_operations(target: Target) -> str:
    with target.socket() as made:
        payload = {"query": ABUSE["retrieves by the hundred"][0]}
        made.send(json.dumps({"id": "1", "type": "subscribe", "payload": payload}))
        message = json.loads(made.recv(timeout=20))
        assert message["type"] == "error", message
        return f"error {message['payload'][0]['extensions']['code']}"


CASES: dict[str, Callable[[Target], str]] = {
    **{name: _operation(query) for name, (query, _) in ABUSE.items()},
    "100 operations in a list": batch,
    "a body of a megabyte and one": huge,
    "a question of 900,000 characters": huge_text,
    "JSON that nests without end": nested_json,
    "a number of 9,000 digits": number,
    "as many retrieves as are let in": many_retrieves,
    "a head that stops": slow_head,
    "heads that come by the byte": slow_head_in_drops,
    "a head without end": endless_head,
    "a target without end": endless_target,
    "bytes that are no HTTP": nonsense,
    "two lengths of one body": smuggled,
    "the legacy sub-protocol": legacy_socket,
    "a socket that says nothing": silent_socket,
    "a socket that does not say who it is": eager_socket,
    "a message of a megabyte and one": huge_message,
    "10,000 subscribes on one socket": subscribing,
    "a complex operation on a socket": socket_of_complex_operations,
    "one caller's flood": flood,
    "a flood without a credential": strangers,
}
#: What takes seconds, or limits that are off where hundreds of tests share one caller.
SLOW = {
    "a head that stops",
    "heads that come by the byte",
    "a socket that says nothing",
    "10,000 subscribes on one socket",
    "one caller's flood",
    "a flood without a credential",
}


def run(target: Target, names: list[str] | None = None) -> list[tuple[str, str, bool, float]]:
    """Name, what happened, whether that is right, seconds."""
    rows = []
    for name in names or CASES:
        begun = time.monotonic()
        try:
            told, right = CASES[name](target), True
        except Exception as error:
            told, right = f"{type(error).__name__}: {str(error)[:160]}", False
        rows.append((name, told, right, time.monotonic() - begun))
    return rows


def alive(target: Target) -> bool:
    with httpx.Client(timeout=30) as http:
        return http.get(f"{target.url}/readyz").status_code == 200


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url")
    parser.add_argument("--token")
    given = parser.parse_args()
    with ExitStack() as stack:
        if given.url:
            target = Target(given.url.rstrip("/"), given.token)
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            limits = {"MUNIMENT_RATE_LIMIT": "600", "MUNIMENT_STRANGER_LIMIT": "300"}
            server = LiveServer(folder / "home", options=limits)
            server.start("--no-demo")
            stack.callback(server.stop)
            target = Target(server.url, server.token)
        rows = run(target)
        for name, told, right, seconds in rows:
            print(f"{'ok ' if right else 'BAD'} {name:42} {seconds:6.2f} s  {told}")
        well = alive(target)
        said = "answers" if well else "DOES NOT ANSWER"
        print(f"{sum(row[2] for row in rows)} of {len(rows)} right; afterwards the server {said}")
    return 0 if well and all(right for _, _, right, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
