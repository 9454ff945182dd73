"""The real store behind the scenario runner: facts are imported with their system times and read over HTTP.

A scenario has a clock of its own, so it is an organisation of its own, and its fact a memory. The pages of a document
history are documents of one organisation, with their real texts.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx

from app.assembly.installation import Installation
from app.assembly.services import Services, services
from app.domain.errors import bad_input
from app.domain.instant import format_instant, parse_instant
from app.domain.temporal import AsOf, Assert, Erase, Op, Period, Portion, Retract, Timeline, Update
from app.history.importing import HistoryImport
from app.history.lines import FactKind, Line, Verb
from app.settings import Settings
from tests.fixtures.server import LiveServer

PERSON = "reader"
VERBS = {Assert: Verb.ASSERT, Update: Verb.UPDATE, Retract: Verb.RETRACT, Erase: Verb.ERASE}
MEMORY = "query($id: ID!, $v: Instant, $k: Instant) { memory(id: $id, asOf: $v, knownAt: $k) { text } }"
DOCUMENT = "query($id: ID!, $v: Instant, $k: Instant) { document(id: $id, asOf: $v, knownAt: $k) { title tags } }"
HISTORY = (
    "query($id: ID!, $k: Instant) { history(id: $id, knownAt: $k, first: 100) "
    "{ edges { node { validFrom validTo value } } pageInfo { hasNextPage } } }"
)


@dataclass
class StoredHistory:
    """Buffers operations until something is asked: what shares an instant must be imported together."""

    parts: Services
    server: LiveServer
    client: httpx.AsyncClient
    imports: dict[str, HistoryImport] = field(default_factory=dict)
    waiting: dict[str, list[Line]] = field(default_factory=dict)
    latest: dict[str, datetime] = field(default_factory=dict)
    tokens: dict[UUID, str] = field(default_factory=dict)

    async def apply(self, fact: str, system_at: datetime, op: Op[str], record: dict[str, Any]) -> None:
        place = fact if fact.startswith("scenario ") else "history"
        value: dict[str, Any] = {}
        if isinstance(op, Assert | Update):
            value = {"text": op.value}
            if place == "history":
                tags = [f"{name}:{record[name]}" for name in ("rev", "blob")]
                # A document always has a title here; that a page declared none is told by a tag.
                tags += [] if record["title"] else ["untitled:"]
                value = {"text": record["text"], "title": record["title"], "tags": tags}
        if system_at < self.latest.get(place, system_at):
            raise bad_input("System time never runs backwards.")
        self.latest[place] = system_at
        kind = FactKind.DOCUMENT if place == "history" else FactKind.MEMORY
        self.waiting.setdefault(place, []).append(Line(kind, fact, VERBS[type(op)], system_at, op.period, value))

    async def at(self, fact: str, as_of: AsOf) -> str | None:
        moments = {"v": format_instant(as_of.valid_at), "k": format_instant(as_of.system_at)}
        if fact.startswith("scenario "):
            found = await self._ask(fact, FactKind.MEMORY, MEMORY, moments)
            return None if found is None or found["memory"] is None else found["memory"]["text"]
        found = await self._ask(fact, FactKind.DOCUMENT, DOCUMENT, moments)
        if found is None or found["document"] is None:
            return None
        shown = dict(tag.split(":", 1) for tag in found["document"]["tags"])
        title = None if "untitled" in shown else found["document"]["title"]
        return json.dumps({"rev": int(shown["rev"]), "blob": shown["blob"], "title": title})

    async def timeline(self, fact: str, system_at: datetime) -> Timeline[str]:
        found = await self._ask(fact, FactKind.MEMORY, HISTORY, {"k": format_instant(system_at)})
        if found is None:
            return ()
        assert not found["history"]["pageInfo"]["hasNextPage"]
        nodes = [edge["node"] for edge in found["history"]["edges"]]
        return tuple(
            Portion(Period(_instant(node["validFrom"]), _instant(node["validTo"])), node["value"]["text"])
            for node in nodes
        )

    async def _ask(self, fact: str, kind: FactKind, query: str, variables: dict[str, Any]) -> dict[str, Any] | None:
        """The data of an answer; None when nothing was ever said of the fact."""
        place = fact if fact.startswith("scenario ") else "history"
        run = await self._import(place)
        id = run.result.facts.get((kind, fact))
        if id is None:
            return None
        if run.organisation not in self.tokens:
            development, settings = self.parts.development, self.parts.settings
            assert development is not None
            self.tokens[run.organisation] = development.token(
                settings.jwt_issuer, settings.jwt_audience, subject=PERSON, organisation=run.organisation
            )
        answer = await self.client.post(
            f"{self.server.url}/graphql",
            json={"query": query, "variables": {"id": str(id), **variables}},
            headers={"Authorization": f"Bearer {self.tokens[run.organisation]}"},
        )
        body = answer.json()
        if body.get("errors"):
            raise ValueError(body["errors"][0]["message"])
        data: dict[str, Any] = body["data"]
        return data

    async def _import(self, place: str) -> HistoryImport:
        if place not in self.imports:
            self.imports[place] = HistoryImport(
                self.parts.database, self.parts.preparer, self.parts.memory.reviser, uuid4(), PERSON
            )
        lines = self.waiting.pop(place, [])
        if lines:
            await self.imports[place].run(lines)
        return self.imports[place]


def _instant(text: str | None) -> datetime | None:
    return None if text is None else parse_instant(text)


@asynccontextmanager
async def stored_history(home: Path) -> AsyncIterator[StoredHistory]:
    """A store and a server on an empty home; both are gone afterwards."""
    settings = Settings(home=home / "home", embedder="none")
    installation = await asyncio.to_thread(Installation.open, settings)
    server = LiveServer(home / "home", options={"MUNIMENT_EMBEDDER": "none"})
    try:
        await asyncio.to_thread(server.start, "--no-demo")
        async with services(settings, installation) as parts, httpx.AsyncClient(timeout=60) as client:
            yield StoredHistory(parts, server, client)
    finally:
        if server.process is not None and server.process.poll() is None:
            await asyncio.to_thread(server.stop)
        await asyncio.to_thread(installation.close)
