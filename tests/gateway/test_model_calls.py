"""What is kept of calls that named a retrieval, and who may see it."""

import asyncio

import pytest

from app.domain.errors import Code, MunimentError
from app.domain.principal import Permission
from app.gateway.calls import CallOutcome, calls_of
from app.gateway.link import LinkOutcome
from tests.fixtures.upstream import DONE, STREAM, Stepping, event, replies
from tests.gateway.conftest import PATIENCE, running
from tests.schema.conftest import connect, token_of

QUERY = """
query($id: ID!, $first: Int, $after: String) {
  modelCalls(contextRequestId: $id, first: $first, after: $after) {
    edges { cursor node { id contextRequestId attributionId model endpoint status startedAt durationMs streamed outcome
      link clientId clientName clientVersion } }
    pageInfo { hasNextPage endCursor }
  }
}
"""


@pytest.fixture
async def answer(world):
    return await world.ask("refunds")


def naming(answer, **headers):
    return {"X_Muniment_Context_Request_Id": str(answer.contract.request_id), **headers}


async def test_a_call_is_noted_when_its_answer_ends(gateway, world, answer):
    """It can be asked for as soon as the caller has the last byte."""
    got = await gateway.post({"messages": [], "model": "gpt-é"}, **naming(answer), X_Muniment_Client="editor/1.4.2")
    [call] = await calls_of(world.parts.database, world.principal, str(answer.attribution_id), None, 10)
    assert str(call.id) == got.headers["x-muniment-gateway-request-id"]
    assert (call.context_request_id, call.attribution_id) == (str(answer.contract.request_id), answer.attribution_id)
    assert (call.model, call.endpoint, call.status, call.streamed) == ("gpt-é", "chat/completions", 200, False)
    assert (call.outcome, call.link) == (CallOutcome.COMPLETED, LinkOutcome.LINKED)
    assert (call.client_id, call.client_name, call.client_version) == ("muniment-development", "editor", "1.4.2")
    assert call.duration_ms >= 0
    assert call.started_at.utcoffset() is not None


async def test_a_stream_is_noted_at_its_end(gateway, world, answer):
    steps = gateway.provider.behaviour = Stepping()
    steps.go(event("one"))
    named = str(answer.contract.request_id)
    async with asyncio.timeout(PATIENCE), gateway.stream(**naming(answer)) as got:
        pieces = got.aiter_raw()
        await anext(pieces)
        assert await calls_of(world.parts.database, world.principal, named, None, 10) == []
        steps.go(DONE, None)
        assert [piece async for piece in pieces] == [DONE]
    [call] = await calls_of(world.parts.database, world.principal, named, None, 10)
    assert (call.outcome, call.streamed, call.status) == (CallOutcome.COMPLETED, True, 200)


async def test_each_way_to_end(gateway, world, answer):
    async def breaks_off(exchange):
        await exchange.read()
        await exchange.write(STREAM + b"5\r\nhello\r\n")
        raise ConnectionResetError

    async def cuts(exchange):
        raise ConnectionResetError

    async def waits(exchange):
        await exchange.read()
        await exchange.write(STREAM + b"5\r\nhello\r\n")
        await exchange.reader.read()

    async def ignores(exchange):
        await exchange.reader.read()

    endings = [
        (replies({}, 500), (CallOutcome.COMPLETED, 500, LinkOutcome.LINKED)),
        (breaks_off, (CallOutcome.CUT, 200, LinkOutcome.LINKED)),
        (cuts, (CallOutcome.FAILED, None, None)),
        (waits, (CallOutcome.HUNG_UP, 200, LinkOutcome.LINKED)),
        (ignores, (CallOutcome.HUNG_UP, None, None)),
        (replies(b"", 302, Location="/"), (CallOutcome.FAILED, None, None)),
    ]
    for number, (behaviour, expected) in enumerate(endings):
        gateway.provider.behaviour = behaviour
        if expected[0] is CallOutcome.HUNG_UP:
            call = asyncio.create_task(gateway.post(**naming(answer)))
            async with asyncio.timeout(PATIENCE):
                while len(gateway.provider.exchanges) <= number:
                    await asyncio.sleep(0.005)
                if expected[1] is not None:
                    # Until the answer has begun and is linked.
                    await asyncio.sleep(0.3)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        else:
            await asyncio.gather(gateway.post(**naming(answer)), return_exceptions=True)
        calls = await gateway.noted(str(answer.contract.request_id), count=number + 1)
        assert (calls[-1].outcome, calls[-1].status, calls[-1].link) == expected
        assert calls[-1].model == "m"


