"""The regular verification as real servers make it: two processes on one database, one run."""

import asyncio
import time
from typing import Any

import asyncpg

from app.identity.development import ORGANISATION
from app.providers.embedded_postgres import EmbeddedPostgres
from tests.fixtures.server import LiveServer

RUNS = "{ chainVerifications(first: 50) { edges { node { occasion verdict checkedRecords } } } }"
ASK = '{ retrieve(input: {query: "tea"}) { attributionId } }'
PATIENCE = 60


def scheduled(server: LiveServer) -> list[Any]:
    found = server.ask(RUNS, token=server.token)["data"]["chainVerifications"]["edges"]
    return [edge["node"] for edge in found if edge["node"]["occasion"] == "SCHEDULE"]


async def make_due(url: str) -> None:
    """As if the interval were over."""
    connection = await asyncpg.connect(url.replace("postgresql+asyncpg", "postgresql"))
    try:
        planned = await connection.execute(
            "INSERT INTO verification_schedules (organisation_id, due_at) VALUES ($1, clock_timestamp()) "
            "ON CONFLICT (organisation_id) DO UPDATE SET due_at = excluded.due_at",
            ORGANISATION,
        )
        assert planned == "INSERT 0 1"
    finally:
        await connection.close()


def test_two_servers_make_one_run_of_what_is_due(tmp_path_factory: Any) -> None:
    home = tmp_path_factory.mktemp("scheduled")
    servers = [LiveServer(home) for _ in range(2)]
    first, second = servers
    shelf = home.parent / "shelf"
    shelf.mkdir()
    (shelf / "tea.md").write_text("# Tea\n\nTea is kept in the red tin.\n")
    assert first.run("ingest", str(shelf)).returncode == 0
    first.start("--no-demo")
    try:
        answer = first.ask(ASK, token=first.token)
        assert "errors" not in answer, answer
        assert scheduled(first) == []
    finally:
        first.stop()
    embedded = EmbeddedPostgres.start(home)
    try:
        asyncio.run(make_due(embedded.owner_url))
    finally:
        embedded.stop()
    # Both look at the schedule as they start.
    started = []
    try:
        for server in servers:
            server.start("--no-demo")
            started.append(server)
        deadline = time.monotonic() + PATIENCE
        while not (runs := scheduled(second)):
            assert time.monotonic() < deadline, first.log
            time.sleep(0.1)
        assert [run["verdict"] for run in runs] == ["VALID"]
        assert runs[0]["checkedRecords"] > 0
        # That it was made is in the chain, once, and the chain is good.
        verified = first.run("verify-chain")
        assert verified.stdout.splitlines()[0] == "VALID"
        assert len(scheduled(first)) == 1
    finally:
        for server in started:
            server.stop()
