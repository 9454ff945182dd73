"""Kill the server, its PostgreSQL, or both, under load; every answer that a client received must have its record.

`python -m tests.resilience.campaign --rounds 20` prints the figures, and ends with 1 when something was lost.
"""

import argparse
import hashlib
import http.client
import json
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fixtures.server import LiveServer
from tests.resilience.processes import of_home, postmaster, wait

VICTIMS = ("server", "postgres", "both")
RETRIEVE = """query ($q: String!, $k: Int) { retrieve(input: {query: $q, spaceKey: "muniment", topK: $k}) {
    attributionId requestId passages { text contentSha256 } } }"""
LINK = "mutation ($id: ID!, $r: String!) { linkResponse(attributionId: $id, responseId: $r) { responseId } }"
RECORD = """query ($id: ID!, $request: ID!) {
    attribution(id: $id) { id requestId state sequence record }
    attributions(requestId: $request, first: 50) { edges { node { category state sequence record } } } }"""
VERIFY = "{ verifyChain { verdict firstBadSequence checkedRecords reason } }"
TOPICS = ("refunds", "invoices", "returns", "shipping", "warranty", "complaints", "discounts", "deliveries")


@dataclass(frozen=True)
class Received:
    """An answer that reached a client whole."""

    attribution_id: str
    request_id: str
    hashes: tuple[str, ...]
    linked: tuple[str, ...]


@dataclass
class Figures:
    rounds: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    passages: int = 0
    links: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    broken_off: int = 0
    restarts: list[float] = field(default_factory=list)
    verdict: str = ""
    checked_records: int = 0
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        named = ", ".join(f"{name} {count}" for name, count in sorted(self.kills.items()))
        refused = ", ".join(f"{code} {count}" for code, count in sorted(self.refusals.items())) or "none"
        return [
            f"rounds {self.rounds}: killed {named}",
            f"answers received {self.answers} with {self.passages} passages, responses linked {self.links}",
            f"requests refused: {refused}; broken off: {self.broken_off}",
            f"restarts: median {statistics.median(self.restarts):.1f} s, longest {max(self.restarts):.1f} s",
            f"chain {self.verdict}, {self.checked_records} records checked",
            f"problems: {len(self.problems)}",
            *self.problems[:20],
        ]


class Client:
    """One connection, opened anew whenever it broke."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}

    def ask(self, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The whole body of an answer; `OSError`, `HTTPException` or `ValueError` when it did not come whole."""
        try:
            body = json.dumps({"query": query, "variables": dict(variables)})
            self._connection.request("POST", "/graphql", body, self._headers)
            answer: dict[str, Any] = json.loads(self._connection.getresponse().read())
        except BaseException:
            self._connection.close()
            raise
        return answer

    def close(self) -> None:
        self._connection.close()


class Load:
    """Client threads that ask and link until they are stopped."""

    def __init__(self, port: int, token: str, threads: int, seed: int) -> None:
        self.received: list[Received] = []
        self.refusals: Counter[str] = Counter()
        self.broken_off = 0
        self._port, self._token = port, token
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(seed + number,)) for number in range(threads)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def outcomes(self) -> int:
        with self._lock:
            return self.broken_off + sum(self.refusals.values())

    def _run(self, seed: int) -> None:
        chance = random.Random(seed)
        client = Client(self._port, self._token)
        while not self._stop.is_set():
            answer = self._ask(client, RETRIEVE, {"q": chance.choice(TOPICS), "k": chance.randint(1, 8)})
            if answer is None:
                continue
            delivered = answer["retrieve"]
            linked = []
            if chance.random() < 0.25:
                response = f"response-{chance.getrandbits(64):x}"
                if self._ask(client, LINK, {"id": delivered["attributionId"], "r": response}) is not None:
                    linked.append(response)
            hashes = tuple(hashlib.sha256(item["text"].encode()).hexdigest() for item in delivered["passages"])
            with self._lock:
                self.received.append(
                    Received(delivered["attributionId"], delivered["requestId"], hashes, tuple(linked))
                )
        client.close()

    def _ask(self, client: Client, query: str, variables: Mapping[str, Any]) -> dict[str, Any] | None:
        try:
            body = client.ask(query, variables)
        except (OSError, http.client.HTTPException, ValueError):
            with self._lock:
                self.broken_off += 1
            time.sleep(0.01)
            return None
        if body.get("errors"):
            with self._lock:
                self.refusals[body["errors"][0]["extensions"]["code"]] += 1
            time.sleep(0.01)
            return None
        data: dict[str, Any] = body["data"]
        return data


