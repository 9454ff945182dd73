"""Where the application meets the API. uvicorn loads `schema.asgi:app`."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route, WebSocketRoute

from app.assembly.installation import ROOT, Installation, read_settings
from app.assembly.services import services
from app.assembly.workers import workers
from app.gateway.routes import PREFIX, gateway_routes
from app.server.collector import settle
from app.server.hanging_up import HangUp
from app.server.health import health_routes
from app.server.keys import key_routes
from app.server.log import configure_logging
from app.server.metrics import Measured, keep_levels, metrics_routes
from app.server.middleware import BodyLimit, SecurityHeaders, failed
from app.server.playground import playground_routes
from app.server.tracing import Traced, Tracing
from schema.endpoint import GraphQLEndpoint
from schema.persisted import require_valid

#: A question is embedded in a thread beside the event loop: by default it would wait for the interpreter's lock up to
#: 5 ms at each step.
SWITCH_SECONDS = 0.0003


@asynccontextmanager
async def lifespan(application: Starlette) -> AsyncIterator[None]:
    """Open the database, run the background tasks, and leave nothing running behind."""
    settings = read_settings()
    configure_logging(settings.log_level)
    sys.setswitchinterval(SWITCH_SECONDS)
    tracing = Tracing.from_environment()
    installation = await asyncio.to_thread(Installation.open, settings)
    try:
        async with services(settings, installation) as parts, workers(parts):
            require_valid(parts.operations, parts.limits)
            application.state.services = parts
            application.state.tracing = tracing
            settle()
            keeping = [asyncio.create_task(installation.keep())]
            pools = {"callers": parts.database, "own": parts.background}
            keeping.append(asyncio.create_task(keep_levels(pools, parts.watch)))
            try:
                yield
            finally:
                for task in keeping:
                    task.cancel()
    finally:
        await asyncio.to_thread(installation.close)
        await asyncio.to_thread(tracing.close)


def create_app() -> Starlette:
    endpoint: Any = HangUp(GraphQLEndpoint())
    return Starlette(
        routes=[
            Route("/graphql", endpoint),
            WebSocketRoute("/graphql", endpoint),
            *gateway_routes(),
            *health_routes(),
            *key_routes(),
            *metrics_routes(),
            *playground_routes(ROOT / "playground" / "dist"),
        ],
        middleware=[
            Middleware(Measured),
            Middleware(Traced),
            Middleware(SecurityHeaders),
            Middleware(BodyLimit, except_below=PREFIX),
        ],
        exception_handlers={Exception: failed},
        lifespan=lifespan,
    )


app = create_app()
