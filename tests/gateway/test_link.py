"""What a call says of the retrieval that it used, and what comes of it: for the evidence, and never for the call."""

import asyncio
import json
from dataclasses import replace
from uuid import uuid4

import pytest

from app.domain.canonical import canonical
from app.domain.chain import Outcome
from app.domain.principal import ActorType, Level, Permission
from app.evidence.attribution import LINK_CATEGORY, find_all
from app.gateway.link import FAILED_CATEGORY, Linker, LinkOutcome
from app.memory.resolve import Named
from app.memory.revision import Changes
from app.providers.ids import new_id
from app.storage import queue
from tests.evidence.support import chain_of, found, queue_of
from tests.fixtures.store import make_world
from tests.fixtures.upstream import COMPLETION, replies
from tests.gateway.conftest import running
from tests.schema.conftest import token_of

LINK = "x-muniment-context-link"


@pytest.fixture
async def answer(world, instant):
    await world.write("a.md", ("# Refunds\n\nRefunds are authorised by tier two agents.", instant, None))
    await world.settle()
    return await world.ask("refunds")


async def queued(world, category):
    """The records of a category that wait to be chained."""
    payloads = [json.loads(event.payload) for event in await queue_of(world.parts.database, world.organisation)]
    return [record for record in payloads if record["category"] == category]


@pytest.mark.parametrize("prefix", ["X-Muniment", "X-Keystone"])
@pytest.mark.parametrize("by", ["request", "attribution", "metadata", "both", "capitals"])
async def test_linked_by_either_id_in_either_place(gateway, world, answer, prefix, by):
    ids = {"attribution": str(answer.attribution_id), "capitals": str(answer.contract.request_id).upper()}
    named = ids.get(by, str(answer.contract.request_id))
    headers = {}
    if by != "metadata":
        headers[f"{prefix}-Context-Request-Id"] = named
    if by in {"metadata", "both"}:
        headers[f"{prefix}-Metadata"] = json.dumps({"context_request_id": named, "other": {"x": [1]}})
    got = await gateway.post(**headers)
    assert got.json() == COMPLETION
    for spelling in ("x-muniment", "x-keystone") if prefix == "X-Keystone" else ("x-muniment",):
        assert got.headers[f"{spelling}-context-link"] == "linked"
        assert got.headers[f"{spelling}-gateway-request-id"] == got.headers["x-muniment-gateway-request-id"]
    if prefix == "X-Muniment":
        assert not any(name.startswith("x-keystone") for name in got.headers)
    (_, link) = await find_all(world.parts.database, world.principal, str(answer.contract.request_id))
    assert link.record["category"] == LINK_CATEGORY
    assert link.record["attributionId"] == str(answer.attribution_id)
    assert link.record["responseId"] == got.headers["x-muniment-gateway-request-id"]
    [exchange] = gateway.provider.exchanges
    assert not any(name.startswith((b"x-muniment", b"x-keystone")) for name, _ in exchange.headers)


async def test_a_call_that_names_none_is_not_linked(gateway, world, answer):
    for headers in ({}, {"X-Muniment-Metadata": "{}"}, {"X-Muniment-Metadata": '{"context_request_id": null}'}):
        got = await gateway.post(**headers)
        assert got.json() == COMPLETION
        assert LINK not in got.headers
        assert "x-muniment-gateway-request-id" in got.headers
    assert len(await queue_of(world.parts.database, world.organisation)) == 1


async def test_the_link_is_there_before_the_first_byte(gateway, world, answer):
    """The provider's head has come, its body has not: the caller has the outcome, the evidence has the link."""
    more = asyncio.Event()

    async def behave(exchange):
        await exchange.read()
        await exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
        await more.wait()
        await exchange.write(b"{}")

    gateway.provider.behaviour = behave
    async with asyncio.timeout(20), gateway.stream(X_Muniment_Context_Request_Id=str(answer.attribution_id)) as got:
        assert got.headers[LINK] == "linked"
        assert len(await queued(world, LINK_CATEGORY)) == 1
        more.set()
        assert await got.aread() == b"{}"


