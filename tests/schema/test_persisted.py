"""Operations that are known beforehand: named by their SHA-256 in every way that clients do it."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.assembly.services import Services
from app.server.operations import Operations, sha256
from schema.persisted import require_valid
from tests.fixtures.store import World
from tests.schema.conftest import connect, token_of

ME = "query Me { me { externalId } }\n"
SPACES = "query Spaces($n: Int) { spaces(first: $n) { edges { node { keyPath } } } }"
FREE = "{ me { externalId } }"


def apollo(text: str) -> dict[str, Any]:
    return {"persistedQuery": {"version": 1, "sha256Hash": sha256(text)}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "me.graphql").write_text(ME)
    (tmp_path / "spaces.graphql").write_text(SPACES)
    (tmp_path / "notes.txt").write_text("nothing")
    return tmp_path


def client(world: World, operations: Operations) -> httpx.AsyncClient:
    parts: Services = replace(world.parts, operations=operations)
    http = connect(parts)
    http.headers["Authorization"] = f"Bearer {token_of(world)}"
    return http


@pytest.fixture
async def http(world: World, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with client(world, Operations.load(folder)) as opened:
        yield opened


@pytest.fixture
async def strict(world: World, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with client(world, Operations.load(folder, only=True)) as opened:
        yield opened


def code(answer: httpx.Response) -> str:
    [error] = answer.json()["errors"]
    found: str = error["extensions"]["code"]
    return found


@pytest.mark.parametrize("text", [ME, ME.strip()])
async def test_an_operation_is_named_in_every_way(http: httpx.AsyncClient, text: str) -> None:
    requests: list[dict[str, Any]] = [
        {"extensions": apollo(text)},
        {"documentId": sha256(text)},
        {"documentId": f"sha256:{sha256(text)}"},
        {"query": text, "extensions": apollo(text)},
        {"query": None, "documentId": sha256(text)},
        {"query": "", "documentId": sha256(text)},
    ]
    for body in requests:
        answer = await http.post("/graphql", json=body)
        assert answer.json() == {"data": {"me": {"externalId": "tester"}}}, body
    by_address = await http.get("/graphql", params={"extensions": json.dumps(apollo(text))})
    assert by_address.json() == {"data": {"me": {"externalId": "tester"}}}
    by_id = await http.get("/graphql", params={"documentId": sha256(SPACES), "variables": '{"n": 1}'})
    assert len(by_id.json()["data"]["spaces"]["edges"]) == 1


async def test_what_is_not_known_is_told_as_clients_expect_it(http: httpx.AsyncClient) -> None:
    body = {"extensions": apollo(FREE)}
    answer = await http.post("/graphql", json=body)
    assert (answer.status_code, code(answer)) == (200, "PERSISTED_QUERY_NOT_FOUND")
    assert answer.json()["errors"][0]["message"] == "PersistedQueryNotFound"
    newer = await http.post("/graphql", json=body, headers={"Accept": "application/graphql-response+json"})
    assert (newer.status_code, code(newer)) == (400, "PERSISTED_QUERY_NOT_FOUND")
    # The client then sends the text with its id.
    again = await http.post("/graphql", json={"query": FREE, **body})
    assert again.json() == {"data": {"me": {"externalId": "tester"}}}


@pytest.mark.parametrize(
    "body",
    [
        {"query": FREE, "extensions": apollo(ME)},
        {"query": FREE, "documentId": "0" * 64},
        {"extensions": {"persistedQuery": {"version": 2, "sha256Hash": sha256(ME)}}},
        {"extensions": {"persistedQuery": {"sha256Hash": sha256(ME)}}},
        {"extensions": {"persistedQuery": "x"}},
        {"extensions": {"persistedQuery": {"version": 1}}},
        {"documentId": 5},
        {"documentId": ""},
        {"documentId": "x" * 1000},
        {"documentId": {"a": 1}},
    ],
)
async def test_what_does_not_fit_is_refused(http: httpx.AsyncClient, body: dict[str, Any]) -> None:
    answer = await http.post("/graphql", json=body)
    assert answer.status_code == 400
    assert code(answer) == "BAD_USER_INPUT"


async def test_nothing_else_is_served_where_only_they_are(strict: httpx.AsyncClient) -> None:
    for body in ({"query": FREE}, {"query": FREE, "extensions": apollo(FREE)}, {"query": ME + " "}):
        answer = await strict.post("/graphql", json=body)
        assert (answer.status_code, code(answer)) == (400, "BAD_USER_INPUT")
        assert "persisted" in answer.json()["errors"][0]["message"]
    introspection = await strict.get("/graphql", params={"query": "{ __schema { queryType { name } } }"})
    assert code(introspection) == "BAD_USER_INPUT"
    for body in ({"query": ME}, {"query": ME.strip()}, {"extensions": apollo(ME)}):
        answer = await strict.post("/graphql", json=body)
        assert answer.json() == {"data": {"me": {"externalId": "tester"}}}


def test_a_file_of_documents_by_id_is_read(tmp_path: Path) -> None:
    path = tmp_path / "persisted.json"
    path.write_text(json.dumps({"short": ME, f"sha256:{sha256(SPACES)}": SPACES}))
    known = Operations.load(path)
    assert known.document({"documentId": "short"}) == known.document({"documentId": sha256(ME)}) == ME
    assert known.document({"documentId": sha256(SPACES)}) == SPACES
    require_valid(known)


@pytest.mark.parametrize("text", ["[]", '{"a": 1}', "{", '"x"'])
def test_a_file_of_something_else_stops_the_start(tmp_path: Path, text: str) -> None:
    path = tmp_path / "persisted.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"JSON object|Expecting"):
        Operations.load(path)


@pytest.mark.parametrize(
    "text", ["query { nope }", "{", "{ " + " ".join(f"a{n}: me {{ id }}" for n in range(31)) + " }"]
)
def test_an_operation_that_cannot_be_served_stops_the_start(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.graphql").write_text(text)
    with pytest.raises(ValueError, match="operation"):
        require_valid(Operations.load(tmp_path))
