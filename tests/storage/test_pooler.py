"""PgBouncer in transaction mode: each transaction may get another server, and two clients the same one.

Needs the program `pgbouncer` (`apt-get install pgbouncer`), or its path in MUNIMENT_PGBOUNCER.
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from sqlalchemy import text

from app.assembly.services import Services
from app.evidence.sequencer import Sequencer
from app.evidence.verification import verify_chain
from app.ingestion.editing import Editor
from app.ingestion.embedding import EmbeddingWorker
from app.storage.engine import Database
from app.storage.polling import Poller
from app.storage.role import check_role
from tests.fixtures.owner import database_beside
from tests.fixtures.server import LiveServer, free_port
from tests.fixtures.store import World, make_world

#: Fewer than clients: they are bound to meet on one.
SERVERS = 3


def program() -> str:
    found = os.environ.get("MUNIMENT_PGBOUNCER") or shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    assert found, "pgbouncer was not found: apt-get install pgbouncer, or name it in MUNIMENT_PGBOUNCER"
    return found


@pytest.fixture(scope="module")
async def pooler(installation) -> AsyncIterator[str]:
    """PgBouncer before the embedded server; the URL through it."""
    with TemporaryDirectory(prefix="pooler-") as place:
        async with _running(Path(place), Path(installation.url.partition("host=")[2].partition("&")[0])) as url:
            yield url


@asynccontextmanager
async def _running(place: Path, data: Path) -> AsyncIterator[str]:
    """As whom the server runs: it refuses root, and nobody else may reach the socket. That lies where only root can
    walk, so it is named by the working directory."""
    port, owner = free_port(), data.stat()
    (place / "users").write_text('"muniment_app" ""\n')
    (place / "pgbouncer.ini").write_text(
        "[databases]\n* = host=/proc/self/cwd port=5432\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = trust\n"
        f"auth_file = {place}/users\npool_mode = transaction\ndefault_pool_size = {SERVERS}\nmax_client_conn = 200\n"
    )
    log = (place / "log").open("w")
    as_whom: dict[str, Any] = {}
    if os.geteuid() == 0:
        for path in (place, *place.iterdir()):
            os.chown(path, owner.st_uid, owner.st_gid)
        as_whom = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
    running = subprocess.Popen([program(), str(place / "pgbouncer.ini")], cwd=data, stdout=log, stderr=log, **as_whom)
    url = f"postgresql+asyncpg://muniment_app@127.0.0.1:{port}/muniment"
    try:
        for _ in range(100):
            assert running.poll() is None, (place / "log").read_text()
            try:
                plain = url.replace("+asyncpg", "")
                await (await asyncpg.connect(plain, statement_cache_size=0, timeout=1)).close()
                break
            except (OSError, asyncpg.PostgresError):
                await asyncio.sleep(0.05)
        else:
            raise AssertionError((place / "log").read_text())
        yield url
    finally:
        running.terminate()
        running.wait()
        log.close()


@pytest.fixture
async def there(pooler: str, parts: Services) -> AsyncIterator[World]:
    """A world behind the pooler; two pools stand for two processes."""
    one, other = (Database.connect(pooler, pool_size=12, pooled=True) for _ in range(2))
    moved = replace(
        parts,
        database=one,
        background=other,
        retriever=replace(parts.retriever, database=one),
        editor=Editor(one, parts.preparer, embed=True),
        embedding=EmbeddingWorker(other, parts.retriever.embedder),
        sequencer=Sequencer(other, parts.keys, parts.heads),
    )
    yield await make_world(moved)
    await one.close()
    await other.close()


async def test_everything_at_once(there: World) -> None:
    """Writes, embeddings, retrievals and chaining, by more clients than there are servers."""
    parts = there.parts
    for number in range(4):
        text_ = f"# Refunds {number}\n\nRefunds of kind {number} are authorised by tier {number} agents."
        await there.write(f"page{number}.md", (text_, None, None))
    await there.settle()
    answers = await asyncio.gather(*(there.ask(f"who authorises refunds {number}") for number in range(40)))
    assert all(answer.passages for answer in answers)
    assert all(answer.passages[0].candidate.scores.vector for answer in answers)

    async def chain() -> None:
        while await parts.sequencer.turn(there.organisation):
            pass

    await asyncio.gather(chain(), *(there.ask(f"again {number}") for number in range(20)))
    await chain()
    verdict = await verify_chain(parts.background, parts.keys, parts.heads, there.organisation)
    assert (verdict.verdict.value, verdict.checked_records) == ("VALID", 60)


async def test_streams_side_by_side(there: World) -> None:
    async def read(database: Database) -> int:
        statement = text("SELECT n FROM generate_series(1, CAST(:last AS int)) AS n")
        async with (
            database.snapshot(there.organisation) as session,
            aclosing(session.stream(statement, {"last": 5000})) as s,
        ):
            return sum([len(batch) async for batch in s])

    databases = [there.parts.database, there.parts.background] * 10
    assert await asyncio.gather(*(read(database) for database in databases)) == [5000] * 20


async def test_no_setting_of_one_reaches_the_next(there: World) -> None:
    asked = text("SELECT current_user, current_setting('muniment.organisation', true)")
    for _ in range(5):
        async with there.parts.database.snapshot(there.organisation) as session:
            assert tuple(await session.row(asked) or ()) == ("muniment_app", str(there.organisation))
        async with there.parts.background.across() as session:
            assert (await session.row(asked) or ("", "?"))[1] in {"", None}
        other = uuid4()
        async with there.parts.database.snapshot(other) as session:
            assert await session.value(text("SELECT count(*) FROM spaces")) == 0


async def test_who_gives_up_cancels_its_statement_and_no_other(there: World) -> None:
    database = there.parts.database

    async def sleep(seconds: float) -> float:
        async with database.snapshot(there.organisation) as session:
            await session.rows(text("SELECT pg_sleep(CAST(:s AS float8))"), {"s": seconds})
            return seconds

    long = [asyncio.create_task(sleep(60)) for _ in range(SERVERS - 1)]
    short = asyncio.create_task(sleep(0.5))
    await asyncio.sleep(0.2)
    for task in long:
        task.cancel()
    assert await short == 0.5
    await asyncio.gather(*long, return_exceptions=True)
    assert len((await there.ask("anything")).passages) == 0
    assert (database.queue.in_use, database.queue.waiting) == (0, 0)


async def test_writes_are_heard_of_by_asking(there: World) -> None:
    heard: asyncio.Queue[object] = asyncio.Queue()
    polling = asyncio.create_task(Poller(there.parts.background, heard.put_nowait, lambda: True, 0.02).run())
    try:
        async with asyncio.timeout(20):
            assert await heard.get() is None
            await there.write("page.md", ("# Something", None, None))
            while await heard.get() != there.organisation:
                pass
    finally:
        polling.cancel()


async def test_the_start_looks_through_it(pooler: str) -> None:
    await check_role(pooler, pooled=True)


async def test_a_server_behind_it(pooler: str, owner_url: str, tmp_path: Path) -> None:
    """The settings reach every part: nothing of a server's own work fails either. On a database of its own, since it
    chains whatever waits, with its own keys."""
    async with database_beside(owner_url) as beside:
        name = beside.url.partition("@/")[2].partition("?")[0]
        options = {
            "MUNIMENT_DATABASE_URL": pooler.replace("+asyncpg", "").rpartition("/")[0] + f"/{name}",
            "MUNIMENT_MIGRATION_DATABASE_URL": beside.owner_url.replace("+asyncpg", ""),
            "MUNIMENT_DATABASE_POOLER": "transaction",
        }
        await asyncio.to_thread(_serve, LiveServer(tmp_path / "home", options=options), tmp_path / "handbook")


def _serve(server: LiveServer, folder: Path) -> None:
    folder.mkdir()
    (folder / "refunds.md").write_text("# Refunds\n\nRefunds are authorised by tier two agents.\n")
    done = server.run("ingest", str(folder), "--space", "pooled")
    assert done.returncode == 0, done.stderr
    server.start("--no-demo")
    try:
        query = '{ retrieve(input: {query: "refunds", spaceKey: "pooled"}) { passages { text } } }'
        for _ in range(10):
            assert server.ask(query, token=server.token)["data"]["retrieve"]["passages"]
    finally:
        assert server.stop() == 0
    troubles = [line for line in server.log.splitlines() if '"level": "error"' in line or '"level": "warning"' in line]
    assert troubles == []
