"""`/metrics` for Prometheus: how much, how long, how full. No label holds anything that a caller chose, and none a
tenant."""

import asyncio
import os
import secrets
from time import perf_counter
from typing import Final

import structlog
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.evidence.watching import Watch
from app.storage.engine import Database
from app.storage.queue import backlog

log = structlog.get_logger()

PATH: Final = "/metrics"
#: Set by a server of several processes before they start: each writes its figures there, and any of them tells all.
SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"
#: Seconds between two looks at what is a level and not a count.
PERIOD: Final = 1.0
#: Seconds that the database may take for the figures that only it knows.
PATIENCE: Final = 2.0

_ROUTES: Final = frozenset(
    {
        "/",
        "/graphql",
        "/healthz",
        "/readyz",
        "/metrics",
        "/.well-known/muniment-keys.json",
        "/v1/chat/completions",
        "/v1/embeddings",
        "/v1/models",
    }
)
_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "POST"})
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

requests = Counter("muniment_http_requests_total", "Answers, by route and status.", ["route", "method", "status"])
seconds = Histogram("muniment_http_request_seconds", "Time to the end of an answer.", ["route"], buckets=_SECONDS)
open_requests = Gauge("muniment_http_open_requests", "Requests under way.", multiprocess_mode="livesum")
retrievals = Histogram("muniment_retrieval_seconds", "Time of a retrieval, evidence included.", buckets=_SECONDS)
connections = Gauge("muniment_pool_connections", "Database connections in use.", ["pool"], multiprocess_mode="livesum")
most = Gauge("muniment_pool_size", "Database connections that there may be.", ["pool"], multiprocess_mode="livesum")
waiting = Gauge("muniment_pool_waiting", "Who waits for a connection.", ["pool"], multiprocess_mode="livesum")
subscriptions = Gauge("muniment_subscriptions", "Subscriptions that are open.", multiprocess_mode="livesum")


class Measured:
    """Counts HTTP requests and how long they take."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 499  # as nginx says it: gone before there was an answer
        begun = perf_counter()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        open_requests.inc()
        try:
            await self._app(scope, receive, noted)
        except Exception:
            status = 500
            raise
        finally:
            open_requests.dec()
            route = route_of(scope["path"])
            requests.labels(route, method_of(scope["method"]), str(status)).inc()
            seconds.labels(route).observe(perf_counter() - begun)


def route_of(path: str) -> str:
    """One of a few names, whatever is asked for."""
    if path in _ROUTES:
        return path
    return "/assets" if path.startswith("/assets/") else "other"


def method_of(method: str) -> str:
    return method if method in _METHODS else "other"


async def keep_levels(pools: dict[str, Database], watch: Watch, period: float = PERIOD) -> None:
    """For ever: look how full things are."""
    while True:
        for name, database in pools.items():
            connections.labels(name).set(database.queue.in_use)
            most.labels(name).set(database.queue.size)
            waiting.labels(name).set(database.queue.waiting)
        subscriptions.set(watch.count)
        await asyncio.sleep(period)


async def _metrics(request: Request) -> Response:
    services = request.app.state.services
    token = services.settings.metrics_token
    if not may_read(request, None if token is None else token.get_secret_value()):
        return PlainTextResponse("metrics are read with a token, or from this machine\n", 403)
    return Response(await _figures(services.background), media_type=CONTENT_TYPE_LATEST)


def may_read(request: Request, token: str | None) -> bool:
    """With a token, who has it. Without, who asks from this machine: what a proxy passes on comes from elsewhere."""
    if token is not None:
        given = request.headers.get("authorization", "")
        return secrets.compare_digest(given.encode(), f"Bearer {token}".encode())
    through = any(name == "forwarded" or name.startswith("x-forwarded-") for name in request.headers)
    host = request.client.host if request.client else ""
    return not through and (host == "::1" or host.startswith("127."))


async def _figures(database: Database) -> bytes:
    """Those of every process of this server, and those that the database alone knows."""
    if SHARED in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry = REGISTRY
    asked = _Asked()
    try:
        async with asyncio.timeout(PATIENCE):
            found = await backlog(database)
    except Exception:
        log.warning("metrics.no_database", exc_info=True)
        asked.add("muniment_database_up", "1 when the database answers.", 0)
    else:
        asked.add("muniment_database_up", "1 when the database answers.", 1)
        asked.add("muniment_evidence_queue", "Events that are not chained yet.", found.events)
        asked.add("muniment_evidence_queue_seconds", "Age of the oldest of them.", found.seconds)
        asked.add("muniment_embedding_queue", "Chunks that wait for an embedding.", found.chunks)
    return generate_latest(registry) + generate_latest(asked.registry)


class _Asked(Collector):
    """Figures of one moment, of all processes: a gauge would be one process's own."""

    def __init__(self) -> None:
        self._families: list[GaugeMetricFamily] = []
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def add(self, name: str, text: str, value: float) -> None:
        self._families.append(GaugeMetricFamily(name, text, value))

    def collect(self) -> list[GaugeMetricFamily]:
        return self._families


def metrics_routes() -> list[BaseRoute]:
    return [Route(PATH, _metrics)]
