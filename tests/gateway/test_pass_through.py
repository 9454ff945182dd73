"""What goes on to the provider and what comes back: the same bytes, at once, and nothing of ours."""

import asyncio
import json
from dataclasses import replace

import httpx
import pytest

from schema.asgi import create_app
from tests.fixtures.upstream import COMPLETION, DONE, STREAM, Stepping, event, head, local_provider, replies
from tests.gateway.conftest import KEY, PATIENCE, listening, running


async def raw(url: str, request: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection of one's own, so that every byte is known."""
    port = int(url.rsplit(":", 1)[1])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    return reader, writer


async def test_the_provider_sees_what_was_sent_and_its_own_key(gateway):
    body = b'{"model": "m",\t"messages": [ ],  "odd": "\\u00e9\xc3\xa9"}\n'
    sent = [
        b"Content-Type: application/json",
        b"User-Agent: Editor/1.0 \xe9",
        b"X-Two: first",
        b"x-two:  second ",
        b"Accept: */*;q=0.1",
        b"OpenAI-Organization: org-1",
    ]
    ours = [
        b"Host: gateway.example",
        b"Authorization: " + gateway.credentials()["Authorization"].encode(),
        b"Cookie: token=secret",
        b"Api-Key: secret",
        b"X-Api-Key: secret",
        b"X-Muniment-Client: editor/1.4.2",
        b"X-Muniment-Context-Request-Id: abc",
        b"X-Muniment-Whatever: secret",
        b"X-Keystone-Metadata: {}",
        b"x-keystone-whatever: secret",
        b"X-Forwarded-For: 10.0.0.1",
        b"Forwarded: for=10.0.0.1",
        b"Connection: close, X-Private",
        b"X-Private: for the next hop",
        b"TE: trailers",
        b"Proxy-Authorization: Basic secret",
        b"Content-Length: %d" % len(body),
    ]
    request = b"\r\n".join([b"POST /v1/chat/completions?api-version=1&q=%20a HTTP/1.1", *sent, *ours, b"", body])
    reader, writer = await raw(gateway.url, request)
    answer = await asyncio.wait_for(reader.read(), PATIENCE)
    writer.close()
    assert answer.startswith(b"HTTP/1.1 200 ")
    [exchange] = gateway.provider.exchanges
    assert exchange.line == b"POST /base/v1/chat/completions?api-version=1&q=%20a HTTP/1.1"
    assert exchange.body == body
    assert sorted(exchange.headers) == sorted(
        [
            (b"Host", f"127.0.0.1:{gateway.provider.port}".encode()),
            (b"content-type", b"application/json"),
            (b"user-agent", b"Editor/1.0 \xe9"),
            (b"x-two", b"first"),
            (b"x-two", b"second"),
            (b"accept", b"*/*;q=0.1"),
            (b"openai-organization", b"org-1"),
            (b"content-length", str(len(body)).encode()),
            (b"authorization", b"Bearer " + KEY.encode()),
        ]
    )


async def test_without_a_key_the_provider_gets_no_credential(world, provider):
    async with running(world, provider) as bare:
        keyless = replace(bare.gateway, upstream=_without_key(bare.gateway.upstream))
        application = create_app()
        application.state.services = replace(world.parts, gateway=keyless)
        async with listening(application) as url, httpx.AsyncClient() as http:
            assert (await http.get(f"{url}/v1/models", headers=bare.credentials())).status_code == 200
    [exchange] = provider.exchanges
    assert exchange.line == b"GET /base/v1/models HTTP/1.1"
    assert exchange.header(b"authorization") == exchange.header(b"cookie") == []


def _without_key(upstream):
    upstream._credentials = []
    return upstream


async def test_status_headers_and_body_come_back(gateway):
    body = bytes(range(256)) * 300
    gateway.provider.behaviour = replies(
        body,
        429,
        Content_Type="application/octet-stream",
        Content_Encoding="gzip",
        Retry_After="7",
        X_Request_Id="req-1",
        X_Ratelimit_Remaining="0",
        Set_Cookie="a=b",
        Strict_Transport_Security="max-age=1",
        Connection="keep-alive, X-Hop",
        X_Hop="1",
        Keep_Alive="timeout=5",
        Server="provider",
        X_Muniment_Context_Link="linked",
        X_Keystone_Gateway_Request_Id="forged",
    )
    async with gateway.http.stream(
        "POST", f"{gateway.url}/v1/embeddings", content=b"{}", headers=gateway.credentials()
    ) as answer:
        assert b"".join([piece async for piece in answer.aiter_raw()]) == body
    assert answer.status_code == 429
    expected = {
        "content-type": "application/octet-stream",
        "content-encoding": "gzip",
        "content-length": str(len(body)),
        "retry-after": "7",
        "x-request-id": "req-1",
        "x-ratelimit-remaining": "0",
    }
    assert {name: answer.headers[name] for name in expected} == expected
    for name in ("set-cookie", "strict-transport-security", "x-hop", "keep-alive", "x-muniment-context-link"):
        assert name not in answer.headers
    assert answer.headers.get_list("server") == ["uvicorn"]
    assert len(answer.headers.get_list("date")) == 1
    assert "x-keystone-gateway-request-id" not in answer.headers
    assert len(answer.headers["x-muniment-gateway-request-id"]) == 36


async def test_a_piece_arrives_before_the_provider_sends_the_next(gateway):
    steps = gateway.provider.behaviour = Stepping()
    steps.go(event("one"))
    async with asyncio.timeout(PATIENCE), gateway.stream() as answer:
        pieces = answer.aiter_raw()
        assert await anext(pieces) == event("one")
        for text in ("two", "three"):
            steps.go(event(text))
            assert await anext(pieces) == event(text)
        steps.go(DONE, None)
        assert b"".join([piece async for piece in pieces]) == DONE
    assert answer.headers["content-type"] == "text/event-stream"


async def test_the_head_goes_on_before_any_of_the_body(gateway):
    steps = gateway.provider.behaviour = Stepping()
    async with asyncio.timeout(PATIENCE), gateway.stream() as answer:
        assert answer.status_code == 200
        steps.go(None)
        assert await answer.aread() == b""


async def test_the_body_goes_up_as_it_comes(gateway):
    """The provider has the first half before the caller has written the second."""
    first = asyncio.Event()
    received = []

    async def behave(exchange):
        async for piece in exchange.pieces():
            received.append(piece)
            first.set()
        await exchange.write(head(Content_Length=2) + b"{}")

    async def halves():
        yield b'{"model": "m", '
        await asyncio.wait_for(first.wait(), PATIENCE)
        yield b'"input": "x"}'

    gateway.provider.behaviour = behave
    answer = await gateway.http.post(f"{gateway.url}/v1/embeddings", content=halves(), headers=gateway.credentials())
    assert answer.json() == {}
    assert b"".join(received) == b'{"model": "m", "input": "x"}'
    assert gateway.provider.exchanges[0].header(b"transfer-encoding") == [b"chunked"]


async def test_a_provider_is_read_no_faster_than_the_caller_reads(gateway):
    """Of an endless answer that nobody reads, only what fits the buffers between is taken."""
    taken, stuck = 0, asyncio.Event()

    async def floods(exchange):
        nonlocal taken
        await exchange.read()
        exchange.writer.write(STREAM)
        while True:
            exchange.writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            try:
                await asyncio.wait_for(exchange.writer.drain(), 0.5)
            except TimeoutError:
                stuck.set()
                await exchange.writer.drain()
            taken += 0x10000

    gateway.provider.behaviour = floods
    async with asyncio.timeout(PATIENCE), gateway.stream() as answer:
        pieces = answer.aiter_raw()
        assert set(await anext(pieces)) == set(b"x")
        await stuck.wait()
        assert taken < 64 * 2**20


async def test_a_caller_who_hangs_up_ends_the_call_at_the_provider(gateway):
    steps = gateway.provider.behaviour = Stepping()
    steps.go(event("one"))
    async with asyncio.timeout(PATIENCE):
        async with gateway.stream() as answer:
            await anext(answer.aiter_raw())
        await gateway.provider.exchanges[0].closed.wait()


async def test_a_caller_who_hangs_up_before_there_is_an_answer(gateway):
    arrived = asyncio.Event()

    async def hangs(exchange):
        await exchange.read()
        arrived.set()
        await exchange.reader.read()
        raise ConnectionResetError

    gateway.provider.behaviour = hangs
    call = asyncio.create_task(gateway.post())
    async with asyncio.timeout(PATIENCE):
        await arrived.wait()
        call.cancel()
        await gateway.provider.exchanges[0].closed.wait()
    await asyncio.gather(call, return_exceptions=True)


async def test_a_caller_who_hangs_up_in_the_middle_of_the_body(gateway):
    """The provider is not left to think that it has the whole."""
    began, whole = asyncio.Event(), asyncio.Event()

    async def behave(exchange):
        async for _ in exchange.pieces():
            began.set()
        whole.set()

    gateway.provider.behaviour = behave
    token = gateway.credentials()["Authorization"].encode()
    _, writer = await raw(
        gateway.url,
        b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nAuthorization: " + token
        + b"\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    )  # fmt: skip
    async with asyncio.timeout(PATIENCE):
        await began.wait()
        writer.close()
        await gateway.provider.exchanges[0].closed.wait()
    assert not whole.is_set()


async def test_a_provider_that_has_heard_enough(gateway):
    """It refuses in the middle of the body, and closes; its word reaches the caller all the same."""

    async def refuses(exchange):
        await anext(exchange.pieces())
        await exchange.write(head(413, Content_Length=2, Connection="close") + b"{}")
        exchange.writer.write_eof()
        while await exchange.reader.read(65536):
            pass
        raise ConnectionResetError

    gateway.provider.behaviour = refuses
    answer = await gateway.post({"model": "m", "input": "x" * 5_000_000}, path="embeddings")
    assert (answer.status_code, answer.json()) == (413, {})


async def test_an_answer_without_a_body(gateway):
    """Its length is that of the answer that the caller has already."""

    async def unchanged(exchange):
        await exchange.read()
        await exchange.write(head(304, Content_Length=100, ETag='"a"'))

    gateway.provider.behaviour = unchanged
    for _ in range(2):
        headers = gateway.credentials() | {"If-None-Match": '"a"'}
        answer = await gateway.http.get(f"{gateway.url}/v1/models", headers=headers)
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", '"a"')


async def test_one_connection_serves_many_calls(gateway):
    for _ in range(5):
        assert (await gateway.post()).json() == COMPLETION
    assert (gateway.provider.connections, len(gateway.provider.exchanges)) == (1, 5)


async def test_a_fault_of_ours_is_told_in_the_same_shape(gateway, monkeypatch):
    monkeypatch.setattr("app.gateway.endpoint.to_provider", lambda headers: 1 / 0)
    assert await error_of(await gateway.post()) == (500, "INTERNAL")


@pytest.mark.parametrize(
    "start",
    [STREAM + b"5\r\nhello\r\n", STREAM + b"5\r\nhel", head(Content_Length=100) + b"hello"],
    ids=["between chunks", "within a chunk", "short of its length"],
)
async def test_an_answer_that_breaks_off_is_not_ended_cleanly(gateway, start):
    async def breaks_off(exchange):
        await exchange.read()
        await exchange.write(start)
        raise ConnectionResetError

    gateway.provider.behaviour = breaks_off
    async with gateway.stream() as answer:
        assert answer.status_code == 200
        pieces = answer.aiter_raw()
        assert await anext(pieces) in {b"hello", b"hel"}
        with pytest.raises(httpx.RemoteProtocolError):
            await anext(pieces)


async def test_twenty_streams_at_once(gateway):
    async def behave(exchange):
        name = json.loads(await exchange.read())["model"]
        await exchange.write(STREAM)
        for number in range(20):
            await exchange.chunk(event(f"{name} {number}"))
            await asyncio.sleep(0.002)
        await exchange.chunk(DONE)
        await exchange.write(b"0\r\n\r\n")

    gateway.provider.behaviour = behave

    async def call(name: str) -> bytes:
        body = {"model": name, "stream": True}
        answer = await gateway.http.post(f"{gateway.url}/v1/chat/completions", json=body, headers=gateway.credentials())
        return answer.content

    names = [f"model-{number}" for number in range(20)]
    answers = await asyncio.gather(*map(call, names))
    for name, answer in zip(names, answers, strict=True):
        assert answer == b"".join(event(f"{name} {number}") for number in range(20)) + DONE


# Refused, or nothing came of it


async def error_of(answer: httpx.Response) -> tuple[int, str]:
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    assert error["type"]
    return answer.status_code, error["code"]


async def test_who_is_not_believed_is_refused(gateway):
    for headers in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": f"Bearer {KEY}"}):
        answer = await gateway.http.post(f"{gateway.url}/v1/chat/completions", json={}, headers=headers)
        assert await error_of(answer) == (401, "UNAUTHENTICATED")
        assert answer.headers["www-authenticate"] == "Bearer"
    assert gateway.provider.connections == 0


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Muniment-Context-Request-Id": value}
        for value in ("", "-a", ".a", ":a", "_a", "a b", "a/b", "ä", "a" * 129, "a\tb", "a,b")
    ]
    + [
        {"X-Muniment-Context-Request-Id": "a", "X-Keystone-Context-Request-Id": "b"},
        {"X-Muniment-Context-Request-Id": "a", "X-Muniment-Metadata": '{"context_request_id": "b"}'},
        {"X-Muniment-Metadata": "{}", "X-Keystone-Metadata": '{"a": 1}'},
        {"X-Muniment-Client": "a/1", "X-Keystone-Client": "a/2"},
    ]
    + [
        {"X-Keystone-Metadata": value}
        for value in (
            "", "x", "[]", "null", '"a"', "{", "{} {}", '{"a": NaN}', "[" * 5000, '{"context_request_id": 5}',
            '{"context_request_id": "-"}', '{"context_request_id": ""}',
            '{"context_request_id": "a", "context_request_id": "b"}',
        )
    ],
)  # fmt: skip
async def test_what_is_malformed_or_contradicts_itself_is_refused(gateway, headers):
    encoded = [(name, value.encode("latin-1")) for name, value in headers.items()]
    answer = await gateway.http.post(
        f"{gateway.url}/v1/chat/completions", json={}, headers=[*gateway.credentials().items(), *encoded]
    )
    assert await error_of(answer) == (400, "invalid_request")
    assert gateway.provider.connections == 0


