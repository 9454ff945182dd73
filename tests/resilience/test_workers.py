"""Several server processes behind one port, over one database: any of them answers, one that dies is started again,
and all of them end together."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.server import LiveServer
from tests.resilience.processes import of_home, parent_of, wait

ASK = '{ retrieve(input: {query: "refunds", spaceKey: "muniment"}) { attributionId } }'
FIND = "query($id: ID!) { attribution(id: $id) { id } }"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "refunds.md").write_text("# Refunds\n\nRefunds are authorised by tier two agents.\n")
    made = LiveServer(tmp_path / "home")
    assert made.run("ingest", str(folder)).returncode == 0
    made.start("--no-demo", "--workers", "2")
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.kill()
        made.process.wait()
    for pid in of_home(made.home):
        os.kill(pid, signal.SIGKILL)


def workers(server: LiveServer) -> set[int]:
    assert server.process is not None
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and parent_of(int(entry.name)) == server.process.pid:
            try:
                if b"spawn_main" in (entry / "cmdline").read_bytes():
                    found.add(int(entry.name))
            except OSError:
                continue
    return found


def test_two_processes_serve_and_one_is_replaced(server: LiveServer) -> None:
    wait(lambda: len(workers(server)) == 2, "both run")
    token = server.token
    ids = [server.ask(ASK, token=token)["data"]["retrieve"]["attributionId"] for _ in range(20)]
    for id in ids:
        assert server.ask(FIND, {"id": id}, token)["data"]["attribution"]["id"] == id

    before = workers(server)
    os.kill(min(before), signal.SIGKILL)
    wait(lambda: len(workers(server) - before) == 1 and len(workers(server)) == 2, "another one is started")
    wait(lambda: all(server.get("/readyz") == 200 for _ in range(10)), "both answer")

    wait(lambda: server.ask("{ status { queueDepth } }", token=token)["data"]["status"]["queueDepth"] == 0, "chained")
    found = server.ask("{ verifyChain { verdict checkedRecords } }", token=token)["data"]["verifyChain"]
    assert found["verdict"] == "VALID"
    assert found["checkedRecords"] >= 20
    assert server.stop() == 0
    assert of_home(server.home) == set()
    assert "Traceback" not in server.log


def test_processes_end_with_the_one_that_watches_them(server: LiveServer) -> None:
    wait(lambda: len(workers(server)) == 2, "both run")
    children = workers(server)
    assert server.process is not None
    server.process.kill()
    server.process.wait()
    wait(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in children), "they notice")
    wait(lambda: of_home(server.home) == set(), "and the last one stops the database")
