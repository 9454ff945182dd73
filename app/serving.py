"""Running the server in this process: the port first, then uvicorn, then the line that says where it is."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from socket import SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, getaddrinfo, socket

import uvicorn

from app.bootstrap import ROOT
from app.domain.errors import Code, MunimentError
from app.server.middleware import MAX_BODY_BYTES
from app.settings import Settings

_QUESTION = "How does a retrieval record its evidence?"
_QUERY = (
    'query($q: String!) { retrieve(input: {query: $q, spaceKey: "muniment"}) { passages { score text '
    "citation { index title headingPath externalId } } attributionId contract { validAt knownAt } } }"
)


class _Server(uvicorn.Server):
    """Tells when it can be reached."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()


def run_server(settings: Settings, on_started: Callable[[], None]) -> None:
    """Serve until a signal ends it; orderly, whatever signal that is."""
    config = uvicorn.Config(
        "schema.asgi:app",
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        ws_max_size=MAX_BODY_BYTES,
        timeout_graceful_shutdown=10,
    )
    # uvicorn ends in an orderly way first, and only then hands the signal on.
    with suppress(KeyboardInterrupt):
        _Server(config, on_started).run()


def require_free(host: str, port: int) -> None:
    """Before anything is started or ingested: an address that is taken is told at once."""
    family, kind, protocol, _, address = getaddrinfo(host, port, type=SOCK_STREAM)[0]
    with socket(family, kind, protocol) as probe:
        probe.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            raise MunimentError(
                Code.BAD_USER_INPUT, f"{host}:{port} cannot be listened on ({error.strerror}): set MUNIMENT_PORT"
            ) from error


def announcement(settings: Settings, token: str | None) -> Iterator[str]:
    """Where the page is, and one command that works; without a development token just the address."""
    address = f"http://{settings.host}:{settings.port}"
    if not (ROOT / "playground" / "dist" / "index.html").exists():
        yield "The playground was not built: it needs Node 20 or later (make run builds it)."
    if token is None:
        yield f"Muniment serves {address}"
        return
    body = json.dumps({"query": _QUERY, "variables": {"q": _QUESTION}})
    yield f"Playground: {address}/#token={token}"
    yield (
        f"curl -s {address}/graphql -H 'Content-Type: application/json' -H 'Authorization: Bearer {token}' -d '{body}'"
    )
