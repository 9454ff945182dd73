"""The API in this process: the real ASGI application, its middleware included, on the session's store."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from app.assembly.services import Services
from schema.asgi import create_app
from tests.fixtures.store import World


def connect(services: Services) -> httpx.AsyncClient:
    application = create_app()
    application.state.services = services
    return httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://test")


def token_of(world: World, subject: str | None = None) -> str:
    """A fresh token for a person of the world's organisation."""
    settings, development = world.parts.settings, world.parts.development
    assert development is not None
    return development.token(
        settings.jwt_issuer,
        settings.jwt_audience,
        subject=subject or world.principal.external_id,
        organisation=world.organisation,
    )


@dataclass
class Api:
    """One organisation's view of the API."""

    world: World
    http: httpx.AsyncClient

    async def ask(
        self,
        query: str,
        variables: Mapping[str, Any] | None = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The whole answer; as the organisation's tester unless a token is given ("" sends none)."""
        token = token_of(self.world) if token is None else token
        credentials = {"Authorization": f"Bearer {token}"} if token else {}
        answer = await self.http.post(
            "/graphql",
            # Escaped, so that half of a surrogate pair can be sent as well.
            content=json.dumps({"query": query, "variables": dict(variables or {})}),
            headers={"Content-Type": "application/json", **credentials, **(headers or {})},
        )
        body: dict[str, Any] = answer.json()
        return body

    async def data(self, query: str, variables: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        body = await self.ask(query, variables, **options)
        assert "errors" not in body, body
        data: dict[str, Any] = body["data"]
        return data

    async def error(self, query: str, variables: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """The one error that is expected."""
        body = await self.ask(query, variables, **options)
        [error] = body["errors"]
        found: dict[str, Any] = error
        return found


@pytest.fixture
async def api(world: World) -> AsyncIterator[Api]:
    async with connect(world.parts) as http:
        yield Api(world, http)
