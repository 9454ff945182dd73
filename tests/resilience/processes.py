"""Which processes a home has, asked of the kernel: a pid file may lie."""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def of_home(home: Path) -> set[int]:
    """Living processes of the embedded PostgreSQL of a home: they all work in its folder."""
    folder = home.resolve() / "postgres"
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                place = (entry / "cwd").readlink()
            except OSError:  # gone, a zombie, or somebody else's
                continue
            if place.is_relative_to(folder):
                found.add(int(entry.name))
    return found


def parent_of(pid: int) -> int:
    """0 when the process is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def postmaster(home: Path) -> int:
    """The one whose parent is not one of them. After it was killed, its children are orphans for a moment."""
    pids = of_home(home)
    roots = {pid for pid in pids if (parent := parent_of(pid)) and parent not in pids}
    named = (home / "postgres" / "data" / "postmaster.pid").read_text().split()[0]
    assert int(named) in roots, (named, roots)
    return int(named)


@contextmanager
def kept_down(home: Path) -> Iterator[None]:
    """Nobody can start the PostgreSQL of a home meanwhile: the lock of those who do is held."""
    with (home / "postgres" / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def wait(condition: Callable[[], bool], what: str, patience: float = 60.0) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"after {patience:g} s still not: {what}"
        time.sleep(0.02)
