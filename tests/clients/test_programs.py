"""The programs of the example clients do at a real server what they say."""

import re
import subprocess
import threading

import pytest

from tests.clients.conftest import Client
from tests.fixtures.server import LiveServer

FIND = '{ retrieve(input: {query: "refunds", spaceKey: "handbook"}) { passages { documentId } } }'
CORRECT = "mutation ($id: ID!, $text: String!) { correctDocument(id: $id, text: $text) { id } }"
IMPACT = "query ($id: ID!) { impact(itemId: $id) { edges { node { attribution { id } responses { responseId } } } } }"
QUESTION = "Who authorises refunds?"


@pytest.fixture(scope="module")
def compiled(client: Client) -> Client:
    if client.name == "typescript":
        done = client.do(client.compile)
        assert done.returncode == 0, done.stdout
    return client


def until(program: subprocess.Popen[str], last: str) -> list[str]:
    """The lines up to one, or to the end."""
    lines: list[str] = []
    assert program.stdout is not None
    for line in program.stdout:
        lines.append(line.rstrip("\n"))
        if lines[-1] == last:
            break
    return lines


def test_it_asks_cites_links_and_hears_what_moves(compiled: Client, handbook: LiveServer) -> None:
    document = handbook.ask(FIND, token=handbook.token)["data"]["retrieve"]["passages"][0]["documentId"]
    program = compiled.start(handbook, QUESTION, "handbook", token=handbook.token)
    watchdog = threading.Timer(60, program.kill)
    watchdog.start()
    try:
        said = until(program, "following")
        assert said[0] == "[1] Refunds (refunds.md), Refunds"
        assert re.fullmatch(r" {4}holds from 2\d{3}-.* to further notice, score \d\.\d{3}", said[1])
        assert "Refunds are authorised by" in said[2]
        assert any(line.startswith("SCOPE_APPLIED: ") for line in said)
        [link] = [line for line in said if " used " in line]
        assert said[-1] == "following", said

        text = f"# Refunds\n\nRefunds are authorised by whoever wrote the {compiled.name} client.\n"
        assert "errors" not in handbook.ask(CORRECT, {"id": document, "text": text}, handbook.token)
        rest = until(program, "")
        assert program.wait(30) == 0, rest
    finally:
        watchdog.cancel()
        program.kill()
    assert [line.split(" at ")[0] for line in rest] == [f"CORRECTED {document}"]

    response, attribution = re.fullmatch(r"(response-\S+) used (\S+), which is (?:queued|chained)", link).groups()  # type: ignore[union-attr]
    edges = handbook.ask(IMPACT, {"id": document}, handbook.token)["data"]["impact"]["edges"]
    linked = {
        edge["node"]["attribution"]["id"]: [item["responseId"] for item in edge["node"]["responses"]] for edge in edges
    }
    assert linked[attribution] == [response]


def test_without_a_question_it_says_how_to_ask(compiled: Client, handbook: LiveServer) -> None:
    said, code = _whole(compiled, handbook, token=handbook.token)
    assert (code, len(said)) == (2, 1)
    assert said[0].startswith("usage: ")


def test_a_refusal_is_told_with_its_code(compiled: Client, handbook: LiveServer) -> None:
    said, code = _whole(compiled, handbook, QUESTION, "nowhere", token=handbook.token)
    assert (code, [line.split(":")[0] for line in said]) == (1, ["SPACE_NOT_FOUND"])
    assert _whole(compiled, handbook, QUESTION, token="nonsense") == (
        ["UNAUTHENTICATED: a valid bearer token is needed"],
        1,
    )


def test_without_a_server_it_says_so(compiled: Client) -> None:
    """Nobody listens there."""
    said, code = _whole(compiled, LiveServer(compiled.folder), QUESTION, token="x")
    assert (code, len(said)) == (1, 1)
    assert said[0].startswith("the server does not answer")


def _whole(client: Client, server: LiveServer, *arguments: str, token: str) -> tuple[list[str], int]:
    program = client.start(server, *arguments, token=token)
    said, _ = program.communicate(timeout=60)
    return said.splitlines(), program.returncode
