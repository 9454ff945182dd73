"""A verification of the chain that is watched, over the sockets of a real server."""

import threading
from typing import Any

import httpx

from tests.fixtures.server import LiveServer
from tests.schema.test_subscriptions import events, opened, receive, send, socket

WATCH = """subscription($from: BigInt) { chainVerification(fromSequence: $from) {
    checkedRecords totalRecords verification { verdict checkedRecords } } }"""
RUNS = "{ chainVerifications(first: 1) { edges { node { id occasion verdict checkedRecords } } } }"


def stream(server: LiveServer, token: str | None, **variables: Any) -> Any:
    headers = {"Accept": "text/event-stream"} | ({"Authorization": f"Bearer {token}"} if token else {})
    body = {"query": WATCH, "variables": variables}
    return httpx.stream("POST", f"{server.url}/graphql", json=body, headers=headers, timeout=30)


def last_run(server: LiveServer) -> Any:
    [edge] = server.ask(RUNS, token=server.token)["data"]["chainVerifications"]["edges"]
    return edge["node"]


def assert_told(told: list[Any], server: LiveServer) -> None:
    """Progress that only grows, and the verdict at its end, which is the run that was recorded."""
    counts = [event["checkedRecords"] for event in told]
    assert counts == sorted(counts)
    assert [event["verification"] for event in told[:-1]] == [None] * (len(told) - 1)
    assert len(told) > 1
    verdict, run = told[-1]["verification"], last_run(server)
    assert verdict == {"verdict": "VALID", "checkedRecords": counts[-1]}
    assert (run["occasion"], run["verdict"], run["checkedRecords"]) == ("REQUEST", "VALID", counts[-1])
    assert counts[-1] > 0


def deliver(server: LiveServer) -> None:
    asked = server.ask(
        '{ retrieve(input: {query: "tea", spaceKey: "muniment"}) { attributionId } }', None, server.token
    )
    id = asked["data"]["retrieve"]["attributionId"]
    query = "query($id: ID!) { attribution(id: $id) { state } }"
    while server.ask(query, {"id": id}, server.token)["data"]["attribution"]["state"] != "CHAINED":
        pass


def test_over_a_web_socket(live_server: LiveServer) -> None:
    deliver(live_server)
    with opened(live_server) as made:
        send(made, {"id": "check", "type": "subscribe", "payload": {"query": WATCH}})
        told = []
        while (message := receive(made))["type"] == "next":
            assert message["id"] == "check"
            told.append(message["payload"]["data"]["chainVerification"])
        assert message == {"id": "check", "type": "complete"}
    assert_told(told, live_server)


def test_over_server_sent_events(live_server: LiveServer) -> None:
    deliver(live_server)
    with stream(live_server, live_server.token) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        told = [event["data"]["chainVerification"] for name, event in events(answer) if name == "next"]
    assert_told(told, live_server)


def test_who_may_not_audit_is_refused_before_anything_is_read(live_server: LiveServer) -> None:
    stranger = live_server.run("token", "--subject", "stranger").stdout.strip()
    before = last_run(live_server)
    with socket(live_server) as made:
        send(made, {"type": "connection_init", "payload": {"Authorization": f"Bearer {stranger}"}})
        assert receive(made)["type"] == "connection_ack"
        send(made, {"id": "check", "type": "subscribe", "payload": {"query": WATCH}})
        message = receive(made)
    assert message["type"] == "error"
    assert message["payload"][0]["extensions"]["code"] == "FORBIDDEN"
    for token, code in ((stranger, "FORBIDDEN"), (None, "UNAUTHENTICATED")):
        with stream(live_server, token) as answer:
            _, event = next(events(answer))
        assert event["errors"][0]["extensions"]["code"] == code
    assert last_run(live_server) == before


def test_a_range_that_cannot_be_is_refused_by_name(live_server: LiveServer) -> None:
    with stream(live_server, live_server.token, **{"from": 0}) as answer:
        _, event = next(events(answer))
    assert event["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"
    assert event["errors"][0]["extensions"]["field"] == "fromSequence"


def test_several_who_watch_at_once_are_each_told(live_server: LiveServer) -> None:
    deliver(live_server)
    verdicts: list[str] = []

    def watch() -> None:
        with stream(live_server, live_server.token) as answer:
            told = [event["data"]["chainVerification"] for name, event in events(answer) if name == "next"]
        verdicts.append(told[-1]["verification"]["verdict"])

    watchers = [threading.Thread(target=watch) for _ in range(4)]
    for watcher in watchers:
        watcher.start()
    for watcher in watchers:
        watcher.join(30)
    assert verdicts == ["VALID"] * 4
