"""Where the application meets the API. uvicorn loads `schema.asgi:app`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL

from app.bootstrap import ROOT, Installation, Services, read_settings, services, workers
from app.server.health import health_routes
from app.server.log import configure_logging
from app.server.playground import playground_routes
from schema.build import graphql_schema
from schema.context import Context


class GraphQLEndpoint(GraphQL[Context, None]):
    """`POST /graphql`. The page that explores it is the playground at `/`, not the library's own."""

    def __init__(self) -> None:
        super().__init__(
            graphql_schema,
            graphql_ide=None,
            multipart_uploads_enabled=False,
            subscription_protocols=("graphql-transport-ws",),
        )

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Context:
        parts: Services = request.app.state.services
        return Context(services=parts, connection=request)


@asynccontextmanager
async def lifespan(application: Starlette) -> AsyncIterator[None]:
    """Open the database, run the background tasks, and leave nothing running behind."""
    settings = read_settings()
    configure_logging(settings.log_level)
    installation = await asyncio.to_thread(Installation.open, settings)
    try:
        async with services(settings, installation) as parts, workers(parts):
            application.state.services = parts
            yield
    finally:
        await asyncio.to_thread(installation.close)


def create_app() -> Starlette:
    endpoint: Any = GraphQLEndpoint()
    return Starlette(
        routes=[
            Route("/graphql", endpoint),
            *health_routes(),
            *playground_routes(ROOT / "playground" / "dist"),
        ],
        lifespan=lifespan,
    )


app = create_app()
