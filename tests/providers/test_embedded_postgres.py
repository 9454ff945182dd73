"""The life of the embedded server, with the real one: shared, killed, moved, and as root and as an ordinary user."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from app.providers import process
from app.providers.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from tests.fixtures.server import starting

#: A home just copied is all dirty pages, and recovery would flush its thousand files one by one.
QUICK_RECOVERY = {"recovery_init_sync_method": "syncfs"}
KEPT = ("[1,2]",)
READ = "SELECT v::text FROM kept"
ROOT = os.geteuid() == 0
ORDINARY_UID = 65534 if ROOT else os.geteuid()
#: Imports first: an interpreter that lies in root's own folders cannot be read after the change of user.
PREAMBLE = """
import encodings.idna, importlib.metadata, os, signal, subprocess, sys
from pathlib import Path
from app.providers.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
home, uid = Path(sys.argv[1]), int(sys.argv[2])
if uid != os.geteuid():
    os.setgroups([]); os.setgid(uid); os.setuid(uid)
"""
HOLD = "server = EmbeddedPostgres.start(home)\nprint(server.pid, flush=True)\nsys.stdin.read()\nserver.stop()\n"


@contextmanager
def user_process(home: Path, script: str = HOLD, uid: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """Another process in a process group of its own; killed at the end if it still runs."""
    command = [
        *starting(),
        sys.executable,
        "-c",
        PREAMBLE + script,
        str(home),
        str(os.geteuid() if uid is None else uid),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env=environment,
        start_new_session=True,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def first_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    assert child.stderr is not None
    return child.stdout.readline().strip() or pytest.fail(child.stderr.read())


async def ask(url: str, statement: str) -> list[tuple[object, ...]]:
    engine = create_async_engine(url, poolclass=NullPool)
    async with engine.begin() as connection:
        result = await connection.execute(text(statement))
        rows = [tuple(row) for row in result] if result.returns_rows else []
    await engine.dispose()
    return rows


def is_running(pid: int) -> bool:
    process.reap()
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def open_way(home: Path) -> None:
    """pytest's folders are closed to other users; the installed packages may be as well."""
    if not ROOT:
        return
    for parent in home.parents:
        if Path(tempfile.gettempdir()).resolve() in parent.parents:
            parent.chmod(parent.stat().st_mode | 0o011)
    for parent in (*home.parents, *process.package_folder().parents):
        if not parent.stat().st_mode & 0o001:
            pytest.skip(f"{parent} is closed to ordinary users, so nothing can be run as one")


