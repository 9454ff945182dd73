"""The application behind a real uvicorn on a socket, with its gateway to a provider of the test's own."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest
import uvicorn

from app.assembly.endpoints import make_gateway
from app.domain.principal import Principal
from app.gateway.calls import NotedCall, calls_of
from app.gateway.endpoint import Gateway
from schema.asgi import create_app
from tests.fixtures.store import World
from tests.fixtures.upstream import Provider
from tests.schema.conftest import token_of

KEY = "key-of-the-provider"
PATIENCE = 20.0


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The test runner's signals stay its own."""
        yield


@asynccontextmanager
async def listening(application: Any) -> AsyncIterator[str]:
    """The address of a uvicorn in this event loop, set as `muniment serve` sets it."""
    config = uvicorn.Config(application, port=0, lifespan="off", log_level="critical", timeout_graceful_shutdown=1)
    server = _Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@dataclass
class Running:
    """A world, its provider, and a client that speaks to the gateway between them."""

    world: World
    provider: Provider
    gateway: Gateway
    url: str
    http: httpx.AsyncClient = field(default_factory=lambda: httpx.AsyncClient(timeout=PATIENCE))

    def credentials(self, subject: str | None = None) -> dict[str, str]:
        return {"Authorization": f"Bearer {token_of(self.world, subject)}"}

    async def post(self, body: Any = None, path: str = "chat/completions", **headers: str) -> httpx.Response:
        """A call of the world's person; header names with `_` for `-`."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.http.post(
            f"{self.url}/v1/{path}", json=body or {"model": "m", "messages": []}, headers=self.credentials() | given
        )

    @asynccontextmanager
    async def stream(self, **headers: str) -> AsyncIterator[httpx.Response]:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        body = {"model": "m", "messages": [], "stream": True}
        async with self.http.stream(
            "POST", f"{self.url}/v1/chat/completions", json=body, headers=self.credentials() | given
        ) as answer:
            yield answer

    async def noted(self, named: str, by: Principal | None = None, count: int = 1) -> list[NotedCall]:
        """The calls that named a retrieval, once there are as many."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await calls_of(self.world.parts.database, by or self.world.principal, named, None, 100)
                if len(found) >= count:
                    return found
                await asyncio.sleep(0.01)


@asynccontextmanager
async def running(world: World, provider: Provider, **options: Any) -> AsyncIterator[Running]:
    settings = world.parts.settings.model_copy(
        update={"gateway_upstream_url": provider.url, "link_wait_ms": 100, **options}
    )
    settings = type(settings).model_validate(settings.model_dump() | {"gateway_upstream_api_key": KEY})
    parts = world.parts
    gateway = make_gateway(settings, parts.database, parts.credentials, parts.rung, parts.rates, parts.strangers)
    assert gateway is not None
    application = create_app()
    application.state.services = replace(world.parts, gateway=gateway)
    try:
        async with listening(application) as url:
            opened = Running(world, provider, gateway, url)
            try:
                yield opened
            finally:
                await opened.http.aclose()
    finally:
        await gateway.close()


@pytest.fixture
async def gateway(world: World, provider: Provider) -> AsyncIterator[Running]:
    async with running(world, provider) as opened:
        yield opened
