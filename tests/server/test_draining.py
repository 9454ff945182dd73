"""How a server stops: what is under way finishes, what comes is refused with a code, streams end whole; a second signal
waits for nothing."""

import asyncio
import json

import httpx
import pytest
import websockets

from app.server.middleware import HEADERS
from tests.fixtures.socket import question, served
from tests.schema.conftest import token_of
from tests.server.test_hanging_up import RETRIEVE, WATCH, WRITE, filled, until

__all__ = ["filled"]


def bearer(world) -> dict[str, str]:
    return {"Authorization": f"Bearer {token_of(world)}", "Content-Type": "application/json"}


async def test_what_is_under_way_finishes_and_what_comes_is_told_to_go(filled):
    database = filled.parts.database
    async with served(filled.parts) as place, httpx.AsyncClient(base_url=place.url, timeout=30) as http:
        async with database.write(filled.organisation):
            writing = asyncio.create_task(
                http.post("/graphql", content=question(WRITE, k="late"), headers=bearer(filled))
            )
            await until(lambda: database.queue.in_use == 2, "the write waits for its turn")
            place.stop()
            await until(lambda: place.server.should_exit and place.gate._closed.is_set(), "it stops")
            refused = await http.post("/graphql", content=question(RETRIEVE, q="refunds"), headers=bearer(filled))
            assert refused.status_code == 503
            (error,) = refused.json()["errors"]
            assert error["extensions"]["code"] == "SEARCH_UNAVAILABLE"
            assert error["extensions"]["retryable"] is True
            assert error["extensions"]["retryAfterMs"] > 0
            assert refused.headers["connection"] == "close"
            assert set(map(str.lower, HEADERS)) <= set(refused.headers)
            assert (await http.get("/readyz")).status_code == 503
            assert (await http.get("/healthz")).status_code == 200
            assert not writing.done()
        answer = await writing
        assert answer.json()["data"]["createSpace"]["id"]
        await asyncio.wait_for(place.running, 20)
        with pytest.raises(httpx.ConnectError):
            await http.get("/healthz")


async def test_streams_end_whole(filled):
    delivered = await filled.ask("who authorises refunds")
    watch = filled.parts.watch
    before = watch.count
    body = question(WATCH, id=str(delivered.attribution_id))
    async with served(filled.parts) as place, httpx.AsyncClient(base_url=place.url, timeout=30) as http:
        events = {**bearer(filled), "Accept": "text/event-stream"}
        async with http.stream("POST", "/graphql", content=body, headers=events) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            async with websockets.connect(
                f"ws://127.0.0.1:{place.port}/graphql", subprotocols=["graphql-transport-ws"]
            ) as socket:
                authorised = {"Authorization": bearer(filled)["Authorization"]}
                await socket.send(json.dumps({"type": "connection_init", "payload": authorised}))
                assert json.loads(await socket.recv())["type"] == "connection_ack"
                payload = {"query": WATCH, "variables": {"id": str(delivered.attribution_id)}}
                await socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": payload}))
                await until(lambda: watch.count == before + 2, "both wait")
                place.stop()
                # A body that was cut raises here.
                async for _ in stream.aiter_bytes():
                    pass
                with pytest.raises(websockets.ConnectionClosed) as closed:
                    await socket.recv()
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 1012
        await asyncio.wait_for(place.running, 20)
        assert watch.count == before


async def test_a_second_signal_waits_for_nothing(filled):
    database = filled.parts.database
    async with served(filled.parts, patience=600) as place, httpx.AsyncClient(base_url=place.url) as http:
        async with database.write(filled.organisation):
            writing = asyncio.create_task(
                http.post("/graphql", content=question(WRITE, k="never"), headers=bearer(filled), timeout=60)
            )
            await until(lambda: database.queue.in_use == 2, "the write waits for its turn")
            place.stop()
            await asyncio.sleep(0.3)
            assert not place.running.done()
            place.stop()
            await asyncio.wait_for(place.running, 20)
        await asyncio.gather(writing, return_exceptions=True)
        await until(lambda: database.queue.in_use == 0, "its connection is back")