async def test_other_paths_and_methods(gateway):
    get, post = gateway.http.get, gateway.http.post
    assert await error_of(await get(f"{gateway.url}/v1/chat/completions")) == (405, "method_not_allowed")
    assert (await post(f"{gateway.url}/v1/models")).headers["allow"] == "GET"
    for path in ("", "completions", "models/x", "chat/completions/", "../graphql", "%2e%2e/graphql"):
        answer = await post(f"{gateway.url}/v1/{path}", headers=gateway.credentials())
        assert answer.status_code in {404, 405, 415, 400}
    assert gateway.provider.connections == 0


async def test_without_a_provider_the_gateway_says_so(world):
    application = create_app()
    application.state.services = world.parts
    async with listening(application) as url, httpx.AsyncClient() as http:
        for answer in (await http.get(f"{url}/v1/models"), await http.post(f"{url}/v1/chat/completions", json={})):
            assert await error_of(answer) == (404, "gateway_off")
            assert "MUNIMENT_GATEWAY_UPSTREAM_URL" in answer.json()["error"]["message"]


async def test_a_redirect_is_not_followed(gateway):
    async with local_provider(replies({})) as elsewhere:
        for status in (301, 302, 307, 308):
            gateway.provider.behaviour = replies(b"", status, Location=f"{elsewhere.url}/chat/completions")
            answer = await gateway.post()
            assert await error_of(answer) == (502, "upstream_redirect")
            assert "location" not in answer.headers
        assert elsewhere.connections == 0