async def test_not_found_is_told_and_audited(gateway, world, answer):
    """An unknown id, a word, another organisation's retrieval."""
    stranger = await make_world(world.parts)
    other = await stranger.ask("refunds")
    named = ["abc", str(uuid4()), "0", "a:b.c_d-e", "a" * 128, str(other.attribution_id)]
    for name in named:
        got = await gateway.post(X_Muniment_Context_Request_Id=name, X_Muniment_Client="editor/1.4.2")
        assert (got.json(), got.headers[LINK]) == (COMPLETION, "not_found")
    records = await queued(world, FAILED_CATEGORY)
    assert [record["requestId"] for record in records] == named
    assert {(record["outcome"], record["linkedBy"]) for record in records} == {("not_found", str(world.principal.id))}
    assert records[-1]["responseId"] == got.headers["x-muniment-gateway-request-id"]
    assert records[0]["client"] == {"id": "muniment-development", "name": "editor", "version": "1.4.2"}
    assert await queued(world, LINK_CATEGORY) == []


async def test_a_record_on_its_way_is_waited_for(world, provider, answer):
    """The retrieval is named before its record is there."""
    linker = Linker(world.parts.database, world.parts.rung, 10.0)
    try:
        database = world.parts.database
        async with database.unstamped(world.organisation) as session:
            id, request = new_id(), new_id()
            task = asyncio.create_task(linker.link(world.principal, str(request), new_id()))
            await asyncio.sleep(0.2)
            assert not task.done()
            event = {
                "category": "context_attribution",
                "id": str(id),
                "attributionId": str(id),
                "requestId": str(request),
                "userId": str(world.principal.id),
                "spaceId": None,
            }
            await queue.store(session, id, canonical(event))
        link = await task
        assert link.outcome is LinkOutcome.LINKED
        assert link.attribution.id == id
    finally:
        await linker.close()


async def test_who_may_link(world, gateway):
    """One's own; another's only an auditor who is a person; a key what it retrieved itself."""
    team = await world.add_space("team", Level.TEAM)
    reader = await world.add_person("reader", (team, Permission.SEARCH))
    key = replace(reader, api_key_id=uuid4(), actor_type=ActorType.APPLICATION)
    mine = await world.ask("anything", by=reader, space_key="team")
    made_by_key = await world.ask("anything", by=key, space_key="team")
    auditor = await world.add_person("auditor", (world.root, Permission.AUDIT_READ))
    of_team = await world.add_person("of team", (team, Permission.AUDIT_READ))
    elsewhere = await world.add_person("elsewhere", (world.project, Permission.AUDIT_READ))
    admin = await world.add_person("admin", (world.root, Permission.ADMIN), (world.root, Permission.ORG_ADMIN))
    expected = {
        "who retrieved": (reader, mine, "linked"),
        "who retrieved, as an agent": (replace(reader, actor_type=ActorType.AGENT), mine, "linked"),
        "a key of theirs": (key, mine, "denied"),
        "the key that retrieved": (key, made_by_key, "linked"),
        "another key": (replace(key, api_key_id=uuid4()), made_by_key, "denied"),
        "an auditor": (auditor, mine, "linked"),
        "an auditor of the space": (of_team, mine, "linked"),
        "an auditor of another": (elsewhere, mine, "denied"),
        "an administrator": (admin, mine, "denied"),
        "an auditor's agent": (replace(auditor, actor_type=ActorType.AGENT), mine, "denied"),
        "an auditor's key": (replace(auditor, api_key_id=uuid4()), mine, "denied"),
        "somebody": (await world.add_person("somebody"), mine, "denied"),
    }
    told = {}
    for who, (principal, retrieved, _) in expected.items():
        link = await gateway.gateway.linker.link(principal, str(retrieved.contract.request_id), new_id())
        told[who] = link.outcome.value
    assert told == {who: outcome for who, (_, _, outcome) in expected.items()}


async def test_denied_is_told_and_audited(gateway, world, answer):
    await world.add_person("other")
    token = f"Bearer {token_of(world, 'other')}"
    got = await gateway.post(Authorization=token, X_Muniment_Context_Request_Id=str(answer.attribution_id))
    assert (got.status_code, got.json(), got.headers[LINK]) == (200, COMPLETION, "denied")
    [record] = await queued(world, FAILED_CATEGORY)
    assert (record["outcome"], record["attributionId"]) == ("denied", str(answer.attribution_id))
    assert (record["requestId"], record["userId"]) == (str(answer.contract.request_id), None)
    assert await queued(world, LINK_CATEGORY) == []
    other = replace(world.principal, id=(await world.add_person("third")).id)
    assert await find_all(world.parts.database, other, record["requestId"]) == []
    assert len(await find_all(world.parts.database, world.principal, record["requestId"])) == 2
    while await world.parts.sequencer.turn(world.organisation):
        pass
    assert len(await chain_of(world.parts.database, world.organisation)) == 2
    assert await found(world.parts, world.organisation) == (Outcome.VALID, None)


