"""GraphQL over HTTP, on the real server: what is let in, and how it is answered."""

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from app.server.middleware import HEADERS, MAX_BODY_BYTES
from tests.fixtures.server import LiveServer

RESPONSE_JSON = "application/graphql-response+json"
ME = "{ me { id } }"


@pytest.fixture(scope="module")
def token(live_server: LiveServer) -> str:
    return live_server.token


@pytest.fixture(scope="module")
def http(live_server: LiveServer, token: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=live_server.url, headers={"Authorization": f"Bearer {token}"}, timeout=30) as client:
        yield client


def assert_refused(answer: httpx.Response, status: int) -> None:
    """The shape of every failure, and no `data`: nothing was executed."""
    assert answer.status_code == status
    body = answer.json()
    assert set(body) == {"errors"}
    [error] = body["errors"]
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert set(error["extensions"]) == {"code", "field", "requestId", "retryable"}
    assert "Traceback" not in answer.text


def test_a_query_by_get_with_a_bearer(http: httpx.Client) -> None:
    answer = http.get("/graphql", params={"query": "query Me($n: Int) { spaces(first: $n) { edges { cursor } } }"})
    assert answer.status_code == 200
    assert len(answer.json()["data"]["spaces"]["edges"]) >= 2
    one = http.get(
        "/graphql",
        params={
            "query": "query A($n: Int) { spaces(first: $n) { edges { cursor } } } query B { me { id } }",
            "variables": '{"n": 1}',
            "operationName": "A",
        },
    )
    assert len(one.json()["data"]["spaces"]["edges"]) == 1


def test_a_query_by_get_has_no_other_credential(live_server: LiveServer, token: str) -> None:
    for headers in ({}, {"Cookie": f"token={token}"}, {"Cookie": f"Authorization=Bearer {token}"}):
        answer = httpx.get(f"{live_server.url}/graphql", params={"query": ME, "token": token}, headers=headers)
        assert answer.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


def test_a_mutation_by_get_is_refused(http: httpx.Client) -> None:
    query = 'mutation { linkResponse(attributionId: "x", responseId: "y") { responseId } }'
    for operations in (query, f"query Q {ME} {query.replace('mutation', 'mutation M')}"):
        answer = http.get(
            "/graphql",
            params={"query": operations, "operationName": "M"} if "Q" in operations else {"query": operations},
        )
        assert_refused(answer, 405)
        assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"])
def test_other_methods_are_refused(http: httpx.Client, method: str) -> None:
    answer = http.request(method, "/graphql")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, POST"


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/graphql",
        "application/jsonx",
        "text/plain; charset=application/json",
        "text/plain; application/json",
    ],
)
def test_only_json_is_let_in(http: httpx.Client, content_type: str | None) -> None:
    """Every type that a form on another site can send is refused: no request can be forged across sites."""
    headers = {} if content_type is None else {"Content-Type": content_type}
    assert_refused(http.post("/graphql", content=json.dumps({"query": ME}), headers=headers), 415)


def test_uploads_are_off(http: httpx.Client) -> None:
    answer = http.post(
        "/graphql",
        data={"operations": json.dumps({"query": ME, "variables": {"f": None}}), "map": '{"0": ["variables.f"]}'},
        files={"0": b"x"},
    )
    assert_refused(answer, 415)


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8", "Application/JSON"],
)
def test_json_is_let_in(http: httpx.Client, content_type: str) -> None:
    answer = http.post("/graphql", content=json.dumps({"query": ME}), headers={"Content-Type": content_type})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["data"]["me"]["id"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"no JSON",
        b"1",
        b"null",
        b'"{ me { id } }"',
        b"{}",
        b'{"query": ""}',
        b'{"query": null}',
        b'{"query": 1}',
        b'{"query": ["{ me { id } }"]}',
        b'{"query": "{ me { id } }", "variables": []}',
        b'{"query": "{ me { id } }", "variables": "{}"}',
        b'{"query": "{ me { id } }", "variables": {"a": NaN}}',
        b'{"query": "{ me { id } }", "extensions": 1}',
        b'{"query": "{ me { id } }", "operationName": "Nope"}',
        b'{"query": "{ me { id } }", "variables": {"a": "\\ud800"}}',
        b'{"query": "{ me { id } }", "variables": {"a": "\xff"}}',
        b"\xff\xfe{\x00}\x00",
        b'{"a":' * 50_000,
        b"[" * 100_000,
        b"[]",
        b'[{"query": "{ me { id } }"}]',
        b'[{"query": "{ me { id } }"}, {"query": "{ me { id } }"}]',
        b'{"query": "fragment F on Me { id }"}',
    ],
    ids=lambda body: body[:30].decode("latin-1"),
)
def test_a_body_that_is_no_request_is_refused(http: httpx.Client, body: bytes) -> None:
    assert_refused(http.post("/graphql", content=body, headers={"Content-Type": "application/json"}), 400)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"query": ""}, {"variables": "{}"}, {"query": ME, "variables": "["}, {"query": ME, "variables": "[1]"}],
)
def test_an_address_that_is_no_request_is_refused(http: httpx.Client, parameters: dict[str, str]) -> None:
    assert_refused(http.get("/graphql", params=parameters, headers={"Accept": "text/html"}), 400)


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        (RESPONSE_JSON, RESPONSE_JSON),
        (f"{RESPONSE_JSON}; charset=utf-8, application/json", RESPONSE_JSON),
        (f"application/json, {RESPONSE_JSON}", RESPONSE_JSON),
        (f"application/json, {RESPONSE_JSON};q=0.9", "application/json"),
        (f"{RESPONSE_JSON};q=0", "application/json"),
        (f"{RESPONSE_JSON};q=nonsense", "application/json"),
        ("text/html, application/xhtml+xml", "application/json"),
    ],
)
def test_the_client_chooses_the_media_type(http: httpx.Client, accept: str, media_type: str) -> None:
    """Failures before execution are 400 under the newer one; under plain JSON they stay 200, as the draft asks."""
    unknown, unclosed, ambiguous = "{ nope }", "{", f"query A {ME} query B {ME}"
    without_its_variable = "query ($n: Int!) { spaces(first: $n) { edges { cursor } } }"
    for query in (ME, unknown, unclosed, ambiguous, without_its_variable):
        refused = query != ME
        answer = http.post("/graphql", json={"query": query}, headers={"Accept": accept})
        assert answer.headers["content-type"] == media_type
        assert answer.status_code == (400 if refused and media_type == RESPONSE_JSON else 200)
        assert ("data" in answer.json()) is not refused
    unauthenticated = http.post("/graphql", json={"query": ME}, headers={"Accept": accept, "Authorization": ""})
    assert unauthenticated.status_code == 200
    assert unauthenticated.json()["data"] is None


