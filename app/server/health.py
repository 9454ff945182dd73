"""`/healthz`: the process lives. `/readyz`: it can answer. Neither says anything about content."""

import asyncio
from typing import Final

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

log = structlog.get_logger()

#: Seconds that the database may take to answer.
READY_SECONDS: Final = 2.0


async def _alive(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _ready(request: Request) -> Response:
    try:
        async with asyncio.timeout(READY_SECONDS):
            # By a connection of the process's own: that all of the callers' are in use passes within milliseconds.
            await request.app.state.services.background.ping()
    except Exception:
        # Out of reach, or without its tables: either way this process cannot answer, and the log says why.
        log.warning("health.not_ready", exc_info=True)
        return JSONResponse({"status": "unavailable"}, status_code=503)
    return JSONResponse({"status": "ok"})


def health_routes() -> list[BaseRoute]:
    return [Route("/healthz", _alive), Route("/readyz", _ready)]