async def test_a_memory_that_was_used_is_counted_once_a_call(gateway, world):
    await world.parts.memory.remember(
        world.principal,
        Named(space_key="project"),
        Changes(text="We give refunds."),
        since=None,
        until=None,
        from_now=False,
    )
    recalled = await world.ask("refunds")
    assert recalled.memories
    got = await gateway.post(X_Muniment_Context_Request_Id=str(recalled.contract.request_id))
    assert got.headers[LINK] == "linked"
    again = await world.ask("refunds")
    assert again.memories[0].candidate.hit.access_count == 1


async def test_the_provider_s_failure_is_linked_too(gateway, answer):
    """Whatever it answers, it was sent what the caller had put together from the retrieval."""
    gateway.provider.behaviour = replies({"error": {}}, 429)
    got = await gateway.post(X_Muniment_Context_Request_Id=str(answer.attribution_id))
    assert (got.status_code, got.headers[LINK]) == (429, "linked")


async def test_an_unanswered_call_is_not_linked(gateway, world, answer):
    async def cuts(exchange):
        raise ConnectionResetError

    gateway.provider.behaviour = cuts
    got = await gateway.post(X_Muniment_Context_Request_Id=str(answer.attribution_id))
    assert got.status_code == 502
    assert LINK not in got.headers
    assert await queued(world, LINK_CATEGORY) == []


async def test_no_connection_is_held_while_the_provider_works(world, provider, answer):
    """More calls than the pool has connections, each in the middle of its stream; a question is answered meanwhile."""
    count, release, arrived = 3 * world.parts.settings.pool_size, asyncio.Event(), asyncio.Semaphore(0)

    async def slow(exchange):
        await exchange.read()
        await exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{")
        arrived.release()
        await release.wait()
        await exchange.write(b"}")

    provider.behaviour = slow
    async with running(world, provider) as opened, asyncio.timeout(30):
        named = str(answer.attribution_id)
        calls = [asyncio.create_task(opened.post(X_Muniment_Context_Request_Id=named)) for _ in range(count)]
        for _ in range(count):
            await arrived.acquire()
        for _ in range(5):
            assert (await world.ask("refunds")).passages
        release.set()
        assert {got.headers[LINK] for got in await asyncio.gather(*calls)} == {"linked"}


@pytest.mark.parametrize("wait", [0, 300])
async def test_a_database_that_fails_is_an_error_of_the_link_alone(world, provider, answer, wait):
    class Broken:
        """Every transaction fails as one does whose server is gone."""

        def __getattr__(self, name):
            raise ConnectionResetError

    async with running(world, provider, link_wait_ms=wait) as opened:
        opened.gateway.linker._database = Broken()
        got = await opened.post(X_Muniment_Context_Request_Id=str(answer.attribution_id))
        assert (got.status_code, got.json(), got.headers[LINK]) == (200, COMPLETION, "error")
        [call] = await opened.noted(str(answer.attribution_id))
        assert (call.link, call.attribution_id) == (LinkOutcome.ERROR, None)
    # The database was back when the call ended: the failure is in the evidence after all.
    [record] = await queued(world, FAILED_CATEGORY)
    assert (record["outcome"], record["requestId"]) == ("error", str(answer.attribution_id))


async def test_a_database_that_never_answers_is_not_waited_for(world, provider, answer, monkeypatch):
    monkeypatch.setattr("app.gateway.link._GRACE", 0.1)
    held = asyncio.Event()

    class Hanging:
        def snapshot(self, organisation):
            return self

        async def __aenter__(self):
            # As a driver that waits for its server even when it is told to stop.
            while not held.is_set():
                try:
                    await held.wait()
                except asyncio.CancelledError:
                    continue

        async def __aexit__(self, *_):
            pass

    async with running(world, provider) as opened:
        opened.gateway.linker._database = Hanging()
        got = await opened.post(X_Muniment_Context_Request_Id=str(answer.attribution_id))
        assert (got.json(), got.headers[LINK]) == (COMPLETION, "error")
        held.set()
