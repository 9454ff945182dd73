"""`/metrics`: who may read it, what stands in it, and that no caller can make it grow."""

from dataclasses import replace

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr
from starlette.requests import Request

from app.server.metrics import may_read
from schema.asgi import create_app
from tests.schema.conftest import token_of


def client(services) -> httpx.AsyncClient:
    application = create_app()
    application.state.services = services
    return httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://test")


def samples(page: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


async def test_what_happened_is_counted(world):
    async with client(world.parts) as http:
        before = samples((await http.get("/metrics")).text)
        headers = {"Authorization": f"Bearer {token_of(world)}"}
        for query in ('{ retrieve(input: {query: "refunds", spaceKey: "project"}) { requestId } }', "{ nonsense }"):
            await http.post("/graphql", json={"query": query}, headers=headers)
        after = samples((await http.get("/metrics")).text)

    def grown(name: str, **labels: str) -> float:
        key = (name, tuple(sorted(labels.items())))
        return after.get(key, 0.0) - before.get(key, 0.0)

    assert grown("muniment_http_requests_total", route="/graphql", method="POST", status="200") == 2
    assert grown("muniment_http_request_seconds_count", route="/graphql") == 2
    assert grown("muniment_retrieval_seconds_count") == 1
    assert grown("muniment_errors_total", code="BAD_USER_INPUT") == 1
    assert after["muniment_database_up", ()] == 1
    assert after["muniment_evidence_queue", ()] >= 1
    assert after["muniment_evidence_queue_seconds", ()] >= 0


async def test_no_caller_makes_it_grow(world):
    async with client(world.parts) as http:
        await http.request("PURGE", "/warm")
        before = samples((await http.get("/metrics")).text)
        for number in range(50):
            await http.request(f"M{number}", f"/nowhere/{number}?secret={number}")
        after = samples((await http.get("/metrics")).text)
    assert set(after) == set(before)
    assert not any(str(world.organisation) in str(key) for key in after)


async def test_the_database_is_down(world):
    class Gone:
        def across(self):
            raise ConnectionError("no")

    async with client(replace(world.parts, background=Gone())) as http:
        answer = await http.get("/metrics")
    assert answer.status_code == 200
    assert samples(answer.text)["muniment_database_up", ()] == 0


async def test_a_token_is_asked_for_where_one_is_set(world):
    settings = world.parts.settings.model_copy(update={"metrics_token": SecretStr("the-token")})
    async with client(replace(world.parts, settings=settings)) as http:
        statuses = [
            (await http.get("/metrics", headers=headers)).status_code
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer the-token"})
        ]
    assert statuses == [403, 403, 200]


@pytest.mark.parametrize(
    ("host", "headers", "may"),
    [
        ("127.0.0.1", [], True),
        ("127.8.8.8", [], True),
        ("::1", [], True),
        ("10.0.0.1", [], False),
        ("127.0.0.1", [(b"x-forwarded-for", b"10.0.0.1")], False),
        ("127.0.0.1", [(b"forwarded", b"for=10.0.0.1")], False),
    ],
)
def test_without_a_token_only_this_machine_reads(host, headers, may):
    request = Request({"type": "http", "headers": headers, "client": (host, 1)})
    assert may_read(request, None) is may
