"""Random operations over the whole schema, asked by two people and a key of one organisation beside another:

    python -m tests.resilience.fuzzing [--operations N] [--seed S]

No answer is INTERNAL, none holds anything of the other organisation, and every delivered retrieval is recorded.
The exit code is 0 when all of that holds.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid4

import httpx
from sqlalchemy import text

from app.assembly.installation import Installation
from app.assembly.services import Services, services
from app.domain.limits import Rates
from app.domain.principal import Permission
from app.identity.rates import RateLimiter
from app.settings import Settings
from schema.build import graphql_schema
from tests.fixtures.inhabited import add_jobs
from tests.fixtures.store import World, make_world
from tests.resilience.operations import Fuzzer
from tests.schema.conftest import connect, token_of

SCHEMA = graphql_schema._schema
#: Operations until the organisations are made anew: what they change, they also break.
LIFE = 400
#: An administrator, a key of a program that may search, read and write, and somebody who may only search and read.
PEOPLE = ("tester", "key", "reader")
#: Events of a subscription that are waited for, and seconds.
EVENTS, SECONDS = 2, 1.0
TEXTS = (
    "refunds",
    "where do zebras graze",
    "project",
    "/",
    "project/part",
    "ada",
    "team",
    "docs",
    "filesystem",
    "",
    " ",
    "a\u0000b",
    "\u202eright to left",
    "日本語のテスト",
    "'; DROP TABLE spaces; --",
    "author' = 'a' OR '1'='1' --",
    "<|endoftext|>",
    "%s%n{}",
    "../../etc/passwd",
    "x" * 300,
    "y" * 30_000,
    "e\u0301\u0300",
    "\U0001f600",
    "null",
    "-1",
    "team=1",
    "0" * 64,
)


#: What the key may do.
MAKE_KEY = """mutation { createApiKey(input: {name: "fuzz", actions: [SEARCH, READ, WRITE, MEMORY_WRITE, ADMIN]
    allowedSpaces: ["project"]}) { secret apiKey { id principalId } } }"""
#: What there is to be asked for, besides documents.
MAKE = (
    MAKE_KEY,
    'mutation { createSource(input: {name: "fuzz", kind: DOCS, spaceKey: "project"}) { id } }',
    """mutation { grantPermissions(input: {grantee: {kind: GROUP, name: "team"}, permissions: [READ]
        spaceKey: "project"}) { id } }""",
    'mutation { remember(input: {text: "zebras graze MARK", spaceKey: "project"}) { id versionId } }',
    'mutation { createSubject(subjectId: "ada", spaceKey: "project") { id } }',
    'mutation { createGroup(key: "team", spaceKey: "project") { id } }',
    '{ retrieve(input: {query: "refunds MARK"}) { attributionId requestId traceId passages { chunkId documentId } } }',
)


ROOT_FIELDS = frozenset(
    name
    for root in (SCHEMA.query_type, SCHEMA.mutation_type, SCHEMA.subscription_type)
    if root is not None
    for name in root.fields
)


@dataclass
class Report:
    operations: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)
    callers: Counter[str] = field(default_factory=Counter)
    delivered: int = 0
    unrecorded: list[str] = field(default_factory=list)
    internal: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not (self.internal or self.leaks or self.unrecorded)

    def lines(self) -> Iterator[str]:
        yield f"operations           {self.operations}"
        yield f"answers by code      {dict(self.answers.most_common())}"
        yield f"as                   {dict(self.callers)}"
        yield f"root fields asked    {len(self.fields)} of {len(ROOT_FIELDS)}"
        yield f"retrievals delivered {self.delivered}, not recorded {len(self.unrecorded)}"
        yield f"INTERNAL             {len(self.internal)}"
        yield f"of the other         {len(self.leaks)}"
        for kind, found in (("INTERNAL", self.internal), ("LEAK", self.leaks), ("UNRECORDED", self.unrecorded)):
            for item in found[:10]:
                yield f"{kind}: {item}"


@dataclass
class Pair:
    """Two organisations with the same names and the like content; what is only the other's holds `mark`."""

    world: World
    other: World
    mark: str
    foreign: set[str]
    ids: list[str]
    secret: str = ""
    taken: set[str] = field(default_factory=set)


async def make_pair(parts: Services) -> Pair:
    mark = f"mark{uuid4().hex}"
    one, other = await make_world(parts), await make_world(parts)
    foreign: set[str] = {str(other.organisation), str(other.root), str(other.project), str(other.source.id)}
    ids = [
        str(one.root),
        str(one.project),
        str(one.source.id),
        str(one.principal.id),
        str(uuid4()),
        "nonsense",
        "project",
    ]
    await one.add_person("reader", (one.project, Permission.SEARCH), (one.project, Permission.READ))
    for world, text_ in ((one, "here"), (other, mark)):
        for number in range(3):
            body = f"# Refunds {number} {text_}\n\nRefunds are authorised by tier {number}, zebras graze {text_}."
            await world.write(f"{number}.md", (body, None, None))
        async with connect(parts) as http:
            for query in MAKE:
                answer = await http.post(
                    "/graphql",
                    json={"query": query.replace("MARK", text_)},
                    headers={"Authorization": f"Bearer {token_of(world)}"},
                )
                found = set(_ids(answer.json()))
                if query is MAKE_KEY and world is one:
                    secret = answer.json()["data"]["createApiKey"]["secret"]
                assert found, (query, answer.text)
                if world is other:
                    foreign |= found
                ids.extend(found)
    for world in (one, other):
        jobs = {str(job) for job in await add_jobs(world)}
        ids.extend(jobs)
        if world is other:
            foreign |= jobs
    ids.extend(sorted(foreign))
    await one.settle()
    await other.settle()
    return Pair(one, other, mark, foreign, ids, secret)