def server_pid(server: EmbeddedPostgres) -> int:
    assert server.pid is not None
    return server.pid


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with one row in it, whose first creation was interrupted. Every test leaves it stopped."""
    home = tmp_path_factory.mktemp("embedded") / "home"
    leftover = home / "postgres" / "data.new.killed"
    leftover.mkdir(parents=True)
    (leftover / "PG_VERSION").write_text("1")
    server = EmbeddedPostgres.start(home)
    psql = [str(process.package_folder() / "pginstall18/bin/psql"), "-X", "-h", str(home / "postgres/data")]
    script = "CREATE EXTENSION vector; CREATE TABLE kept (v vector(2)); INSERT INTO kept VALUES ('[1,2]')"
    subprocess.run([*psql, "-U", "postgres", "-d", "muniment", "-qc", script], check=True)
    server.stop()
    assert not leftover.exists()
    yield home
    shutil.rmtree(home)


@pytest.fixture
def copy(home: Path, tmp_path: Path) -> Iterator[Path]:
    """A home to be spoilt. It is removed at once: pytest would keep the forty megabytes for three sessions."""
    yield shutil.copytree(home, tmp_path / "home")
    shutil.rmtree(tmp_path / "home", ignore_errors=True)


@pytest.fixture
def started(home: Path) -> Iterator[Callable[[], EmbeddedPostgres]]:
    """Start on `home` as often as called; what the test leaves is stopped."""
    servers: list[EmbeddedPostgres] = []

    def start() -> EmbeddedPostgres:
        servers.append(EmbeddedPostgres.start(home))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


async def test_data_outlives_a_stop_and_no_process_does(started: Callable[[], EmbeddedPostgres]) -> None:
    server = started()
    pid = server_pid(server)
    await ask(server.owner_url, "INSERT INTO kept VALUES ('[3,4]')")
    server.stop()
    server.stop()
    assert server.pid is None
    assert not is_running(pid)

    again = started()
    assert server_pid(again) != pid
    assert ("[3,4]",) in await ask(again.owner_url, READ)


async def test_another_role_reaches_the_same_database(started: Callable[[], EmbeddedPostgres]) -> None:
    server = started()
    await ask(server.owner_url, 'CREATE ROLE "a/b c" LOGIN')
    assert await ask(server.url("a/b c"), "SELECT current_user, current_database()") == [("a/b c", "muniment")]


async def test_configuration(started: Callable[[], EmbeddedPostgres]) -> None:
    rows = await ask(started().owner_url, "SELECT name, current_setting(name) FROM pg_settings")
    found = {str(name): value for name, value in rows}
    expected = {
        "server_encoding": "UTF8",
        "data_checksums": "on",
        "TimeZone": "UTC",
        "listen_addresses": "",
        "synchronous_commit": "on",
        "fsync": "on",
        "full_page_writes": "on",
        "max_connections": "200",
        "shared_buffers": "256MB",
        "max_wal_size": "2GB",
        "jit": "off",
    }
    assert {name: found[name] for name in expected} == expected


async def test_texts_order_by_code_point_and_fold_beyond_ascii(started: Callable[[], EmbeddedPostgres]) -> None:
    statement = "SELECT lower('ÀΣ'), 'Z' < 'a', 'z' < 'é'"
    assert await ask(started().owner_url, statement) == [("àσ", True, True)]


async def test_a_users_text_does_not_reach_the_log(home: Path, started: Callable[[], EmbeddedPostgres]) -> None:
    server = started()
    await ask(server.owner_url, "CREATE TABLE once (t text PRIMARY KEY)")
    with pytest.raises(Exception, match="duplicate key"):
        await ask(server.owner_url, "INSERT INTO once VALUES ('very private'), ('very private')")
    log = (home / "postgres" / "log").read_text()
    assert "duplicate key" in log
    assert "very private" not in log


async def test_the_last_user_stops_the_server(home: Path, started: Callable[[], EmbeddedPostgres]) -> None:
    first, second = started(), started()
    pid = server_pid(first)
    with user_process(home) as third:
        assert first_line(third) == str(pid)
        first.stop()
        second.stop()
        assert is_running(pid)
        third.communicate("", timeout=30)
        assert third.returncode == 0
    assert not is_running(pid)


def test_simultaneous_starts_share_one_server(started: Callable[[], EmbeddedPostgres]) -> None:
    with ThreadPoolExecutor(4) as pool:
        servers = [future.result() for future in [pool.submit(started) for _ in range(4)]]
    assert len({server_pid(server) for server in servers}) == 1


def test_a_killed_user_holds_nothing(home: Path, started: Callable[[], EmbeddedPostgres]) -> None:
    with user_process(home) as child:
        pid = int(first_line(child))
        child.kill()
        child.wait()
    assert is_running(pid)
    adopted = started()
    assert adopted.pid == pid
    adopted.stop()
    assert adopted.pid is None


async def test_a_killed_server_comes_back_with_all_that_was_committed(
    home: Path, started: Callable[[], EmbeddedPostgres]
) -> None:
    with user_process(home) as child:
        pid = int(first_line(child))
        user = started()
        await ask(user.owner_url, "INSERT INTO kept VALUES ('[5,6]')")
        os.kill(pid, signal.SIGKILL)
        revived = started()
        assert server_pid(revived) != pid
        assert ("[5,6]",) in await ask(revived.owner_url, READ)
    user.stop()
    assert ("[5,6]",) in await ask(revived.owner_url, READ)


def test_stopping_a_killed_server_is_no_error(started: Callable[[], EmbeddedPostgres]) -> None:
    server = started()
    os.kill(server_pid(server), signal.SIGKILL)
    server.stop()
    assert server.pid is None


def test_an_interrupt_from_the_terminal_does_not_reach_the_server(
    home: Path, started: Callable[[], EmbeddedPostgres]
) -> None:
    with user_process(home) as child:
        pid = int(first_line(child))
        os.killpg(child.pid, signal.SIGINT)
        child.wait(30)
        assert child.returncode != 0
    assert started().pid == pid


@pytest.mark.parametrize("name", ["deep" * 50, "a:b,c d'é?&=%"])
async def test_any_path_will_do(copy: Path, name: str) -> None:
    home = copy.rename(copy.with_name(name))
    server = EmbeddedPostgres.start(home)
    try:
        link = Path(re.findall("host=([^&]*)", server.owner_url)[0])
        assert link.readlink() == home / "postgres" / "data"
        assert KEPT in await ask(server.owner_url, READ)
        link.unlink()
        again = EmbeddedPostgres.start(home)
        assert again.pid is not None
        again.stop()
    finally:
        server.stop()
        shutil.rmtree(home)
    assert not link.is_symlink()


def test_something_in_the_way_of_the_link(tmp_path: Path) -> None:
    data = tmp_path / ("deep" * 50)
    link = process.socket_folder(data)
    try:
        assert process.socket_folder(data) == link
        link.unlink()
        link.symlink_to(tmp_path)
        with pytest.raises(EmbeddedPostgresError, match=str(link)):
            process.socket_folder(data)
    finally:
        link.unlink()


def test_as_an_ordinary_user_and_after_a_pid_was_used_again(copy: Path) -> None:
    """A stale pid file naming a living process of the same user is what a restarted container finds."""
    for path in [copy, *copy.rglob("*")]:
        os.lchown(path, ORDINARY_UID, -1)
    stranger = "stranger = subprocess.Popen(['/bin/sleep', '60'])\n"
    script = (
        stranger + "server = EmbeddedPostgres.start(home)\n"
        "assert os.stat(f'/proc/{server.pid}').st_uid == uid\n"
        "os.kill(server.pid, signal.SIGKILL)\n"
        "server.stop()\n"
        "for name in ('postmaster.pid', '.s.PGSQL.5432.lock'):\n"
        "    file = home / 'postgres' / 'data' / name\n"
        "    file.write_text('\\n'.join([str(stranger.pid), *file.read_text().splitlines()[1:]]) + '\\n')\n"
        f"server = EmbeddedPostgres.start(home, {QUICK_RECOVERY})\n"
        "print(server.pid, flush=True)\n"
        "server.stop()\n"
        "stranger.kill()\n"
        "print(server.pid, flush=True)\n"
    )
    open_way(copy)
    with user_process(copy, script, uid=ORDINARY_UID) as child:
        assert first_line(child).isdigit()
        assert first_line(child) == "None"


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    open_way(closed / "home")
    script = "try: EmbeddedPostgres.start(home)\nexcept EmbeddedPostgresError as error: print(error, flush=True)"
    with user_process(closed / "home", script, uid=ORDINARY_UID) as child:
        assert re.search(f"{closed / 'home'}.*Permission denied", first_line(child))


def test_a_file_in_place_of_the_home(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    with pytest.raises(EmbeddedPostgresError, match=str(tmp_path / "home")):
        EmbeddedPostgres.start(tmp_path / "home")


def test_data_of_another_major_version(copy: Path) -> None:
    (copy / "postgres" / "data" / "PG_VERSION").write_text("17\n")
    with pytest.raises(EmbeddedPostgresError, match=r"postgres/data was made by PostgreSQL 17.* runs 18"):
        EmbeddedPostgres.start(copy)


async def test_settings_win_and_a_bad_one_is_told(home: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match="work_mem"):
        EmbeddedPostgres.start(home, {"work_mem": "it's nothing"})
    server = EmbeddedPostgres.start(home, {"work_mem": "5MB", "jit": "on"})
    try:
        assert await ask(server.owner_url, "SELECT current_setting('work_mem'), current_setting('jit')") == [
            ("5MB", "on")
        ]
    finally:
        server.stop()


def test_a_holder_of_a_deleted_home_lets_its_successor_be(home: Path, copy: Path) -> None:
    old = EmbeddedPostgres.start(copy)
    forgotten = server_pid(old)
    shutil.rmtree(copy)
    shutil.copytree(home, copy)
    new = EmbeddedPostgres.start(copy)
    try:
        pid = server_pid(new)
        old.stop()
        assert new.pid == pid
    finally:
        new.stop()
        os.kill(forgotten, signal.SIGQUIT)
        process.reap(forgotten)


def test_a_holder_of_a_deleted_home_may_stop(copy: Path) -> None:
    server = EmbeddedPostgres.start(copy)
    pid = server_pid(server)
    shutil.rmtree(copy)
    server.stop()
    os.kill(pid, signal.SIGQUIT)
    process.reap(pid)


@pytest.mark.skipif(not ROOT, reason="only root runs the server as somebody else")
def test_root_copies_programs_that_only_root_can_reach(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir(mode=0o700)
    installed = process.package_folder()
    for folder in (installed, installed.with_name(f"{installed.name}.libs")):
        shutil.copytree(folder, hidden / folder.name, ignore=shutil.ignore_patterns("pginstall", "include"))
    cache = Path("/var/tmp") / f"muniment-test-{os.getpid()}"
    monkeypatch.setattr(process, "PROGRAM_CACHE", cache)
    monkeypatch.setattr(process, "package_folder", lambda: hidden / installed.name)
    try:
        server = EmbeddedPostgres.start(home)
        program = Path(f"/proc/{server.pid}/exe").readlink()
        owner = os.stat(f"/proc/{server.pid}").st_uid
        server.stop()
        assert program.is_relative_to(cache)
        assert owner == process.SERVICE_ID
        assert hidden.stat().st_mode & 0o777 == 0o700
        (programs,) = cache.iterdir()
        programs.chmod(0o777)
        with pytest.raises(EmbeddedPostgresError, match=str(programs)):
            EmbeddedPostgres.start(home)
    finally:
        shutil.rmtree(cache)
        shutil.rmtree(hidden)