async def test_a_provider_out_of_time(world, provider, answer):
    async def silent(exchange):
        await exchange.reader.read()

    provider.behaviour = silent
    async with running(world, provider, gateway_idle_timeout_ms=100) as opened:
        await opened.post(**naming(answer))
        [call] = await opened.noted(str(answer.contract.request_id))
    assert (call.outcome, call.status, call.link) == (CallOutcome.TIMED_OUT, None, None)


async def test_calls_under_way_are_noted_when_the_server_stops(world, provider, answer):
    provider.behaviour = Stepping()
    async with running(world, provider) as opened:
        call = asyncio.create_task(opened.post(**naming(answer)))
        async with asyncio.timeout(PATIENCE):
            while not provider.exchanges:
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.3)
    await asyncio.gather(call, return_exceptions=True)
    [noted] = await opened.noted(str(answer.contract.request_id))
    assert noted.outcome in {CallOutcome.INTERRUPTED, CallOutcome.HUNG_UP}


async def test_a_link_under_way_outlives_a_caller_who_hangs_up(gateway, world, answer):
    """What is noted says what became of it."""
    linker, begun, go = gateway.gateway.linker, asyncio.Event(), asyncio.Event()
    wait_for = linker._wait_for

    async def slowly(principal, named):
        begun.set()
        await go.wait()
        return await wait_for(principal, named)

    linker._wait_for = slowly
    call = asyncio.create_task(gateway.post(**naming(answer)))
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await asyncio.sleep(0.1)
        go.set()
    [noted] = await gateway.noted(str(answer.contract.request_id))
    assert (noted.outcome, noted.link) == (CallOutcome.HUNG_UP, LinkOutcome.LINKED)


async def test_a_call_without_a_retrieval_leaves_no_row(gateway, world, owner):
    assert (await gateway.post()).status_code == 200
    count = await owner.fetchval("SELECT count(*) FROM model_calls WHERE organisation_id = $1", world.organisation)
    assert count == 0


async def test_nothing_that_was_said_is_kept(gateway, world, answer, owner, capsys):
    secret = "a-secret-that-was-said"
    gateway.provider.behaviour = replies({"said": secret}, 200, X_Said=secret)
    body = {"model": "m", "messages": [{"role": "user", "content": secret}]}
    query = f"?q={secret}"
    got = await gateway.http.post(
        f"{gateway.url}/v1/chat/completions{query}",
        json=body,
        headers=gateway.credentials() | {"X-Muniment-Context-Request-Id": str(answer.attribution_id), "X-Own": secret},
    )
    assert secret in got.text
    await gateway.noted(str(answer.attribution_id))
    for table in ("model_calls", "attribution_queue", "evidence"):
        rows = await owner.fetch(f"SELECT * FROM {table} WHERE organisation_id = $1", world.organisation)
        assert secret not in repr(rows)
    logged = "".join(capsys.readouterr())
    assert "gateway.call" in logged
    assert secret not in logged


# Looking them up


async def test_the_query_pages_through_them(gateway, world, answer):
    for number in range(5):
        await gateway.post({"model": f"m{number}"}, **naming(answer), path="embeddings")
    async with connect(world.parts) as http:
        found, after = [], None
        while True:
            variables = {"id": str(answer.contract.request_id), "first": 2, "after": after}
            got = await http.post(
                "/graphql",
                json={"query": QUERY, "variables": variables},
                headers={"Authorization": f"Bearer {token_of(world)}"},
            )
            page = got.json()["data"]["modelCalls"]
            found += [edge["node"] for edge in page["edges"]]
            after = page["pageInfo"]["endCursor"]
            if not page["pageInfo"]["hasNextPage"]:
                break
    assert [call["model"] for call in found] == [f"m{number}" for number in range(5)]
    assert {(call["endpoint"], call["link"], call["outcome"]) for call in found} == {
        ("embeddings", "LINKED", "COMPLETED")
    }
    assert {call["attributionId"] for call in found} == {str(answer.attribution_id)}


async def test_they_are_seen_by_who_sees_the_retrieval(gateway, world, answer):
    await gateway.post(**naming(answer))
    auditor = await world.add_person("auditor", (world.root, Permission.AUDIT_READ))
    admin = await world.add_person("admin", (world.project, Permission.ADMIN))
    other = await world.add_person("other", (world.project, Permission.SEARCH))
    named = str(answer.contract.request_id)
    for principal in (world.principal, auditor, admin):
        assert len(await calls_of(world.parts.database, principal, named, None, 10)) == 1
    for principal, name in [(other, named)] + [
        (world.principal, name) for name in ("", "nope", "\0", "\ud800", "٠" * 32, "a" * 10_000)
    ]:
        with pytest.raises(MunimentError) as refused:
            await calls_of(world.parts.database, principal, name, None, 10)
        assert (refused.value.code, refused.value.field) == (Code.ATTRIBUTION_NOT_FOUND, "contextRequestId")
