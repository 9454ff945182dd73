"""The list of faults, in short, and what is never said while they last. `faults.py` is the long one."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.server import free_port
from tests.resilience.faults import FAULTS, PASSWORD, House, house, suffer

#: What callers may be told while something is broken.
CODES = {"ok", "SEARCH_UNAVAILABLE", "ATTRIBUTION_FAILED", "RATE_LIMITED"}
#: Marks of what must not be seen: in questions and texts, and in settings.
QUESTION, SECRET = "markedquestion", "marked-secret-value"
ASK = "query($q: String!) { retrieve(input: {query: $q, spaceKey: %s}) { attributionId } }"


@pytest.fixture(scope="module")
def there() -> Iterator[House]:
    secret = {
        "MUNIMENT_METRICS_TOKEN": f"{SECRET}-metrics",
        "MUNIMENT_GATEWAY_UPSTREAM_URL": f"http://127.0.0.1:{free_port()}/v1",
        "MUNIMENT_GATEWAY_UPSTREAM_API_KEY": f"{SECRET}-gateway",
        "MUNIMENT_REWRITE_URL": f"http://127.0.0.1:{free_port()}/v1",
        "MUNIMENT_REWRITE_MODEL": "m",
        "MUNIMENT_REWRITE_API_KEY": f"{SECRET}-rewrite",
        "MUNIMENT_LOG_LEVEL": "debug",
    }
    with house(**secret) as made:
        yield made


@pytest.mark.parametrize("name", ["database read-only", "disk full", "table locked, pool empty"])
def test_a_fault_is_told_costs_no_record_and_ends(there: House, name: str) -> None:
    # Long enough that somebody meets it, on a busy machine too.
    outcome = suffer(there, name, 2.0)
    assert set(outcome.told) <= CODES
    assert outcome.write in CODES
    assert (outcome.lost, outcome.verdict) == (0, "VALID")
    if name in {"database read-only", "disk full"}:
        assert outcome.told["ATTRIBUTION_FAILED"]
    if name == "database read-only":
        assert outcome.write == "SEARCH_UNAVAILABLE"


def test_every_fault_of_the_list_is_a_function() -> None:
    assert all(callable(fault) for fault in FAULTS.values())


def _post(there: House, path: str, body: bytes, **headers: str) -> str:
    """The whole answer as text, headers too."""
    request = urllib.request.Request(f"{there.server.url}{path}", data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return f"{answer.headers}{answer.read().decode()}"
    except urllib.error.HTTPError as error:
        return f"{error.headers}{error.read().decode()}"


def test_no_secret_and_no_question_is_ever_seen(there: House) -> None:
    """After all that failed above, and with all that fails here: in no line of the log, no error, no metric, no
    argument of a process."""
    token = there.server.token
    authorised = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    texts: list[str] = []

    def ask(query: str, **variables: object) -> None:
        texts.append(
            _post(there, "/graphql", json.dumps({"query": query, "variables": variables}).encode(), **authorised)
        )

    def all_kinds() -> None:
        ask(ASK % '"muniment"', q=f"{QUESTION} of refunds")
        ask(ASK % '"nowhere"', q=QUESTION)
        ask(ASK % '"muniment"', q=f"{QUESTION}\x00")
        ask('mutation($t: String!) { remember(input: {text: $t, subjectId: "x"}) { id } }', t=QUESTION)
        texts.append(_post(there, "/graphql", b'{"query": "' + QUESTION.encode(), **authorised))
        for credential in (f"Bearer {SECRET}", f"Bearer {token[:-4]}xxxx", f"Basic {SECRET}"):
            texts.append(_post(there, "/graphql", b"{}", **{**authorised, "Authorization": credential}))
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": QUESTION}]}).encode()
        texts.append(_post(there, "/v1/chat/completions", body, **authorised))
        bad = {**authorised, "X-Muniment-Context-Request-Id": f"{SECRET} {QUESTION}"}
        texts.append(_post(there, "/v1/chat/completions", body, **bad))
        texts.append(_post(there, f"/{QUESTION}?{SECRET}", b"", **authorised))

    all_kinds()
    with FAULTS["database read-only"](there, 0):
        all_kinds()
    there.server.run("status")
    request = urllib.request.Request(
        f"{there.server.url}/metrics", headers={"Authorization": f"Bearer {SECRET}-metrics"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        metrics = answer.read().decode()
    assert "muniment_errors_total{" in metrics

    seen = {"metrics": metrics, "log": there.server.log, "answers": "\n".join(texts)}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                seen[f"arguments of {entry.name}"] = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
    assert "graphql.failed" not in seen["log"], "nothing of this is an internal error"
    for place, text in seen.items():
        for mark in (QUESTION, SECRET, PASSWORD, token):
            assert mark not in text, (mark, place)
    for line in there.server.log.splitlines():
        if line.startswith("{"):
            json.loads(line)


def test_every_answer_has_the_headers_that_keep_browsers_strict(there: House) -> None:
    wanted = ("content-security-policy", "x-content-type-options: nosniff", "referrer-policy", "x-frame-options: deny")
    for path in (
        "/graphql",
        "/nowhere",
        "/v1/chat/completions",
        "/v1/nowhere",
        "/healthz",
        "/",
        "/metrics",
        "/assets/x",
    ):
        answer = _post(there, path, b"{}").lower()
        for header in wanted:
            assert header in answer, (path, header)
        assert "server: uvicorn" not in answer
