"""PostgreSQL with pgvector in a folder of the home, shared by every process that uses that home.

Nothing here trusts a pid file. Whether the server lives is asked by connecting; who uses it, and whether any process
of it is left, are kernel locks, which cannot outlive their holders:

- `lock`   exclusive while somebody starts or stops the server;
- `users`  shared, one for each user; who can make it exclusive is the last;
- `alive`  inherited by the server and all its children; free means that none is left.
"""

import fcntl
import os
import signal
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from app.providers import process
from app.providers.process import MAJOR, EmbeddedPostgresError

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError"]

DATABASE = "muniment"
OWNER = "postgres"

#: postgresql.conf, rewritten whenever a start finds no server running. The socket is named relative to the data
#: directory: no path is too long for the server then. Statements and row values stay out of the log: they are users'
#: texts, and what is erased from the store must not live on in a log.
SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_directories": ".",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "effective_cache_size": "2GB",
    "maintenance_work_mem": "256MB",
    "random_page_cost": "1.1",
    "jit": "off",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "2GB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}

#: Exit codes of pg_isready.
_ACCEPTING, _REJECTING, _NO_RESPONSE = 0, 1, 2
_LAUNCHES = 3
_START_SECONDS = 600.0  # replaying max_wal_size after a crash on a slow disk takes minutes
_SILENT_SECONDS = 60.0
_POLL_SECONDS, _LONGEST_POLL_SECONDS = 0.03, 0.5
_STOP_STEPS = ((signal.SIGINT, 60.0), (signal.SIGQUIT, 15.0))  # fast shutdown, then immediate
_LOG_BYTES = 10_000_000


