"""Traces go to an OTLP collector when the standard variables ask for it, and hold nothing of what was asked."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from structlog.testing import capture_logs

from app.server import tracing
from app.server.tracing import Tracing, wanted
from schema.asgi import create_app
from tests.schema.conftest import token_of


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_a_request_and_its_retrieval(world, monkeypatch):
    with collector() as (url, bodies):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        application = create_app()
        application.state.services = world.parts
        application.state.tracing = made = Tracing.from_environment()
        async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://test") as http:
            query = '{ retrieve(input: {query: "marked question", spaceKey: "project"}) { requestId } }'
            parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            headers = {"Authorization": f"Bearer {token_of(world)}", "traceparent": parent}
            answer = await http.post("/graphql?marked=1", json={"query": query}, headers=headers)
            request_id = answer.json()["data"]["retrieve"]["requestId"]
            await http.request("MARKED", "/marked")
        await asyncio.to_thread(made.close)
    spans = []
    for body in bodies:
        assert b"marked" not in body.lower()
        assert str(world.organisation).encode() not in body
        sent = ExportTraceServiceRequest.FromString(body)
        (resource,) = sent.resource_spans
        assert {item.key: item.value.string_value for item in resource.resource.attributes}[
            "service.name"
        ] == "muniment"
        spans += [span for scope in resource.scope_spans for span in scope.spans]
    by_name = {span.name: span for span in spans}
    assert set(by_name) == {"POST /graphql", "retrieve", "other other"}
    request, retrieval = by_name["POST /graphql"], by_name["retrieve"]
    assert request.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert request.parent_span_id.hex() == "b7ad6b7169203331"
    assert retrieval.parent_span_id == request.span_id
    noted = {item.key: item.value for item in retrieval.attributes}
    assert noted["muniment.request_id"].string_value == request_id
    assert noted["muniment.stage.total"].double_value > 0


@pytest.mark.parametrize(
    ("environment", "traced"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, False),
    ],
)
def test_who_asks_for_traces(environment, traced):
    assert wanted(environment) is traced


async def test_without_the_packages_it_says_so_and_works(world, monkeypatch):
    monkeypatch.setattr(tracing, "find_spec", lambda name: None)
    with capture_logs() as logs:
        made = Tracing.from_environment({"OTEL_TRACES_EXPORTER": "otlp"})
    assert [entry["event"] for entry in logs] == ["tracing.not_installed"]
    with made.span("anything") as span:
        span.note(count=1)
    made.close()
