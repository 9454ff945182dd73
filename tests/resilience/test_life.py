"""The life of `muniment serve`: how it starts, ends, dies, and shares, and that it leaves no process behind."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.identity.development import DevelopmentKey
from app.providers.embedded_postgres import EmbeddedPostgres
from tests.fixtures.owner import connection
from tests.fixtures.server import MUNIMENT, ROOT, LiveServer, starting
from tests.resilience.processes import kept_down, of_home, postmaster, wait

Serve = Callable[..., LiveServer]
ASK = """{ retrieve(input: {query: "refunds", spaceKey: "muniment"}) {
    attributionId contract { knownAt } passages { text } } }"""
VERIFY = "{ verifyChain { verdict checkedRecords } }"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one document in it. Every test leaves it stopped."""
    place = tmp_path_factory.mktemp("life")
    folder = place / "handbook"
    folder.mkdir()
    (folder / "refunds.md").write_text("# Refunds\n\nRefunds are authorised by tier two agents.\n")
    done = LiveServer(place / "home").run("ingest", str(folder))
    assert done.returncode == 0, done.stderr
    assert of_home(place / "home") == set()
    return place / "home"


@pytest.fixture
def serve(home: Path) -> Iterator[Serve]:
    """Servers on the home, or on another one; whatever a test leaves is killed."""
    servers: list[LiveServer] = []

    def make(other: Path | None = None, **options: str) -> LiveServer:
        servers.append(LiveServer(other or home, options=options))
        return servers[-1]

    yield make
    for server in servers:
        if server.process is not None and server.process.poll() is None:
            server.process.kill()
            server.process.wait()
    for server in servers:
        for pid in of_home(server.home):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait(lambda server=server: not of_home(server.home), "the home is quiet")


def begin(server: LiveServer, *arguments: str, handling: str = "SIG_DFL") -> Path:
    """Start without waiting for anything; where its words go."""
    output = server.home.parent / f"{server.home.name}-{server.port}.out"
    with output.open("w") as file:
        server.process = subprocess.Popen(
            [*starting(handling), *MUNIMENT, "serve", *arguments],
            cwd=ROOT,
            env=server.environment,
            stdout=file,
            stderr=file,
            text=True,
            start_new_session=True,
        )
    return output


def token(server: LiveServer) -> str:
    """As `muniment token` prints it, without a process for each."""
    return DevelopmentKey.load_or_create(server.home / "keys" / "development.pem").token("muniment", "muniment")


def answer_of(server: LiveServer) -> dict:
    body = server.ask(ASK, token=token(server))
    assert "errors" not in body, body
    (passage,) = body["data"]["retrieve"]["passages"]
    assert "tier two agents" in passage["text"]
    return body["data"]["retrieve"]


def chain_of(server: LiveServer) -> dict:
    """What a check says once nothing waits to be chained."""

    def quiet() -> bool:
        body = server.ask("{ status { queueDepth } }", token=token(server))
        return body["data"]["status"]["queueDepth"] == 0

    wait(quiet, "the queue is empty")
    return server.ask(VERIFY, token=token(server))["data"]["verifyChain"]


# Ending


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_everything(serve, home, number):
    server = serve()
    server.start()
    assert of_home(home)
    answer_of(server)
    assert server.stop(number) == 0
    assert of_home(home) == set()
    assert "Traceback" not in server.log


def test_what_was_answered_last_is_chained_at_the_end(serve):
    server = serve()
    server.start("--no-demo")
    before = chain_of(server)["checkedRecords"]
    for _ in range(10):
        answer_of(server)
    assert server.stop() == 0
    done = server.run("status")
    assert "Events waiting to be chained: 0" in done.stdout
    assert f"Last sequence of the chain: {before + 10}" in done.stdout


def test_an_impatient_second_signal_leaves_nothing_either(serve, home):
    server = serve()
    server.start("--no-demo")
    assert server.process is not None
    server.process.send_signal(signal.SIGINT)
    server.process.send_signal(signal.SIGINT)
    server.process.wait(60)
    assert of_home(home) == set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_it_starts(serve, home, number):
    """As soon as there is a database to be left behind."""
    server = serve()
    begin(server)
    wait(lambda: bool(of_home(home)), "PostgreSQL starts")
    server.stop(number)
    assert of_home(home) == set()


