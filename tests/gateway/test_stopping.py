"""A server that is told to stop in the middle of a model call: the call goes through whole, the next one is refused."""

import asyncio
from dataclasses import replace

import httpx

from app.assembly.endpoints import make_gateway
from tests.fixtures.socket import served
from tests.fixtures.upstream import Provider
from tests.gateway.test_database_killed import WHOLE, Gated
from tests.schema.conftest import token_of


async def test_a_stream_is_not_cut(world, provider: Provider) -> None:
    provider.behaviour = gate = Gated()
    parts = world.parts
    settings = parts.settings.model_copy(update={"gateway_upstream_url": provider.url})
    gateway = make_gateway(settings, parts.database, parts.credentials, parts.rung, parts.rates, parts.strangers)
    assert gateway is not None
    headers = {"Authorization": f"Bearer {token_of(world)}"}
    body = {"model": "m", "stream": True}
    async with (
        served(replace(parts, gateway=gateway)) as place,
        httpx.AsyncClient(base_url=place.url, timeout=30, headers=headers) as http,
    ):
        calling = asyncio.create_task(http.post("/v1/chat/completions", json=body))
        await asyncio.wait_for(gate.arrived.wait(), 30)
        place.stop()
        async with asyncio.timeout(20):
            await place.gate._closed.wait()
        refused = await http.post("/v1/chat/completions", json=body)
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "SEARCH_UNAVAILABLE"
        assert refused.headers["retry-after"]
        assert not calling.done()
        gate.go.set()
        answer = await calling
        assert (answer.status_code, answer.content) == (200, WHOLE)
        await asyncio.wait_for(place.running, 20)
    await gateway.close()
