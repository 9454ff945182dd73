"""What happens when parts of the house fail, with clients at it the whole time:

    python -m tests.resilience.faults [--seconds 3]

A real server over a PostgreSQL of its own. Each fault holds for some seconds, then it is mended; nobody restarts the
server. Printed: what clients were told meanwhile, how many delivered retrievals are not in the evidence afterwards
(never any), and how long it took until answers came again (for information).
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

from app.providers.embedded_postgres import EmbeddedPostgres
from tests.fixtures.owner import dsn
from tests.fixtures.server import LiveServer
from tests.resilience.processes import of_home, wait

ASK = '{ retrieve(input: {query: "who authorises refunds", spaceKey: "muniment"}) { attributionId passages { text } } }'
FIND = "query($id: ID!) { attribution(id: $id) { state } }"
WRITE = 'mutation($k: String!) { ensureSpace(spaceKey: $k, level: PROJECT, name: "n") { id } }'
CLIENTS = 2
#: Not looked at by the database, and never to be seen.
PASSWORD = "marked-password"


@dataclass
class House:
    """A server, its database beside it, and what clients were told."""

    place: Path
    server: LiveServer
    database: EmbeddedPostgres
    delivered: list[str] = field(default_factory=list)
    told: "Counter[str]" = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def owner(self, *statements: str) -> None:
        """Run as the tables' owner, each by itself."""

        async def run() -> None:
            connection = await asyncpg.connect(dsn(self.database.owner_url))
            try:
                for statement in statements:
                    await connection.execute(statement)
            finally:
                await connection.close()

        asyncio.run(run())

    def ask(self, query: str = ASK, **variables: object) -> str:
        """One operation; its code, `ok` when it was answered."""
        try:
            body = self.server.ask(query, variables, self.server.token)
        except (OSError, ValueError) as error:
            return type(error).__name__
        if "errors" in body:
            code: str = body["errors"][0]["extensions"]["code"]
            assert not (body.get("data") or {}).get("retrieve"), "an error came with passages"
            return code
        if answer := body["data"].get("retrieve"):
            with self._lock:
                self.delivered.append(answer["attributionId"])
        return "ok"

    def lost(self) -> list[str]:
        """Delivered retrievals that the evidence does not know."""
        return [
            id
            for id in self.delivered
            if not (self.server.ask(FIND, {"id": id}, self.server.token).get("data") or {}).get("attribution")
        ]

    def quiet(self) -> bool:
        body = self.server.ask("{ status { queueDepth } }", None, self.server.token)
        return "errors" not in body and body["data"]["status"]["queueDepth"] == 0

    def verdict(self) -> str:
        body = self.server.ask("{ verifyChain { verdict } }", None, self.server.token)
        found: str = body["data"]["verifyChain"]["verdict"]
        return found


