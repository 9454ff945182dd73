"""Alive and ready are two things: a server that lost its database is the one and not the other."""

from dataclasses import replace

import httpx
from structlog.testing import capture_logs

from app.assembly.services import Services
from app.domain.errors import Code, MunimentError
from schema.asgi import create_app


class _Gone:
    def __init__(self, error: Exception) -> None:
        self._error = error

    async def ping(self) -> None:
        raise self._error


async def test_alive_and_ready(parts: Services) -> None:
    application = create_app()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://test") as http:
        application.state.services = parts
        assert (await http.get("/readyz")).json() == {"status": "ok"}
        for error in (MunimentError(Code.SEARCH_UNAVAILABLE, "gone"), RuntimeError("no such table: secret")):
            application.state.services = replace(parts, background=_Gone(error))  # type: ignore[arg-type]
            with capture_logs() as logs:
                answer = await http.get("/readyz")
            assert (answer.status_code, answer.json()) == (503, {"status": "unavailable"})
            assert [entry["event"] for entry in logs] == ["health.not_ready"]
            assert (await http.get("/healthz")).json() == {"status": "ok"}