async def test_a_provider_that_is_away(world):
    async with local_provider(replies({})) as gone:
        pass
    async with running(world, gone) as opened:
        assert await error_of(await opened.post()) == (502, "upstream_unreachable")


async def test_a_provider_that_closes_before_a_word(gateway):
    async def cuts(exchange):
        await exchange.read()
        raise ConnectionResetError

    gateway.provider.behaviour = cuts
    assert await error_of(await gateway.post()) == (502, "upstream_unreachable")


async def test_a_provider_that_is_silent(world, provider):
    async def silent(exchange):
        await exchange.reader.read()

    async def falls_silent(exchange):
        await exchange.read()
        await exchange.write(STREAM + b"5\r\nhello\r\n")
        await exchange.reader.read()

    async with running(world, provider, gateway_idle_timeout_ms=200) as opened:
        provider.behaviour = silent
        assert await error_of(await opened.post()) == (504, "upstream_timeout")
        provider.behaviour = falls_silent
        with pytest.raises(httpx.RemoteProtocolError):
            await opened.post()


@pytest.mark.parametrize("declared", [True, False])
async def test_bodies_have_a_bound(world, provider, declared):
    async def pieces(count):
        for _ in range(count):
            yield b" " * 1000

    async with running(world, provider, gateway_max_body_bytes=10_000) as opened:
        for count, status in ((10, 200), (11, 413)):
            content = b" " * 1000 * count if declared else pieces(count)
            answer = await opened.http.post(
                f"{opened.url}/v1/embeddings", content=content, headers=opened.credentials()
            )
            assert answer.status_code == status
    assert (await error_of(answer))[1] == "request_too_large"


async def test_a_call_may_be_larger_than_a_question(gateway):
    body = {"model": "m", "messages": [{"role": "user", "content": "x" * 3_000_000}]}
    assert (await gateway.post(body)).json() == COMPLETION
    assert json.loads(gateway.provider.exchanges[0].body) == body


@pytest.mark.parametrize(
    ("base", "path"),
    [("", "/v1/models"), ("/", "/v1/models"), ("/v1", "/v1/models"), ("/v1/", "/v1/models"), ("/a/b", "/a/b/models")],
)
async def test_where_the_provider_begins(world, provider, base, path):
    bare = provider.url.removesuffix("/base/v1")
    async with running(world, provider, gateway_upstream_url=bare + base) as opened:
        answer = await opened.http.get(f"{opened.url}/v1/models?a=b", headers=opened.credentials())
    assert answer.status_code == 200
    assert provider.exchanges[0].line == f"GET {path}?a=b HTTP/1.1".encode()
