"""What an endpoint is sent, and what may come of it: an answer in time and bounds, or one word that says why not."""

import asyncio
import gzip
import json
from contextlib import asynccontextmanager

import pytest
from pydantic import SecretStr

from app.domain.errors import MunimentError
from app.providers.endpoint import Endpoint, EndpointError
from tests.fixtures.endpoint import answers, breaks_off, cuts, dribbles, floods, hangs, local_endpoint

SHORT = 0.05
ENOUGH = 30.0
KEY = "key-of-the-endpoint"


@asynccontextmanager
async def client(url, locality="in_deployment", **options):
    opened = Endpoint(url, locality, **options)
    try:
        yield opened
    finally:
        await opened.close()


async def reason(endpoint, seconds=ENOUGH, **options):
    """The word that a call ends in."""
    async with client(endpoint.url, **options) as opened:
        with pytest.raises(EndpointError) as failed:
            await opened.post("call", {}, seconds)
    return failed.value.reason


async def test_it_sends_json_with_its_key_and_nothing_else(endpoint):
    endpoint.does(answers({"fine": [1, 2.5, None]}))
    async with client(endpoint.url, api_key=SecretStr(KEY)) as opened:
        assert await opened.post("some/call", {"a": "ü", "b": [1]}, ENOUGH) == {"fine": [1, 2.5, None]}
    (call,) = endpoint.calls
    assert (call.method, call.path) == ("POST", "/v1/some/call")
    assert call.body == b'{"a":"\\u00fc","b":[1]}'
    assert set(call.headers) == {
        "host", "accept", "accept-encoding", "connection", "user-agent", "content-type", "authorization",
        "content-length",
    }  # fmt: skip
    assert call.headers["authorization"] == f"Bearer {KEY}"
    assert call.headers["accept-encoding"] == "identity"


async def test_without_a_key_none_is_sent(endpoint):
    endpoint.does(answers({}))
    async with client(endpoint.url + "/") as opened:
        await opened.post("call", {}, ENOUGH)
    assert "authorization" not in endpoint.calls[0].headers
    assert endpoint.calls[0].path == "/v1/call"


async def test_the_key_is_in_no_text_of_the_client(endpoint):
    endpoint.does(answers({}, status=401))
    async with client(endpoint.url, api_key=SecretStr(KEY)) as opened:
        with pytest.raises(EndpointError) as failed:
            await opened.post("call", {}, ENOUGH)
        assert KEY not in f"{opened!r} {opened.__dict__} {failed.value!r} {failed.value.__cause__!r}"


async def test_one_connection_serves_many_calls(endpoint):
    endpoint.does(answers({}))
    async with client(endpoint.url) as opened:
        for _ in range(5):
            await opened.post("call", {}, ENOUGH)
    assert (endpoint.connections, len(endpoint.calls)) == (1, 5)


@pytest.mark.parametrize(
    ("behaviour", "word", "calls"),
    [
        (answers({}, status=400), "http_4xx", 1),
        (answers({}, status=401), "http_4xx", 1),
        (answers({}, status=404), "http_4xx", 1),
        (answers({}, status=422), "http_4xx", 1),
        (answers({}, status=429), "rate_limited", 2),
        (answers({}, status=500), "http_5xx", 2),
        (answers({}, status=503), "http_5xx", 2),
        (answers(b""), "bad_response", 1),
        (answers(b"", status=204), "bad_response", 1),
        (answers(b"<html>"), "bad_response", 1),
        (answers(b"\xff\xfe\x00"), "bad_response", 1),
        (answers(b"{"), "bad_response", 1),
        (answers(b"{} {}"), "bad_response", 1),
        (answers(b'{"a": NaN}'), "bad_response", 1),
        (answers(b'{"a": -Infinity}'), "bad_response", 1),
        (answers(b"[" * 100_000), "bad_response", 1),
        (answers(b"9" * 100_000), "bad_response", 1),
        (answers(b" " * 3_000_000), "bad_response", 1),
        (floods, "bad_response", 1),
        (cuts, "error", 2),
        (breaks_off, "error", 2),
        (answers({}, status=99), "error", 2),
    ],
)
async def test_each_way_to_fail_has_its_word(endpoint, behaviour, word, calls):
    endpoint.does(behaviour)
    assert await reason(endpoint) == word
    assert len(endpoint.calls) == calls


@pytest.mark.parametrize("behaviour", [hangs, dribbles])
async def test_the_time_bounds_the_whole_call(endpoint, behaviour):
    endpoint.does(behaviour)
    assert await reason(endpoint, SHORT) == "timeout"


async def test_without_time_nothing_is_sent(endpoint):
    endpoint.does(answers({}))
    for seconds in (0.0, -1.0):
        assert await reason(endpoint, seconds) == "timeout"
    assert endpoint.connections == 0