class Campaign:
    """A server on a home of its own, and rounds of load, death and reckoning."""

    def __init__(self, home: Path, threads: int, seed: int) -> None:
        self.server = LiveServer(home)
        self.figures = Figures()
        self._threads = threads
        self._seed = seed
        self._chance = random.Random(seed)
        self._everything: list[Received] = []

    def run(self, rounds: int) -> Figures:
        try:
            self._prepare()
            for number in range(rounds):
                self._round(number, VICTIMS[(number + self._seed) % len(VICTIMS)])
            self._finish()
        finally:
            self._leave_nothing()
        return self.figures

    def _prepare(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for topic in TOPICS:
                parts = [
                    f"## {topic.title()} {part}\n\n{topic} of kind {part} are for tier {part}.\n" for part in "abc"
                ]
                Path(folder, f"{topic}.md").write_text(f"# {topic.title()}\n\n" + "\n".join(parts))
            done = self.server.run("ingest", folder, "--name", "handbook")
            assert done.returncode == 0, done.stderr
        self._start()
        self.figures.restarts.clear()
        self._token = self.server.token

    def _start(self) -> None:
        begun = time.monotonic()
        self.server.start("--no-demo", patience=300)
        self.figures.restarts.append(time.monotonic() - begun)

    def _round(self, number: int, victim: str) -> None:
        with Load(self.server.port, self._token, self._threads, self._chance.getrandbits(32)) as load:
            wait(lambda: len(load.received) >= 2 * self._threads, "the clients get answers", 120)
            time.sleep(self._chance.uniform(0.0, 1.0))
            self._kill(victim, load)
        assert self.server.process is not None
        self.server.process.wait(60)
        figures = self.figures
        figures.rounds += 1
        figures.kills[victim] += 1
        figures.refusals += load.refusals
        figures.broken_off += load.broken_off
        figures.answers += len(load.received)
        figures.passages += sum(len(one.hashes) for one in load.received)
        figures.links += sum(len(one.linked) for one in load.received)
        self._start()
        self._reckon(number, load.received)
        self._everything += load.received

    def _kill(self, victim: str, load: Load) -> None:
        assert self.server.process is not None
        if victim == "server":
            self.server.process.kill()
            return
        os.kill(postmaster(self.server.home), signal.SIGKILL)
        if victim == "both":
            self.server.process.kill()
            return
        # The server lives on without its database: it may refuse, and must not answer.
        seen = load.outcomes
        wait(lambda: load.outcomes >= seen + 2 * self._threads, "the clients are refused", 120)
        self.server.process.terminate()

    def _reckon(self, number: int, received: list[Received]) -> None:
        """Every answer of a round against its record, once that is chained."""
        with ThreadPoolExecutor(self._threads) as pool:
            for problem in pool.map(self._check, received):
                if problem is not None:
                    self.figures.problems.append(f"round {number}: {problem}")

    def _check(self, one: Received) -> str | None:
        client = Client(self.server.port, self._token)
        deadline = time.monotonic() + 120
        try:
            while True:
                body = client.ask(RECORD, {"id": one.attribution_id, "request": one.request_id})
                if body.get("errors"):
                    return f"{one.attribution_id}: {body['errors'][0]['extensions']['code']}"
                record = body["data"]["attribution"]
                family = [edge["node"] for edge in body["data"]["attributions"]["edges"]]
                if all(node["state"] == "CHAINED" for node in [record, *family]):
                    return _difference(one, record, family)
                if time.monotonic() > deadline:
                    return f"{one.attribution_id}: still not chained"
                time.sleep(0.05)
        finally:
            client.close()

    def _finish(self) -> None:
        client = Client(self.server.port, self._token)
        found = client.ask(VERIFY, {})["data"]["verifyChain"]
        client.close()
        self.figures.verdict, self.figures.checked_records = found["verdict"], found["checkedRecords"]
        if found["verdict"] != "VALID":
            self.figures.problems.append(f"the chain is {found}")
        expected = self.figures.answers + self.figures.links
        if found["checkedRecords"] < expected:
            self.figures.problems.append(f"{found['checkedRecords']} records for {expected} answers and links")
        if self.figures.refusals["INTERNAL"]:
            self.figures.problems.append("a refusal was INTERNAL: it does not tell the client to try again")
        code = self.server.stop()
        if code != 0:
            self.figures.problems.append(f"the last server ended with {code}")
        if of_home(self.server.home):
            self.figures.problems.append("processes of PostgreSQL were left")

    def _leave_nothing(self) -> None:
        if self.server.process is not None and self.server.process.poll() is None:
            self.server.process.kill()
            self.server.process.wait()
        for pid in of_home(self.server.home):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _difference(one: Received, record: Mapping[str, Any], family: list[Mapping[str, Any]]) -> str | None:
    """What the record says otherwise than what was received; None when they agree."""
    recorded = tuple(chunk["sha256"] for chunk in record["record"]["chunks"])
    if recorded != one.hashes:
        return f"{one.attribution_id}: the hashes differ"
    if (record["id"], record["requestId"]) != (one.attribution_id, one.request_id):
        return f"{one.attribution_id}: another record"
    links = Counter(node["record"]["responseId"] for node in family if node["category"] == "context_attribution_link")
    if any(links[response] != 1 for response in one.linked) or any(count > 1 for count in links.values()):
        return f"{one.attribution_id}: links {dict(links)} for {one.linked}"
    if len(family) != 1 + sum(links.values()):
        return f"{one.attribution_id}: {len(family)} records for one retrieval"
    return None


@contextmanager
def own_home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="muniment-campaign-"))
    try:
        yield folder / "home"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    with own_home() as home:
        figures = Campaign(home, options.threads, seed).run(options.rounds)
    sys.stdout.write("\n".join([f"seed {seed}", *figures.lines()]) + "\n")
    return 1 if figures.problems else 0


if __name__ == "__main__":
    sys.exit(main())
