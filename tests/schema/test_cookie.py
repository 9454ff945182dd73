"""The cookie: for pages of this server, and of no use to any other site (CASES 37)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.schema.conftest import Api, connect, token_of
from tests.schema.test_api_keys import create

ME = "{ me { externalId } }"
OURS = {"Origin": "http://test"}


def cookie(api: Api) -> dict[str, str]:
    return {"Cookie": f"theme=dark; token={token_of(api.world)}"}


async def asked(api: Api, headers: Mapping[str, str], query: str = ME) -> httpx.Response:
    return await api.http.post("/graphql", json={"query": query}, headers=dict(headers))


async def code(api: Api, headers: Mapping[str, str]) -> str:
    answer: dict[str, Any] = (await asked(api, headers)).json()
    return answer["errors"][0]["extensions"]["code"] if "errors" in answer else answer["data"]["me"]["externalId"]


@pytest.mark.parametrize(
    "signs",
    [
        {"Origin": "http://test"},
        {"Origin": "https://test"},
        {"Origin": "http://TEST"},
        {"Origin": "http://test", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "same-origin"},
        {"X-Muniment-Csrf": "1"},
    ],
    ids=str,
)
async def test_a_page_of_this_server(api: Api, signs: dict[str, str]) -> None:
    assert await code(api, {**cookie(api), **signs}) == "tester"


@pytest.mark.parametrize(
    "signs",
    [
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://test.evil.example"},
        {"Origin": "http://test:81"},
        {"Origin": "http://eviltest"},
        {"Origin": "http://test@evil.example"},
        {"Origin": "http://evil.example/http://test"},
        {"Origin": "http://[::1"},
        {"Origin": "file://test"},
        {"Origin": "test"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site", "X-Muniment-Csrf": "1"},
        {"Origin": "https://evil.example", "X-Muniment-Csrf": "1"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "http://test", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://test", "Sec-Fetch-Site": "none"},
        {"X-Muniment-Csrf": ""},
        {"Referer": "http://test/"},
    ],
    ids=str,
)
async def test_another_site(api: Api, signs: dict[str, str]) -> None:
    assert await code(api, {**cookie(api), **signs}) == "FORBIDDEN"


async def test_behind_a_proxy_the_origin_is_set(api: Api) -> None:
    credentials = replace(api.world.parts.credentials, origins=frozenset({"https://muniment.acme.example"}))
    async with connect(replace(api.world.parts, credentials=credentials)) as http:
        behind = Api(api.world, http)
        assert await code(behind, {**cookie(api), "Origin": "https://muniment.acme.example"}) == "tester"
        same = {"Origin": "https://muniment.acme.example", "Sec-Fetch-Site": "same-site"}
        assert await code(behind, {**cookie(api), **same}) == "tester"
        for origin in ("http://muniment.acme.example", "https://x.muniment.acme.example"):
            assert await code(behind, {**cookie(api), "Origin": origin}) == "FORBIDDEN"


async def test_a_key_in_the_cookie(api: Api) -> None:
    key = await create(api)
    assert await code(api, {"Cookie": f"token={key['secret']}", **OURS}) == key["apiKey"]["id"]
    assert await code(api, {"Cookie": f'token="{key["secret"]}"', **OURS}) == key["apiKey"]["id"]


async def test_by_get_it_counts_for_nothing(api: Api) -> None:
    """Neither for a query, `retrieve` among them, nor for a mutation, which no GET carries."""
    headers = {**cookie(api), **OURS, "Sec-Fetch-Site": "same-origin", "X-Muniment-Csrf": "1"}
    for query in (ME, '{ retrieve(input: {query: "x"}) { attributionId } }'):
        answer = await api.http.get("/graphql", params={"query": query}, headers=headers)
        assert answer.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    answer = await api.http.get("/graphql", params={"query": "mutation { setActiveSpace { id } }"}, headers=headers)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded", b"query=%7Bme%7Bid%7D%7D"),
        ("text/plain", b'{"query": "{ me { id } }"}'),
        ("text/plain; charset=application/json", b'{"query": "{ me { id } }"}'),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="operations"\r\n\r\n{}\r\n--x--',
        ),
        ("", b'{"query": "{ me { id } }"}'),
    ],
)
async def test_what_a_form_can_send_is_not_let_in(api: Api, kind: str, body: bytes) -> None:
    """The requests that a browser sends for another site without asking: whatever else they carry."""
    answer = await api.http.post("/graphql", content=body, headers={**cookie(api), **OURS, "Content-Type": kind})
    assert answer.status_code == 415
    assert "data" not in answer.json()


async def test_no_other_site_is_allowed_to_ask(api: Api) -> None:
    """The question that a browser asks before it sends anything else for another site is not answered with a yes."""
    headers = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, x-muniment-csrf",
    }
    answer = await api.http.options("/graphql", headers=headers)
    assert answer.status_code == 405
    for given in (answer, await asked(api, {**cookie(api), "Origin": "https://evil.example"})):
        assert not [name for name in given.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "value",
    ["token=", "token", "token=a; token=b", "Token=x", "tokens=x", "token=a.b.c", "token=\x7f", "=; ;; token=;"],
)
async def test_what_is_no_cookie_of_ours(api: Api, value: str) -> None:
    assert await code(api, {"Cookie": value, **OURS}) == "UNAUTHENTICATED"


async def test_two_of_a_name_are_none(api: Api) -> None:
    """One of them may have been set by a neighbour of this host."""
    good = token_of(api.world)
    for value in (f"token={good}; token=x", f"token=x; token={good}", f"token={good}; token={good}"):
        assert await code(api, {"Cookie": value, **OURS}) == "UNAUTHENTICATED"


async def test_beside_an_authorization_it_is_not_looked_at(api: Api) -> None:
    for given in ("Bearer x", "Basic dDp0", "", "Bearer"):
        assert await code(api, {**cookie(api), **OURS, "Authorization": given}) == "UNAUTHENTICATED"
    bearer = {"Authorization": f"Bearer {token_of(api.world)}"}
    assert await code(api, {"Cookie": "token=x", "Origin": "https://evil.example", **bearer}) == "tester"
