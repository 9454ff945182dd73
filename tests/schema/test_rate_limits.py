"""A4 over the API: the whole request is refused with 429, at the gateway in its own shape; and callers take turns."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from app.domain.limits import Rates
from app.identity.admission import Admission
from app.identity.rates import RateLimiter
from app.identity.strangers import Strangers
from tests.fixtures.store import World
from tests.fixtures.upstream import Provider
from tests.gateway.conftest import running
from tests.schema.conftest import Api, connect, token_of

ME = "{ me { id } }"


@pytest.fixture
async def limited(world: World) -> AsyncIterator[Api]:
    """Six calls of an action a minute, and four of strangers."""
    parts = replace(world.parts, rates=RateLimiter(world.parts.database, Rates(6)), strangers=Strangers(4))
    async with connect(parts) as http:
        yield Api(world, http)


@pytest.mark.parametrize("accept", ["application/json", "application/graphql-response+json"])
async def test_the_whole_request_is_refused_with_429(limited: Api, accept: str) -> None:
    headers = {"Authorization": f"Bearer {token_of(limited.world)}", "Accept": accept}
    for _ in range(6):
        assert (await limited.http.post("/graphql", json={"query": ME}, headers=headers)).status_code == 200
    answer = await limited.http.post("/graphql", json={"query": ME}, headers=headers)
    assert answer.status_code == 429
    assert "data" not in answer.json()
    [error] = answer.json()["errors"]
    told = error["extensions"]
    assert (told["code"], told["retryable"], told["field"]) == ("RATE_LIMITED", True, None)
    assert 0 < told["retryAfterMs"] <= 65_000
    after = 1000 * int(answer.headers["retry-after"])
    assert after - 1000 < told["retryAfterMs"] <= after
    # Each action and each person has a limit of its own.
    assert "errors" not in await limited.ask("{ spaces { edges { cursor } } }")
    assert "errors" not in await limited.ask(ME, token=token_of(limited.world, "somebody"))


async def test_aliases_are_calls_and_count_whole_or_not_at_all(limited: Api) -> None:
    assert "errors" not in await limited.ask("{ a: me { id } b: me { id } ...F } fragment F on Query { c: me { id } }")
    error = await limited.error("{ " + " ".join(f"a{n}: me {{ id }}" for n in range(4)) + " }")
    assert error["extensions"]["code"] == "RATE_LIMITED"
    assert "path" not in error
    assert "errors" not in await limited.ask("{ a: me { id } b: me { id } c: me { id } }")


async def test_what_is_not_valid_does_not_count(limited: Api) -> None:
    for _ in range(20):
        await limited.error("{ me { nope } }")
    assert "errors" not in await limited.ask(ME)


async def test_strangers_are_turned_away_and_nobody_else(limited: Api) -> None:
    for _ in range(4):
        assert (await limited.error(ME, token="nonsense"))["extensions"]["code"] == "UNAUTHENTICATED"
    for token in ("nonsense", ""):
        error = await limited.error(ME, token=token)
        assert error["extensions"]["code"] == "RATE_LIMITED"
        assert error["extensions"]["retryAfterMs"] > 0
    assert "errors" not in await limited.ask(ME)


async def test_calls_of_a_model_count_too(world: World, provider: Provider) -> None:
    limiter, strangers = RateLimiter(world.parts.database, Rates(600, {"chat/completions": 3})), Strangers(2)
    bounded = replace(world, parts=replace(world.parts, rates=limiter, strangers=strangers))
    async with running(bounded, provider) as gateway:
        assert [(await gateway.post()).status_code for _ in range(3)] == [200] * 3
        refused = await gateway.post()
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "RATE_LIMITED")
        assert int(refused.headers["retry-after"]) >= 1
        bad = {"Authorization": "Bearer nonsense"}
        assert [(await gateway.post(**bad)).status_code for _ in range(3)] == [401, 401, 429]


async def test_one_operation_does_not_take_the_pool_from_others(world: World) -> None:
    """Of twenty retrievals of one operation two are at work at once."""
    parts = replace(world.parts, admission=Admission(2, 3))
    at_once = most = 0
    original = parts.retriever.retrieve

    class Counting:
        async def retrieve(self, request: object) -> object:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            try:
                return await original(request)  # type: ignore[arg-type]
            finally:
                at_once -= 1

    async with connect(replace(parts, retriever=Counting())) as http:  # type: ignore[arg-type]
        query = " ".join(f'a{n}: retrieve(input: {{query: "x"}}) {{ attributionId }}' for n in range(20))
        data = await Api(world, http).data(f"{{ {query} }}")
    assert most == 2
    assert len({item["attributionId"] for item in data.values()}) == 20
