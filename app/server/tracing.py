"""OpenTelemetry traces, where the standard `OTEL_*` variables ask for them and the packages of the group `otel` are
installed. A span says what was done and how long it took; nothing of what was asked or answered."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.server.metrics import method_of, route_of

log = structlog.get_logger()

NAME: Final = "muniment"
#: Milliseconds that the last spans may take to leave when the server stops.
LAST_MS: Final = 2_000
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def wanted(environment: Mapping[str, str]) -> bool:
    """https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/"""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporter = environment.get("OTEL_TRACES_EXPORTER", "")
    return exporter == "otlp" or (exporter == "" and any(environment.get(name) for name in _ENDPOINTS))


class Tracing:
    """Makes spans and sends them. Without a provider it does nothing."""

    def __init__(self, provider: Any = None) -> None:
        self._provider = provider
        self._api: Any = import_module("opentelemetry.trace") if provider else None
        self._tracer = provider.get_tracer(NAME) if provider else None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Tracing":
        """As the variables say. A warning where they ask for what is not installed."""
        if not wanted(environment):
            return cls()
        if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
            log.warning("tracing.not_installed", needs="pip install muniment[otel]")
            return cls()
        sdk, export = import_module("opentelemetry.sdk.trace"), import_module("opentelemetry.sdk.trace.export")
        exporter = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        resources = import_module("opentelemetry.sdk.resources")
        named = {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": NAME}
        provider = sdk.TracerProvider(resource=resources.Resource.create(named))
        provider.add_span_processor(export.BatchSpanProcessor(exporter.OTLPSpanExporter()))
        return cls(provider)

    @contextmanager
    def span(self, name: str, attributes: Mapping[str, Any] | None = None) -> Iterator["Span"]:
        """A span around what is done, below the one that is open."""
        if self._tracer is None:
            yield Span(None)
            return
        with self._tracer.start_as_current_span(
            name, attributes=dict(attributes or {}), record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield Span(span)
            except Exception as error:
                # Its kind alone: the text may be a user's.
                span.set_attribute("error.type", type(error).__qualname__)
                span.set_status(self._api.StatusCode.ERROR)
                raise

    @contextmanager
    def request(self, scope: Scope) -> Iterator["Span"]:
        """The span of an HTTP request, below the caller's own if it names one (W3C Trace Context)."""
        if self._tracer is None:
            yield Span(None)
            return
        propagation = import_module("opentelemetry.trace.propagation.tracecontext")
        parent = propagation.TraceContextTextMapPropagator().extract(dict(Headers(scope=scope)))
        method, route = method_of(scope["method"]), route_of(scope["path"])
        attributes = {"http.request.method": method, "http.route": route, "url.scheme": scope["scheme"]}
        with self._tracer.start_as_current_span(
            f"{method} {route}",
            context=parent,
            kind=self._api.SpanKind.SERVER,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield Span(span)

    def close(self) -> None:
        """Send what is left. Blocks."""
        if self._provider is not None:
            self._provider.force_flush(LAST_MS)
            self._provider.shutdown()


class Span:
    """What may be noted of a span: figures and names of ours."""

    def __init__(self, span: Any) -> None:
        self._span = span

    def note(self, **values: str | float | int | None) -> None:
        if self._span is not None:
            for name, value in values.items():
                if value is not None:
                    self._span.set_attribute(f"muniment.{name}", value)

    def answered(self, status: int) -> None:
        if self._span is not None:
            self._span.set_attribute("http.response.status_code", status)


class Traced:
    """A span for each HTTP request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tracing: Tracing | None = getattr(scope["app"].state, "tracing", None)
        if tracing is None or scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with tracing.request(scope) as span:

            async def noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.answered(message["status"])
                await send(message)

            await self._app(scope, receive, noted)
