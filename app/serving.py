"""Running the server in this process: the port first, then uvicorn, then the line that says where it is."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.synchronize import Event
from socket import SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, getaddrinfo, socket
from tempfile import TemporaryDirectory
from time import monotonic
from types import FrameType

import structlog
import uvicorn
from uvicorn.importer import import_from_string

from app.assembly.installation import ROOT
from app.domain.errors import Code, MunimentError
from app.server.connections import BoundedConnection
from app.server.draining import Gate
from app.server.log import configure_logging
from app.server.metrics import SHARED
from app.server.middleware import MAX_BODY_BYTES
from app.server.supervision import Supervisor
from app.settings import Settings

log = structlog.get_logger()

#: Messages of one socket that wait to be read; then no more are taken from the network.
MOST_QUEUED = 4

_QUESTION = "How does a retrieval record its evidence?"
_QUERY = (
    'query($q: String!) { retrieve(input: {query: $q, spaceKey: "muniment"}) { passages { score text '
    "citation { index title headingPath externalId } } attributionId contract { validAt knownAt } } }"
)


class Server(uvicorn.Server):
    """Tells when it can be reached, and stops in an orderly way: while what is under way finishes, it still listens and
    says that it stops. A second signal, whichever, stops it at once."""

    def __init__(self, config: uvicorn.Config, gate: Gate, on_started: Callable[[], None], patience: float) -> None:
        super().__init__(config)
        self._gate = gate
        self._on_started = on_started
        self._patience = patience

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        self._gate.close()
        leaving = asyncio.ensure_future(self._gate.left())
        deadline = monotonic() + self._patience
        while not leaving.done() and not self.force_exit and monotonic() < deadline:
            await asyncio.wait({leaving}, timeout=0.1)
        if not leaving.done():
            log.warning("server.cut", requests=self._gate.inside)
        leaving.cancel()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            self.force_exit = True
        super().handle_exit(sig, frame)


def run_server(settings: Settings, on_started: Callable[[], None], listening: socket | None = None) -> None:
    """Serve until a signal ends it; orderly, whatever signal that is. `listening`: a socket that others share."""
    gate = Gate(import_from_string("schema.asgi:app"))
    config = uvicorn.Config(
        gate,
        host=settings.host,
        port=settings.port,
        lifespan="on",
        # Ours is set already, for every library: theirs would print what users wrote.
        log_config=None,
        access_log=False,
        server_header=False,
        http=BoundedConnection,
        ws_max_size=MAX_BODY_BYTES,
        ws_max_queue=MOST_QUEUED,
        limit_concurrency=settings.max_connections,
        timeout_graceful_shutdown=1,
    )
    server = Server(config, gate, on_started, settings.shutdown_seconds)
    # uvicorn ends in an orderly way first, and only then hands the signal on.
    with suppress(KeyboardInterrupt):
        server.run([listening] if listening else None)
    if not server.started:
        sys.exit(3)


def run_servers(settings: Settings, count: int, on_started: Callable[[], None]) -> None:
    """The same in `count` processes that share the port and the database, and do each other's background work."""
    family, kind, protocol, _, address = getaddrinfo(settings.host, settings.port, type=SOCK_STREAM)[0]
    with socket(family, kind, protocol) as listening, TemporaryDirectory(prefix="muniment-metrics-") as figures:
        listening.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        listening.bind(address)
        os.environ[SHARED] = figures
        Supervisor(_serve_shared, listening, count).run(on_started)


def _serve_shared(listening: socket, started: Event) -> None:
    """In a process of its own, which knows the settings from its environment as the first one did."""
    settings = Settings()
    configure_logging(settings.log_level)
    run_server(settings, started.set, listening)


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
