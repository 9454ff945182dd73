"""Verifying the chain over the API: ranges, going on from the last run, the list of runs, and the subscription."""

from typing import Any

import pytest
from starlette.requests import Request

from app.domain.errors import Code
from app.domain.principal import Permission
from schema.build import graphql_schema
from schema.context import Context
from tests.fixtures.store import World
from tests.schema.conftest import Api, token_of

VERIFY = """query ($from: BigInt, $to: BigInt, $since: Boolean! = false) {
    verifyChain(fromSequence: $from, toSequence: $to, sinceLastRun: $since) {
        verdict firstBadSequence checkedRecords unverifiable { first last } } }"""
RUNS = """query ($first: Int, $after: String) { chainVerifications(first: $first, after: $after) {
    edges { node { occasion requestedBy verdict checkedRecords checked { first last } } }
    pageInfo { hasNextPage endCursor } } }"""
WATCH = """subscription { chainVerification { checkedRecords totalRecords
    verification { verdict checkedRecords } } }"""


async def chained(world: World, count: int) -> None:
    for _ in range(count):
        await world.ask("anything")
    await world.parts.sequencer.turn(world.organisation)


async def test_a_range_and_what_came_since_the_last_run(world: World, api: Api) -> None:
    await chained(world, 5)

    async def verify(**variables: Any) -> tuple[str, int]:
        found = (await api.data(VERIFY, variables))["verifyChain"]
        assert found["firstBadSequence"] is None
        assert found["unverifiable"] == []
        return found["verdict"], found["checkedRecords"]

    assert await verify(**{"from": 2, "to": 4}) == ("VALID", 3)
    # A run over a part vouches for nothing else.
    assert await verify(since=True) == ("VALID", 5)
    assert await verify(since=True) == ("VALID", 0)
    await chained(world, 2)
    assert await verify(since=True) == ("VALID", 2)
    assert await verify() == ("VALID", 7)

    for variables, field in (
        ({"from": 0}, "fromSequence"),
        ({"from": 9}, "fromSequence"),
        ({"from": 3, "to": 2}, "toSequence"),
        ({"from": 3, "since": True}, "sinceLastRun"),
    ):
        error = await api.error(VERIFY, variables)
        assert (error["extensions"]["code"], error["extensions"]["field"]) == (Code.BAD_USER_INPUT, field)

    whole = (await api.data(RUNS))["chainVerifications"]["edges"]
    assert [edge["node"]["checkedRecords"] for edge in whole] == [7, 2, 0, 5, 3]
    assert whole[-1]["node"] == {
        "occasion": "REQUEST",
        "requestedBy": str(world.principal.id),
        "verdict": "VALID",
        "checkedRecords": 3,
        "checked": {"first": 2, "last": 4},
    }
    assert whole[2]["node"]["checked"] is None
    pages, after = [], None
    while True:
        page = (await api.data(RUNS, {"first": 2, "after": after}))["chainVerifications"]
        pages += page["edges"]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert pages == whole


async def test_the_runs_are_for_auditors(world: World, api: Api) -> None:
    others = [permission for permission in Permission if permission is not Permission.AUDIT_READ]
    await world.add_person("other", *((world.root, permission) for permission in others))
    assert (await api.error(RUNS, token=token_of(world, "other")))["extensions"]["code"] == Code.FORBIDDEN
    for cursor in ("x", "Y2hhaW5WZXJpZmljYXRpb25zOngg"):
        assert (await api.error(RUNS, {"after": cursor}))["extensions"]["code"] == Code.BAD_USER_INPUT


def context(world: World, subject: str | None = None) -> Context:
    headers = [(b"authorization", f"Bearer {token_of(world, subject)}".encode())]
    return Context(services=world.parts, connection=Request({"type": "http", "headers": headers}))


async def test_the_subscription_ends_with_the_verdict(world: World) -> None:
    await chained(world, 3)
    stream = await graphql_schema.subscribe(WATCH, context_value=context(world))
    events = [result.data["chainVerification"] async for result in stream if result.data]
    assert [event["verification"] for event in events[:-1]] == [None] * (len(events) - 1)
    assert len(events) >= 2
    assert events[-1] == {
        "checkedRecords": 3,
        "totalRecords": 3,
        "verification": {"verdict": "VALID", "checkedRecords": 3},
    }


@pytest.mark.parametrize("subject", ["stranger"])
async def test_the_subscription_is_for_auditors(world: World, subject: str) -> None:
    stream = await graphql_schema.subscribe(WATCH, context_value=context(world, subject))
    results = [stream] if hasattr(stream, "errors") else [result async for result in stream]
    [result] = results
    assert [error.extensions["code"] for error in result.errors] == [Code.FORBIDDEN]