@contextmanager
def house(**options: str) -> Iterator[House]:
    place = Path(tempfile.mkdtemp(prefix="muniment-faults-"))
    database = EmbeddedPostgres.start(place / "elsewhere")
    server = LiveServer(
        place / "home",
        options={
            "MUNIMENT_DATABASE_URL": database.owner_url.replace("+asyncpg", "").replace("@", f":{PASSWORD}@", 1),
            "MUNIMENT_STATEMENT_TIMEOUT_MS": "1000",
            "MUNIMENT_POOL_SIZE": "4",
            "MUNIMENT_POOL_WAIT_MS": "300",
            **options,
        },
    )
    try:
        handbook = place / "handbook"
        handbook.mkdir()
        (handbook / "refunds.md").write_text("# Refunds\n\nRefunds are authorised by tier two agents.\n")
        done = server.run("ingest", str(handbook))
        assert done.returncode == 0, done.stderr
        server.start("--no-demo")
        yield House(place, server, database)
    finally:
        if server.process is not None and server.process.poll() is None:
            server.stop()
        database.stop()
        for pid in of_home(place / "elsewhere"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(place, ignore_errors=True)


# Faults: what each does while it lasts, and how it is mended.


@contextmanager
def restarted(there: House, _seconds: float) -> Iterator[None]:
    there.database.stop()
    there.database = EmbeddedPostgres.start(there.place / "elsewhere")
    yield


@contextmanager
def killed(there: House, _seconds: float) -> Iterator[None]:
    pid = there.database.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    yield
    there.database.revive()


@contextmanager
def backend_killed(there: House, _seconds: float) -> Iterator[None]:
    """PostgreSQL then ends all others and recovers."""
    backends = of_home(there.place / "elsewhere") - {there.database.pid}
    for pid in backends:
        with suppress(OSError):
            if (
                b"muniment_app" in Path(f"/proc/{pid}/cmdline").read_bytes()
                or b"[local]" in Path(f"/proc/{pid}/cmdline").read_bytes()
            ):
                os.kill(pid, signal.SIGKILL)
                break
    yield


@contextmanager
def stands_still(there: House, _seconds: float) -> Iterator[None]:
    still = of_home(there.place / "elsewhere")
    for pid in still:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in still:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextmanager
def read_only(there: House, _seconds: float) -> Iterator[None]:
    cut = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'muniment' AND pid <> pg_backend_pid()"
    )
    there.owner("ALTER DATABASE muniment SET default_transaction_read_only = on", cut)
    try:
        yield
    finally:
        there.owner("SET default_transaction_read_only = off", "ALTER DATABASE muniment RESET ALL", cut)


@contextmanager
def disk_full(there: House, _seconds: float) -> Iterator[None]:
    """The queue of evidence on a disk of a megabyte, which something fills; where none can be mounted, PostgreSQL's own
    words for it from a trigger."""
    small = there.place / "small"
    small.mkdir()
    data = there.place / "elsewhere" / "postgres" / "data"
    mounting = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)]
    mounted = os.geteuid() == 0 and subprocess.run(mounting, capture_output=True, check=False).returncode == 0
    if not mounted:
        there.owner(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$",
            "CREATE TRIGGER full_disk BEFORE INSERT ON attribution_queue FOR EACH ROW EXECUTE FUNCTION full_disk()",
        )
        try:
            yield
        finally:
            there.owner("DROP TRIGGER full_disk ON attribution_queue", "DROP FUNCTION full_disk()")
        return
    for path in (there.place, there.place / "elsewhere", there.place / "elsewhere" / "postgres"):
        path.chmod(path.stat().st_mode | 0o011)
    os.chown(small, data.stat().st_uid, data.stat().st_gid)
    small.chmod(0o700)
    try:
        there.owner(f"CREATE TABLESPACE small LOCATION '{small}'", "ALTER TABLE attribution_queue SET TABLESPACE small")
        try:
            with suppress(OSError), (small / "filling").open("wb", buffering=0) as filling:
                while filling.write(b"\0" * 4096) == 4096:
                    pass
            yield
        finally:
            (small / "filling").unlink()
            there.owner("ALTER TABLE attribution_queue SET TABLESPACE pg_default", "DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", "-l", str(small)], capture_output=True, check=False)
        with suppress(OSError):
            small.rmdir()


@contextmanager
def locked(there: House, _seconds: float) -> Iterator[None]:
    """Somebody holds what every retrieval must write; statements reach their limit and the pool runs empty."""
    done = threading.Event()

    async def hold() -> None:
        connection = await asyncpg.connect(dsn(there.database.owner_url))
        async with connection.transaction():
            await connection.execute("LOCK TABLE attribution_queue IN ACCESS EXCLUSIVE MODE")
            await asyncio.to_thread(done.wait)
        await connection.close()

    holding = threading.Thread(target=lambda: asyncio.run(hold()))
    holding.start()
    crowd = [threading.Thread(target=lambda: there.told.update([there.ask()])) for _ in range(24)]
    for one in crowd:
        one.start()
    try:
        yield
    finally:
        done.set()
        holding.join()
        for one in crowd:
            one.join()


