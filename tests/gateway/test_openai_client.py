"""The official client, which knows nothing of Muniment but the address and a token."""

import asyncio
import json

import openai
import pytest

from tests.fixtures.upstream import COMPLETION, DONE, Stepping, event, replies
from tests.gateway.conftest import PATIENCE
from tests.schema.conftest import token_of

MESSAGES = [{"role": "user", "content": "Who authorises refunds?"}]


@pytest.fixture
async def client(gateway):
    opened = openai.AsyncOpenAI(
        base_url=f"{gateway.url}/v1", api_key=token_of(gateway.world), max_retries=0, timeout=PATIENCE
    )
    yield opened
    await opened.close()


async def test_a_completion(gateway, client):
    answer = await client.chat.completions.create(model="m", messages=MESSAGES)
    assert answer.choices[0].message.content == "Hello."
    [exchange] = gateway.provider.exchanges
    assert json.loads(exchange.body) == {"model": "m", "messages": MESSAGES}
    assert exchange.header(b"authorization") == [b"Bearer key-of-the-provider"]


async def test_a_completion_that_names_its_retrieval(gateway, client, world):
    retrieved = await world.ask("refunds")
    raw = await client.chat.completions.with_raw_response.create(
        model="m",
        messages=MESSAGES,
        extra_headers={"X-Muniment-Context-Request-Id": str(retrieved.contract.request_id)},
    )
    assert raw.headers["x-muniment-context-link"] == "linked"
    assert raw.parse().choices[0].message.content == "Hello."
    [call] = await gateway.noted(str(retrieved.contract.request_id))
    assert str(call.id) == raw.headers["x-muniment-gateway-request-id"]


async def test_a_stream_arrives_piece_by_piece(gateway, client):
    steps = gateway.provider.behaviour = Stepping()
    async with asyncio.timeout(PATIENCE):
        steps.go(event("one"))
        stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        chunks = aiter(stream)
        assert (await anext(chunks)).choices[0].delta.content == "one"
        steps.go(event("two"))
        assert (await anext(chunks)).choices[0].delta.content == "two"
        steps.go(DONE, None)
        assert [chunk async for chunk in chunks] == []


async def test_a_stream_that_is_closed_early_ends_at_the_provider(gateway, client):
    steps = gateway.provider.behaviour = Stepping()
    steps.go(event("one"))
    async with asyncio.timeout(PATIENCE):
        stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        await anext(aiter(stream))
        await stream.close()
        await gateway.provider.exchanges[0].closed.wait()


async def test_embeddings(gateway, client):
    data = [{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}]
    gateway.provider.behaviour = replies({"object": "list", "model": "e", "data": data, "usage": {"total_tokens": 1}})
    answer = await client.embeddings.create(model="e", input=["a"], encoding_format="float")
    assert answer.data[0].embedding == [0.5, -0.25]


async def test_models(gateway, client):
    models = [{"id": name, "object": "model", "created": 1, "owned_by": "x"} for name in ("a", "b")]
    gateway.provider.behaviour = replies({"object": "list", "data": models})
    assert [model.id async for model in client.models.list()] == ["a", "b"]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
    ],
)
async def test_the_provider_s_refusals_are_the_client_s_errors(gateway, client, status, error):
    body = {"error": {"message": "No.", "type": "t", "param": None, "code": "c"}}
    gateway.provider.behaviour = replies(body, status)
    with pytest.raises(error) as raised:
        await client.chat.completions.create(model="m", messages=MESSAGES)
    assert (raised.value.code, raised.value.type) == ("c", "t")


async def test_our_own_refusals_are_the_client_s_errors(gateway, client):
    with pytest.raises(openai.AuthenticationError) as refused:
        await client.with_options(api_key="nonsense").chat.completions.create(model="m", messages=MESSAGES)
    assert refused.value.code == "UNAUTHENTICATED"
    with pytest.raises(openai.BadRequestError) as malformed:
        await client.chat.completions.create(
            model="m", messages=MESSAGES, extra_headers={"X-Muniment-Context-Request-Id": "-"}
        )
    assert malformed.value.code == "invalid_request"


async def test_an_answer_that_breaks_off_is_an_error_of_the_client(gateway, client):
    async def breaks_off(exchange):
        await exchange.read()
        body = json.dumps(COMPLETION).encode()
        await exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (len(body) + 1) + body)
        raise ConnectionResetError

    gateway.provider.behaviour = breaks_off
    with pytest.raises(openai.APIConnectionError):
        await client.chat.completions.create(model="m", messages=MESSAGES)
