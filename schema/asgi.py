"""Where the application meets the API. uvicorn loads `schema.asgi:app`."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from app.bootstrap import ROOT, Installation, read_settings, services, workers
from app.server.health import health_routes
from app.server.log import configure_logging
from app.server.middleware import BodyLimit, SecurityHeaders
from app.server.playground import playground_routes
from schema.endpoint import GraphQLEndpoint


@asynccontextmanager
async def lifespan(application: Starlette) -> AsyncIterator[None]:
    """Open the database, run the background tasks, and leave nothing running behind."""
    settings = read_settings()
    configure_logging(settings.log_level)
    installation = await asyncio.to_thread(Installation.open, settings)
    try:
        async with services(settings, installation) as parts, workers(parts):
            application.state.services = parts
            # All that is loaded by now stays: the collector need not walk through it again and again.
            gc.collect()
            gc.freeze()
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
        middleware=[Middleware(SecurityHeaders), Middleware(BodyLimit)],
        lifespan=lifespan,
    )


app = create_app()