class EmbeddedPostgres:
    """One user's hold on the server of a home. Each `start` needs its own `stop`."""

    def __init__(self, home: Path) -> None:
        """Use `start`; this only makes and locates the folders."""
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._account = process.account_for(home)
        self._folder = home / "postgres"
        if not self._folder.is_dir():
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if self._account:
                os.chown(self._folder, home.stat().st_uid, home.stat().st_gid)
        self._data = self._folder / "data"
        self._binaries = process.package_folder() / f"pginstall{MAJOR}" / "bin"
        self._users: int | None = None
        self._settings: Mapping[str, str] = {}
        self._socket_folder = self._data

    @classmethod
    def start(cls, home: Path, settings: Mapping[str, str] | None = None) -> "EmbeddedPostgres":
        """Join the server of `home`, starting it (and creating it and the database) when there is none.

        `settings` are PostgreSQL settings that win over ours; they count for the start that launches the server.
        Blocks until connections are accepted, at longest 10 minutes of crash recovery.
        Raises EmbeddedPostgresError naming the folder when the disk, its rights or its data do not allow it.
        """
        home = Path(home).expanduser().resolve()
        try:
            server = cls(home)
            with server._held("lock"):
                server._join(settings or {})
        except OSError as failure:
            reason = failure.strerror or str(failure)
            raise EmbeddedPostgresError(
                f"The embedded PostgreSQL cannot use {failure.filename or home} (home {home}): {reason}."
            ) from failure
        return server

    @property
    def owner_url(self) -> str:
        """SQLAlchemy URL of the database as its owner, who may create tables, extensions and roles."""
        return self.url(OWNER)

    def url(self, user: str) -> str:
        """SQLAlchemy URL of the database as another role. The port only keeps $PGPORT from being obeyed."""
        return f"postgresql+asyncpg://{quote(user, safe='')}@/{DATABASE}?host={self._socket_folder}&port=5432"

    @property
    def pid(self) -> int | None:
        """Process id of the postmaster that holds the socket, None when there is none."""
        if not hasattr(socket, "SO_PEERCRED"):
            return self._pid_from_file()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(5)
            try:
                connection.connect(str(self._socket_folder / ".s.PGSQL.5432"))
            except OSError:
                return None
            size = struct.calcsize("3i")
            pid: int = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[0]
            return pid or None

    @property
    def answers(self) -> bool:
        """Whether something holds the socket. False as soon as the postmaster is gone."""
        return self.pid is not None

    def revive(self) -> None:
        """Start the server again if it has died, as `start` would; nothing when another user of the home did, or when
        this hold was let go meanwhile. Raises as `start` does."""
        try:
            with self._held("lock"):
                if self._users is not None:
                    self._await_server(self._settings)
        except OSError as failure:
            reason = failure.strerror or str(failure)
            raise EmbeddedPostgresError(f"The embedded PostgreSQL cannot be started again: {reason}.") from failure

    def stop(self) -> None:
        """Let go. The last living user shuts the server down and returns when no process of it is left.

        A second call does nothing. Nor is anything to do when the home was deleted meanwhile: a server that misses its
        data directory ends itself. Raises EmbeddedPostgresError when not even an immediate shutdown ends it.
        """
        if self._users is None:
            return
        try:
            with self._held("lock"):
                self._let_go()
        except FileNotFoundError:
            self._drop_users()

    def _join(self, settings: Mapping[str, str]) -> None:
        """Needs `lock`. A failed or interrupted start leaves no server behind that nobody uses."""
        self._users = self._open("users")
        self._settings = settings
        try:
            fcntl.flock(self._users, fcntl.LOCK_SH)
            self._ensure_cluster()
            self._socket_folder = process.socket_folder(self._data)
            self._await_server(settings)
            self._create_database()
        except BaseException:
            with suppress(EmbeddedPostgresError):
                self._let_go()
            raise

    def _let_go(self) -> None:
        """Needs `lock`."""
        try:
            if self._is_last():
                self._shut_down()
        finally:
            self._drop_users()

    def _is_last(self) -> bool:
        """False too for a hold on a home that was deleted and made anew: its server is not ours."""
        if self._users is None or not os.path.samestat(os.fstat(self._users), os.stat(self._folder / "users")):
            return False
        try:
            fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _drop_users(self) -> None:
        if self._users is not None:
            _release(self._users)
            self._users = None

    def _ensure_cluster(self) -> None:
        if not self._data.is_dir():
            process.create_cluster(self._data, OWNER, self._account)
        found = (self._data / "PG_VERSION").read_text().strip()
        if found != MAJOR:
            raise EmbeddedPostgresError(
                f"{self._data} was made by PostgreSQL {found}, and this version runs {MAJOR}: restore a dump of it "
                f"into a new home, or move the folder away to begin anew."
            )
        if self._account and self._data.stat().st_uid != self._account.uid:
            process.give(self._data, self._account)

    def _await_server(self, settings: Mapping[str, str]) -> None:
        """Until connections are accepted. A server found alive is adopted, whoever started it; one on its way up or
        down is waited for, and so are the children of a killed one.
        """
        launches, pause = 0, _POLL_SECONDS
        begun = heard = time.monotonic()
        process.reap()
        while (status := self._status()) != _ACCEPTING:
            now = time.monotonic()
            if status != _NO_RESPONSE:
                heard = now
            elif not self._is_alive():
                if launches == _LAUNCHES:
                    raise EmbeddedPostgresError(f"PostgreSQL does not start in {self._data}:\n{self._log_end()}")
                time.sleep(0.25 * launches)
                self._launch(settings)
                launches += 1
                heard = time.monotonic()
            if now - begun > _START_SECONDS or now - heard > _SILENT_SECONDS:
                raise EmbeddedPostgresError(
                    f"The PostgreSQL in {self._data} runs but does not answer:\n{self._log_end()}"
                )
            time.sleep(pause)
            pause = min(1.2 * pause, _LONGEST_POLL_SECONDS)

    def _launch(self, settings: Mapping[str, str]) -> None:
        """Needs `lock`, and that no process of the server is left."""
        self._write_settings({**process.shared_memory_settings(), **SETTINGS, **settings})
        # Left by a killed server: the number inside may be a stranger's by now, and PostgreSQL would not start.
        for left in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            (self._data / left).unlink(missing_ok=True)
        log_path = self._folder / "log"
        with suppress(FileNotFoundError):
            if log_path.stat().st_size > _LOG_BYTES:
                log_path.replace(log_path.with_name("log.1"))
        alive, log = self._open("alive"), self._open("log")
        try:
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
            command = [
                str(process.programs(self._account) / "postgres"),
                "-D",
                process.data_argument(self._data, self._account),
            ]
            process.launch(command, account=self._account, cwd=self._data, log=log, keep=alive)
        finally:
            os.close(log)
            os.close(alive)

    def _write_settings(self, settings: Mapping[str, str]) -> None:
        lines = [f"{name} = '{value.replace(chr(39), chr(39) * 2)}'\n" for name, value in settings.items()]
        written = self._data / "postgresql.conf.new"
        written.unlink(missing_ok=True)
        with open(os.open(written, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write("# Written at every start: pass settings to the application instead of editing this.\n")
            file.writelines(lines)
        if self._account:
            os.chown(written, *self._account)
        written.replace(self._data / "postgresql.conf")

    def _create_database(self) -> None:
        script = (
            f"SELECT 'CREATE DATABASE {DATABASE}' WHERE NOT EXISTS "
            f"(SELECT FROM pg_database WHERE datname = '{DATABASE}') \\gexec\n"
        )
        options = ["-X", "-q", "-w", "-v", "ON_ERROR_STOP=1", "-d", "postgres", *self._target()]
        done = process.run([str(self._binaries / "psql"), *options], text=script)
        if done.returncode:
            raise EmbeddedPostgresError(
                f"The database could not be created in {self._data}: {done.stderr.strip()}\n{self._log_end()}"
            )

    def _shut_down(self) -> None:
        """Needs `lock`."""
        self._socket_folder = process.socket_folder(self._data)  # again: old links get cleaned out of temporary folders
        signalled: tuple[signal.Signals, int] | None = None
        for step, seconds in _STOP_STEPS:
            deadline = time.monotonic() + seconds
            while (pid := self.pid) or self._is_alive():
                if time.monotonic() > deadline:
                    break
                if pid and signalled != (step, pid):
                    with suppress(ProcessLookupError):
                        os.kill(pid, step)
                    signalled = (step, pid)
                time.sleep(_POLL_SECONDS)
            else:
                process.reap(ended=signalled[1] if signalled else None)
                if self._socket_folder != self._data:
                    self._socket_folder.unlink(missing_ok=True)
                return
        raise EmbeddedPostgresError(f"The PostgreSQL in {self._data} does not end:\n{self._log_end()}")

    def _status(self) -> int:
        """Exit code of pg_isready, which also tells a full server (accepting) from one that starts or stops."""
        done = process.run([str(self._binaries / "pg_isready"), "-q", "-t", "5", *self._target()])
        if done.returncode not in {_ACCEPTING, _REJECTING, _NO_RESPONSE}:
            raise EmbeddedPostgresError(f"{done.args[0]} cannot run: {done.stderr.strip()}")
        return done.returncode

    def _target(self) -> list[str]:
        return ["-h", str(self._socket_folder), "-p", "5432", "-U", OWNER]

    def _is_alive(self) -> bool:
        alive = self._open("alive")
        try:
            fcntl.flock(alive, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            _release(alive)
        return False

    def _pid_from_file(self) -> int | None:
        with suppress(OSError, ValueError, IndexError):
            return int((self._data / "postmaster.pid").read_text().splitlines()[0]) if self._is_alive() else None
        return None

    @contextmanager
    def _held(self, name: str) -> Iterator[None]:
        held = self._open(name)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield
        finally:
            _release(held)

    def _open(self, name: str) -> int:
        """Links are not followed: root may be working in a folder of somebody else."""
        path = self._folder / name
        flags = os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        opened = os.open(path, flags, 0o600)
        if self._account:
            owner = self._folder.stat()
            os.fchown(opened, owner.st_uid, owner.st_gid)
        return opened

    def _log_end(self) -> str:
        with suppress(OSError):
            return "\n".join((self._folder / "log").read_text(errors="replace").splitlines()[-12:])
        return ""


def _release(lock: int) -> None:
    """Unlocked by name: closing alone would leave the lock with a child that was forked meanwhile."""
    fcntl.flock(lock, fcntl.LOCK_UN)
    os.close(lock)
