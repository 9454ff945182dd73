"""A real server whose database dies, or stands still, in the middle of a model call: the call goes on as it would."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx
import pytest

from tests.fixtures.server import LiveServer
from tests.fixtures.upstream import DONE, STREAM, Provider, event
from tests.resilience.processes import kept_down, of_home, postmaster, wait

RETRIEVE = '{ retrieve(input: {query: "refunds", spaceKey: "muniment"}) { attributionId } }'
MODEL_CALLS = "query($id: ID!) { modelCalls(contextRequestId: $id) { edges { node { outcome link } } } }"


class Gated:
    """Answers once it is let."""

    def __init__(self) -> None:
        self.arrived, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, exchange) -> None:
        await exchange.read()
        self.arrived.set()
        await self.go.wait()
        await exchange.write(STREAM)
        for number in range(10):
            await exchange.chunk(event(str(number)))
            await asyncio.sleep(0.01)
        await exchange.chunk(DONE)
        await exchange.write(b"0\r\n\r\n")


WHOLE = b"".join(event(str(number)) for number in range(10)) + DONE


@pytest.fixture
async def server(provider: Provider, tmp_path) -> AsyncIterator[LiveServer]:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "refunds.md").write_text("# Refunds\n\nRefunds are authorised by tier two agents.\n")
    options = {"MUNIMENT_GATEWAY_UPSTREAM_URL": provider.url, "MUNIMENT_LINK_WAIT_MS": "200"}
    live = LiveServer(tmp_path / "home", options=options)
    assert (await asyncio.to_thread(live.run, "ingest", str(folder))).returncode == 0
    await asyncio.to_thread(live.start, "--no-demo")
    yield live
    if live.process is not None and live.process.poll() is None:
        live.process.kill()
        live.process.wait()
    for pid in of_home(live.home):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait(lambda: not of_home(live.home), "the home is quiet")


async def call(server: LiveServer, named: str) -> tuple[str, bytes]:
    headers = {"Authorization": f"Bearer {server.token}", "X-Muniment-Context-Request-Id": named}
    async with httpx.AsyncClient(timeout=60) as http:
        answer = await http.post(
            f"{server.url}/v1/chat/completions", json={"model": "m", "stream": True}, headers=headers
        )
    assert answer.status_code == 200
    return answer.headers["x-muniment-context-link"], answer.content


async def retrieved(server: LiveServer) -> str:
    answer = await asyncio.to_thread(server.ask, RETRIEVE, None, await asyncio.to_thread(lambda: server.token))
    named: str = answer["data"]["retrieve"]["attributionId"]
    return named


async def test_the_database_stands_still_and_then_dies(server: LiveServer, provider: Provider) -> None:
    named = await retrieved(server)
    provider.behaviour = gate = Gated()
    calling = asyncio.create_task(call(server, named))
    await asyncio.wait_for(gate.arrived.wait(), 30)
    still = of_home(server.home)
    for pid in still:
        os.kill(pid, signal.SIGSTOP)
    try:
        gate.go.set()
        assert await calling == ("error", WHOLE)
    finally:
        for pid in still:
            os.kill(pid, signal.SIGCONT)
    # Awake again, it takes the next call as if nothing had been.
    assert await call(server, named) == ("linked", WHOLE)
    noted = (await asyncio.to_thread(server.ask, MODEL_CALLS, {"id": named}, server.token))["data"]["modelCalls"]
    assert noted["edges"][-1]["node"] == {"outcome": "COMPLETED", "link": "LINKED"}

    provider.behaviour = gate = Gated()
    calling = asyncio.create_task(call(server, named))
    await asyncio.wait_for(gate.arrived.wait(), 30)
    with kept_down(server.home):
        os.kill(postmaster(server.home), signal.SIGKILL)
        await asyncio.to_thread(wait, lambda: not of_home(server.home), "the children of PostgreSQL notice")
        gate.go.set()
        assert await calling == ("error", WHOLE)
        # Again, with nothing there from the start.
        assert await call(server, named) == ("error", WHOLE)
    assert await asyncio.to_thread(server.stop) == 0