def _ids(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _ids(item)
    elif isinstance(value, list):
        for item in value:
            yield from _ids(item)
    elif isinstance(value, str):
        try:
            yield str(UUID(value))
        except ValueError:
            return


def _deliveries(value: Any) -> Iterator[str]:
    """Ids of the records of all retrievals in an answer."""
    if isinstance(value, dict):
        if value.get("__typename") == "RetrievalResult" and "attributionId" in value:
            yield value["attributionId"]
        for item in value.values():
            yield from _deliveries(item)
    elif isinstance(value, list):
        for item in value:
            yield from _deliveries(item)


async def fuzz(parts: Services, operations: int, seed: int = 0, life: int = LIFE) -> Report:
    # Everybody asks as often as they like, and the limits of one operation hold.
    parts = replace(parts, rates=RateLimiter(parts.database, Rates(0)))
    random, report = Random(seed), Report()
    while report.operations < operations:
        pair = await make_pair(parts)
        fuzzer = Fuzzer(SCHEMA, random, list(pair.ids), TEXTS)
        delivered: list[str] = []
        async with connect(parts) as http:
            for number in range(min(life, operations - report.operations)):
                query, variables = fuzzer.operation()
                person = PEOPLE[number % len(PEOPLE)]
                token = pair.secret if person == "key" else token_of(pair.world, person)
                body = json.dumps({"query": query, "variables": variables})
                asked = subscribe if query.startswith("subscription") else _ask
                status, answers = await asked(http, body, token)
                report.operations += 1
                report.callers[person] += 1
                for answer in answers:
                    _judge(report, pair, body, status, answer)
                    found = json.loads(answer)
                    delivered.extend(_deliveries(found.get("data")))
                    fuzzer.ids.extend(list(_ids(found.get("data")))[:3])
        report.delivered += len(delivered)
        report.unrecorded += await _unrecorded(parts, pair.world.organisation, delivered)
    return report


async def _ask(http: httpx.AsyncClient, body: str, token: str) -> tuple[int, list[str]]:
    answer = await http.post(
        "/graphql", content=body, headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    )
    return answer.status_code, [answer.text]


async def subscribe(http: httpx.AsyncClient, body: str, token: str, most: int = EVENTS) -> tuple[int, list[str]]:
    """The first events, as server-sent events bring them; then we hang up."""
    messages: list[str] = []
    status = 200
    enough = asyncio.Event()
    application: Any = http._transport.app  # type: ignore[attr-defined]
    incoming = iter([{"type": "http.request", "body": body.encode(), "more_body": False}])

    async def receive() -> Any:
        if (message := next(incoming, None)) is not None:
            return message
        await enough.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        for line in message.get("body", b"").decode().splitlines():
            text_ = line.removeprefix("data:").strip()
            if text_.startswith("{"):
                messages.append(text_)
        if len(messages) >= most:
            enough.set()

    headers = (
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("authorization", f"Bearer {token}"),
    )
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": "/graphql",
        "raw_path": b"/graphql",
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "client": ("127.0.0.1", 1),
        "server": ("test", 80),
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    asyncio.get_running_loop().call_later(SECONDS, enough.set)
    async with asyncio.timeout(30):
        await application(scope, receive, send)
    return status, messages


def _judge(report: Report, pair: Pair, body: str, status: int, answer: str) -> None:
    found = json.loads(answer)
    errors = found.get("errors") or ()
    for error in errors:
        report.answers[error["extensions"]["code"]] += 1
        if error["extensions"]["code"] == "INTERNAL":
            report.internal.append(f"{body[:1500]} -> {error}")
    if status >= 500:
        report.internal.append(f"{status}: {body[:1500]}")
    if not errors:
        report.answers["OK"] += 1
    report.fields.update(_asked(body))
    sent = body.lower()
    if pair.mark in answer and pair.mark not in sent:
        report.leaks.append(f"{body[:1500]} -> {answer[:500]}")
    if found.get("data") and '"mutation ' in sent:
        # Ids of the other that we have used as names of our own: they come back from us.
        pair.taken |= {id for id in pair.foreign if id in sent}
    for id in pair.foreign - pair.taken:
        if id in answer and id not in sent:
            report.leaks.append(f"{id}: {body[:1500]} -> {answer[:500]}")


def _asked(body: str) -> list[str]:
    """The root fields of an operation."""
    return [name for name in re.findall(r"\bf\d+: (\w+)", json.loads(body)["query"]) if name in ROOT_FIELDS]


async def _unrecorded(parts: Services, organisation: UUID, delivered: list[str]) -> list[str]:
    """Those of the ids that are neither in the queue nor in the chain."""
    async with parts.database.unstamped(organisation) as session:
        rows = await session.rows(
            text(
                "SELECT id FROM evidence WHERE organisation_id = :organisation UNION "
                "SELECT id FROM attribution_queue WHERE organisation_id = :organisation"
            ),
            {"organisation": organisation},
        )
    known = {str(row[0]) for row in rows}
    return [id for id in delivered if id not in known]


async def _main(operations: int, seed: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder) / "home", embedder="hash")
        installation = await asyncio.to_thread(Installation.open, settings)
        try:
            async with services(settings, installation) as parts:
                begun = time.monotonic()
                report = await fuzz(parts, operations, seed)
                for line in report.lines():
                    print(line)
                print(f"seed {seed}, {time.monotonic() - begun:.0f} s")
        finally:
            await asyncio.to_thread(installation.close)
    return 0 if report.clean else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    return asyncio.run(_main(given.operations, given.seed))


if __name__ == "__main__":
    sys.exit(main())