def test_it_ends_while_it_starts_in_the_background_of_a_script(serve, home):
    server = serve()
    begin(server, handling="SIG_IGN")
    wait(lambda: bool(of_home(home)), "PostgreSQL starts")
    server.stop(signal.SIGTERM)
    assert of_home(home) == set()


def test_a_signal_during_the_first_ingestion(serve, tmp_path):
    """Nothing is left running, and the next start reads what the first one did not get to."""
    server = serve(tmp_path / "home")
    output = begin(server)
    wait(lambda: "First start" in output.read_text(), "the demo is ingested", 120)
    server.stop(signal.SIGTERM)
    assert of_home(server.home) == set()
    assert "documents changed" not in output.read_text(), "the signal came too late to interrupt anything"

    server.start()
    assert "First start" in server.log
    assert "documents changed" in server.log
    assert server.stop() == 0


# Dying


def test_a_killed_server_leaves_an_orphan_that_the_next_one_ends(serve, home):
    first = serve()
    first.start("--no-demo")
    pid = postmaster(home)
    recorded = answer_of(first)["attributionId"]
    assert first.process is not None
    first.process.kill()
    first.process.wait()
    assert postmaster(home) == pid

    second = serve()
    second.start("--no-demo")
    assert postmaster(home) == pid
    found = second.ask("query ($id: ID!) { attribution(id: $id) { id } }", {"id": recorded}, token(second))
    assert found["data"]["attribution"]["id"] == recorded
    assert second.stop() == 0
    assert of_home(home) == set()


def test_a_server_whose_database_was_killed_refuses_and_starts_it_again(serve, home):
    """One PostgreSQL, not two, with all that was answered; the server itself goes on."""
    server = serve()
    server.start("--no-demo")
    records = chain_of(server)["checkedRecords"]
    answer_of(server)
    before = postmaster(home)
    with kept_down(home):
        os.kill(before, signal.SIGKILL)
        wait(lambda: not of_home(home), "the children of PostgreSQL notice")
        (error,) = server.ask(ASK, token=token(server))["errors"]
        assert error["extensions"]["code"] == "SEARCH_UNAVAILABLE"
        assert error["extensions"]["retryable"] is True
        assert error["extensions"]["retryAfterMs"] > 0
        assert server.get("/readyz") == 503
        assert server.get("/healthz") == 200
    wait(lambda: server.get("/readyz") == 200, "the server starts it again")
    assert postmaster(home) != before
    answer_of(server)
    assert chain_of(server) == {"verdict": "VALID", "checkedRecords": records + 2}
    assert server.stop() == 0
    assert of_home(home) == set()


def test_two_servers_start_one_database_again(serve, home):
    first, second = serve(), serve()
    first.start("--no-demo")
    second.start("--no-demo")
    before = postmaster(home)
    os.kill(before, signal.SIGKILL)
    wait(lambda: before not in of_home(home), "it is gone")
    for server in (first, second):
        wait(lambda server=server: server.get("/readyz") == 200, "it is started again")
        answer_of(server)
    assert postmaster(home) != before
    assert [server.log.count("database.started_again") for server in (first, second)] != [0, 0]
    assert first.stop() == 0
    answer_of(second)
    assert second.stop() == 0
    assert of_home(home) == set()


# Starting again, and sharing


def test_a_second_start_changes_nothing(serve):
    """The organisation's clock, which every write of facts moves, stands still."""
    first = serve()
    first.start()
    known = answer_of(first)["contract"]["knownAt"]
    assert first.stop() == 0
    second = serve()
    second.start()
    assert answer_of(second)["contract"]["knownAt"] == known
    assert second.stop() == 0
    assert "First start" not in second.log