@contextmanager
def no_heads(there: House, _seconds: float) -> Iterator[None]:
    """The place of the chain's heads cannot be used: a file is in its way."""
    heads, away = there.server.home / "heads", there.server.home / "heads.away"
    heads.rename(away)
    heads.write_text("")
    try:
        yield
    finally:
        heads.unlink()
        away.rename(heads)


@contextmanager
def no_keys(there: House, _seconds: float) -> Iterator[None]:
    keys, away = there.server.home / "keys", there.server.home / "keys.away"
    keys.rename(away)
    try:
        yield
    finally:
        if keys.exists():
            shutil.rmtree(keys)
        away.rename(keys)


@contextmanager
def hung_up(there: House, seconds: float) -> Iterator[None]:
    """Clients that leave in the middle, as fast as they come."""
    body = json.dumps({"query": ASK}).encode()
    head = (
        f"POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"Authorization: Bearer {there.server.token}\r\n\r\n"
    ).encode()
    until, count = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        with socket.create_connection(("127.0.0.1", there.server.port)) as client:
            client.sendall(head + body)
            time.sleep(0.002 * (count % 10))
        count += 1
    yield


@contextmanager
def server_restarted(there: House, _seconds: float) -> Iterator[None]:
    """SIGTERM with clients at it; and it is started again."""
    assert there.server.stop() == 0
    yield
    there.server.start("--no-demo")


Fault = Callable[[House, float], Any]

FAULTS: dict[str, Fault] = {
    "database restarted": restarted,
    "postmaster killed": killed,
    "backend killed": backend_killed,
    "database stands still": stands_still,
    "database read-only": read_only,
    "disk full": disk_full,
    "table locked, pool empty": locked,
    "chain heads unusable": no_heads,
    "key folder missing": no_keys,
    "clients hang up": hung_up,
    "server told to stop": server_restarted,
}


@dataclass(frozen=True)
class Outcome:
    fault: str
    told: dict[str, int]
    write: str
    delivered: int
    lost: int
    verdict: str
    recovery: float


def suffer(there: House, name: str, seconds: float) -> Outcome:
    """One fault, with clients before, during and after it."""
    before = len(there.delivered)
    there.told = Counter()
    stop = threading.Event()

    def client() -> None:
        while not stop.is_set():
            told = there.ask()
            there.told[told] += 1
            if told != "ok":
                time.sleep(0.05)

    clients = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for one in clients:
        one.start()
    time.sleep(0.2)
    with FAULTS[name](there, seconds):
        time.sleep(seconds)
        write = there.ask(WRITE, k=f"muniment/f{time.monotonic_ns()}")
    mended = time.monotonic()
    wait(lambda: there.ask() == "ok", "answers come again")
    recovery = time.monotonic() - mended
    stop.set()
    for one in clients:
        one.join()
    wait(there.quiet, "all is chained")
    return Outcome(
        name,
        dict(there.told),
        write,
        len(there.delivered) - before,
        len(there.lost()),
        there.verdict(),
        recovery,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="How long each fault holds.")
    parser.add_argument("--only", choices=sorted(FAULTS), action="append", help="These faults and no other.")
    arguments = parser.parse_args()
    print(f"{'fault':26} {'told':58} {'write':20} {'delivered':>9} {'lost':>4} {'chain':7} {'recovered':>9}")
    failed = False
    with house() as there:
        for name in arguments.only or FAULTS:
            outcome = suffer(there, name, arguments.seconds)
            told = ", ".join(f"{code} {count}" for code, count in sorted(outcome.told.items()))
            print(
                f"{name:26} {told:58} {outcome.write:20} {outcome.delivered:9} {outcome.lost:4} {outcome.verdict:7} "
                f"{outcome.recovery:7.2f} s",
                flush=True,
            )
            failed |= bool(outcome.lost) or outcome.verdict != "VALID" or "INTERNAL" in outcome.told
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