def _raw(live_server: LiveServer, head: str, body: bytes = b"") -> tuple[int, dict[str, str]]:
    """Status and headers of the answer to exactly these bytes."""
    with socket.create_connection(("127.0.0.1", live_server.port), timeout=20) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode() + body)
        answer = b""
        while b"\r\n\r\n" not in answer and (more := connection.recv(65536)):
            answer += more
    lines = answer.split(b"\r\n\r\n")[0].decode().split("\r\n")
    return int(lines[0].split()[1]), dict(line.lower().split(": ", 1) for line in lines[1:])


def test_a_body_that_says_it_is_huge_is_never_read(live_server: LiveServer) -> None:
    for length in (MAX_BODY_BYTES + 1, 10**15):
        status, headers = _raw(
            live_server,
            f"POST /graphql HTTP/1.1\nHost: x\nContent-Type: application/json\nContent-Length: {length}\n\n",
        )
        assert status == 413
        assert headers["connection"] == "close"
        assert headers["x-content-type-options"] == "nosniff"


def test_a_body_that_turns_out_to_be_huge_is_cut(live_server: LiveServer) -> None:
    chunk = b"%x\r\n%b\r\n" % (MAX_BODY_BYTES + 1, b" " * (MAX_BODY_BYTES + 1))
    head = "POST /graphql HTTP/1.1\nHost: x\nContent-Type: application/json\nTransfer-Encoding: chunked\n\n"
    assert _raw(live_server, head, chunk)[0] == 413


def test_the_greatest_body_is_let_in(http: httpx.Client) -> None:
    body = json.dumps({"query": ME}).ljust(MAX_BODY_BYTES)
    headers = {"Content-Type": "application/json"}
    assert http.post("/graphql", content=body, headers=headers).json()["data"]["me"]
    assert_refused(http.post("/graphql", content=body + " ", headers=headers), 413)


@pytest.mark.parametrize("path", ["/nope", "/graphql/", "/graphql/x", "/GRAPHQL", "/healthz/x", "/.env", "/assets/"])
def test_an_unknown_path_is_not_found(http: httpx.Client, path: str) -> None:
    assert http.get(path).status_code in {404, 307}
    assert http.get(path, follow_redirects=True).status_code in {404, 400}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/nope"),
        ("POST", "/healthz"),
        ("GET", "/graphql"),
        ("POST", "/graphql"),
        ("DELETE", "/graphql"),
    ],
)
def test_every_answer_keeps_browsers_strict(http: httpx.Client, method: str, path: str) -> None:
    answer = http.request(method, path)
    for name in HEADERS:
        assert len(answer.headers.get_list(name)) == 1, name
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers
    if path != "/":
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert answer.headers["cache-control"] == "no-store"


def test_another_site_gets_no_leave(http: httpx.Client) -> None:
    answer = http.options(
        "/graphql",
        headers={
            "Origin": "https://elsewhere.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        },
    )
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_says_only_that(live_server: LiveServer, path: str) -> None:
    answer = httpx.get(f"{live_server.url}{path}")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_introspection_works(http: httpx.Client) -> None:
    query = """{ __schema { queryType { name } mutationType { name } types { name kind description
        fields(includeDeprecated: true) { name args { name type { ...T } } type { ...T } }
        inputFields { name type { ...T } } enumValues(includeDeprecated: true) { name description } } } }
        fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }"""
    body: dict[str, Any] = http.post("/graphql", json={"query": query}).json()
    types = {item["name"]: item for item in body["data"]["__schema"]["types"]}
    assert {"retrieve", "attribution", "verifyChain", "status"} <= {field["name"] for field in types["Query"]["fields"]}
    assert {value["name"] for value in types["ErrorCode"]["enumValues"]} >= {"UNAUTHENTICATED", "INTERNAL"}


def test_what_the_address_bar_can_hold_is_decoded(http: httpx.Client) -> None:
    query = urlencode({"query": '{ retrieve(input: {query: "日本 & café"}) { query } }'})
    assert http.get(f"/graphql?{query}").json()["data"]["retrieve"]["query"] == "日本 & café"
    unreadable = http.get("/graphql?query=%ff%fe").json()
    assert unreadable["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"