def test_two_servers_share_a_home(serve, home):
    first, second = serve(), serve()
    first.start("--no-demo")
    pid = postmaster(home)
    second.start("--no-demo")
    assert postmaster(home) == pid
    before = chain_of(first)["checkedRecords"]
    ids = [answer_of(server)["attributionId"] for server in (first, second)]
    for server in (second, first):
        for id in ids:
            found = server.ask("query ($id: ID!) { attribution(id: $id) { id } }", {"id": id}, token(server))
            assert found["data"]["attribution"]["id"] == id

    assert first.stop() == 0
    assert postmaster(home) == pid
    answer_of(second)
    assert chain_of(second) == {"verdict": "VALID", "checkedRecords": before + 3}
    assert second.stop() == 0
    assert of_home(home) == set()


# Not starting


def test_a_port_in_use(serve, home):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = serve()
        server.port = taken.getsockname()[1]
        done = server.run("serve", "--no-demo")
    assert done.returncode != 0
    assert "address already in use" in done.stderr.lower()
    assert str(server.port) in done.stderr
    assert "Traceback" not in done.stderr
    assert of_home(home) == set()


def test_a_key_ring_that_cannot_be_trusted(serve, home):
    ring = home / "keys" / "evidence.json"
    ring.chmod(0o644)
    try:
        done = serve().run("serve", "--no-demo")
    finally:
        ring.chmod(0o600)
    assert done.returncode == 1
    assert "evidence.json" in done.stderr
    assert "Traceback" not in done.stderr
    assert of_home(home) == set()


def test_an_application_that_fails_at_startup_leaves_nothing(serve, home):
    """Loaded by uvicorn alone, where nothing was opened before its own lifespan."""
    server = serve()
    ring = home / "keys" / "evidence.json"
    ring.chmod(0o644)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "uvicorn", "schema.asgi:app", "--port", str(server.port)],
            cwd=ROOT,
            env=server.environment,
            capture_output=True,
            check=False,
            text=True,
            timeout=120,
        )
    finally:
        ring.chmod(0o600)
    assert done.returncode != 0
    assert "evidence.json" in done.stderr
    assert of_home(home) == set()


# Somebody else's PostgreSQL


async def test_another_postgresql(serve, tmp_path):
    """Reached as its superuser: migrated, and every statement of the application is that of its own role."""
    elsewhere = EmbeddedPostgres.start(tmp_path / "elsewhere")
    try:
        server = serve(tmp_path / "home", MUNIMENT_DATABASE_URL=elsewhere.owner_url.replace("+asyncpg", ""))
        (tmp_path / "handbook").mkdir()
        (tmp_path / "handbook" / "refunds.md").write_text("# Refunds\n\nRefunds are authorised by tier two agents.\n")
        done = server.run("ingest", str(tmp_path / "handbook"))
        assert done.returncode == 0, done.stderr
        async with connection(elsewhere.owner_url) as owner:
            # Each event tells as whom it was written.
            await owner.execute(
                """
                CREATE TABLE seen (event uuid, name text);
                GRANT INSERT ON seen TO PUBLIC;
                CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN INSERT INTO seen VALUES (NEW.id, current_user); RETURN NEW; END $$;
                CREATE TRIGGER note BEFORE INSERT ON attribution_queue FOR EACH ROW EXECUTE FUNCTION note();
                CREATE TRIGGER note BEFORE INSERT ON evidence FOR EACH ROW EXECUTE FUNCTION note();
                """
            )
            server.start("--no-demo")
            id = answer_of(server)["attributionId"]
            assert server.stop() == 0
            rows = await owner.fetch("SELECT event::text, name, session_user AS login FROM seen")
            assert {tuple(row) for row in rows} == {(id, "muniment_app", "postgres")}
            assert len(rows) == 2
            assert await owner.fetchval("SELECT count(*) FROM evidence") == 1
        assert not (tmp_path / "home" / "postgres").exists()
        assert of_home(tmp_path / "elsewhere")
    finally:
        elsewhere.stop()
    assert of_home(tmp_path / "elsewhere") == set()


def test_another_postgresql_that_is_not_there(serve, tmp_path):
    url = f"postgresql://nobody:hunter2@/none?host={tmp_path}"
    done = serve(tmp_path / "home", MUNIMENT_DATABASE_URL=url).run("serve", "--no-demo")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stdout + done.stderr