async def test_nobody_listens(endpoint):
    async with local_endpoint(answers({})) as gone:
        pass
    assert await reason(gone) == "error"


@pytest.mark.parametrize("bad", [answers({}, status=429), answers({}, status=502), cuts, breaks_off])
async def test_it_asks_once_more(endpoint, bad):
    endpoint.does(bad, answers({"second": True}))
    async with client(endpoint.url) as opened:
        assert await opened.post("call", {"same": 1}, ENOUGH) == {"second": True}
    first, second = endpoint.calls
    assert first.body == second.body


async def test_a_kept_connection_that_the_other_side_has_closed_is_no_failure(endpoint):
    endpoint.does(answers({"n": 1}), cuts, answers({"n": 3}))
    async with client(endpoint.url) as opened:
        assert await opened.post("call", {}, ENOUGH) == {"n": 1}
        assert await opened.post("call", {}, ENOUGH) == {"n": 3}


async def test_it_does_not_wait_longer_than_it_may(endpoint):
    endpoint.does(answers({}, status=429, Retry_After="3600"), answers({}))
    assert await reason(endpoint, 5.0) == "rate_limited"
    assert len(endpoint.calls) == 1


@pytest.mark.parametrize("asked", ["0", "soon", "-5", "1e9", "Fri, 31 Dec 1999 23:59:59 GMT", "9" * 400])
async def test_a_pause_that_cannot_be_read_is_the_usual_one(endpoint, asked):
    endpoint.does(answers({}, status=503, Retry_After=asked), answers({"second": True}))
    async with client(endpoint.url) as opened:
        assert await opened.post("call", {}, ENOUGH) == {"second": True}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_it_goes_nowhere_else(endpoint, status):
    async with local_endpoint(answers({"stolen": True})) as elsewhere:
        endpoint.does(answers({}, status=status, Location=f"{elsewhere.url}/call"))
        assert await reason(endpoint, api_key=SecretStr(KEY)) == "bad_response"
        assert elsewhere.connections == 0
    assert len(endpoint.calls) == 1


async def test_a_compressed_answer_is_not_unfolded(endpoint):
    endpoint.does(answers(gzip.compress(b" " * 50_000_000 + b"{}"), Content_Encoding="gzip"))
    assert await reason(endpoint) == "bad_response"


async def test_nothing_is_remembered_from_one_call_to_the_next(endpoint):
    endpoint.does(answers({}, Set_Cookie="who=somebody; Path=/"))
    async with client(endpoint.url) as opened:
        await opened.post("call", {}, ENOUGH)
        await opened.post("call", {}, ENOUGH)
    assert all("cookie" not in call.headers for call in endpoint.calls)


async def test_a_proxy_of_the_environment_is_no_part_of_the_deployment(endpoint, monkeypatch):
    async with local_endpoint(answers({"proxied": True})) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        endpoint.does(answers({"direct": True}))
        async with client(endpoint.url) as inside:
            assert await inside.post("call", {}, ENOUGH) == {"direct": True}
        assert proxy.connections == 0
        async with client(endpoint.url, "external") as outside:
            assert await outside.post("call", {}, ENOUGH) == {"proxied": True}


async def test_who_gives_up_is_not_held(endpoint):
    endpoint.does(hangs)
    async with client(endpoint.url) as opened:
        waiting = asyncio.create_task(opened.post("call", {}, ENOUGH))
        while not endpoint.calls:
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        endpoint.does(answers({"after": True}))
        assert await opened.post("call", {}, ENOUGH) == {"after": True}


@pytest.mark.parametrize(
    "url",
    ["localhost:80", "ftp://localhost", "http://user:pass@localhost/", "http://localhost/?a=b", "http://999.1.1.1/"],
)
def test_a_url_that_cannot_be_read_is_refused_and_not_repeated(url):
    with pytest.raises(MunimentError) as refused:
        Endpoint(url, "external")
    assert "pass" not in refused.value.message.replace("password", "")


async def test_not_a_number_is_never_sent(endpoint):
    endpoint.does(answers({}))
    async with client(endpoint.url) as opened:
        with pytest.raises(ValueError, match="JSON"):
            await opened.post("call", {"value": float("nan")}, ENOUGH)
    assert json.dumps(endpoint.calls) == "[]"


@pytest.mark.parametrize("key", ["kéy", "a\nX-Other: 1", "a\r", "\x00", "ключ"])
def test_a_key_that_no_header_takes_is_refused_and_not_repeated(key):
    with pytest.raises(MunimentError) as refused:
        Endpoint("http://localhost/", "in_deployment", SecretStr(key))
    assert key not in refused.value.message
    assert refused.value.__cause__ is None
