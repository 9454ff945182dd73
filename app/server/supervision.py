"""Several server processes behind one listening socket: started, started again when one dies, stopped together."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event
from socket import socket
from time import monotonic
from types import FrameType
from typing import Final

import structlog
from prometheus_client.multiprocess import mark_process_dead

from app.domain.errors import Code, MunimentError
from app.server.metrics import SHARED

log = structlog.get_logger()

#: What one process does until it ends; it sets the event once it can be reached.
Work = Callable[[socket, Event], None]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Seconds between two looks at signals, and before a process that died is started again.
LOOK, PAUSE = 0.2, 1.0


class Supervisor:
    """`count` processes that do `work`. The kernel gives each connection to one of them."""

    def __init__(self, work: Work, listening: socket, count: int) -> None:
        self._work = work
        self._listening = listening
        self._count = count
        self._spawn = multiprocessing.get_context("spawn")
        self._started = self._spawn.Event()
        self._processes: list[SpawnProcess] = []
        self._signals = 0

    def run(self, on_started: Callable[[], None]) -> None:
        """Until a signal has ended all of them. The first one asks them to finish, a second one not to.

        Raises MunimentError when a process ends before any could be reached."""
        with self._heard():
            try:
                self._watch(on_started)
            finally:
                for process in self._processes:
                    process.terminate()
                for process in self._processes:
                    process.join()

    def _watch(self, on_started: Callable[[], None]) -> None:
        due = [0.0] * self._count
        told, passed_on = False, 0
        while True:
            for process in [process for process in self._processes if not process.is_alive()]:
                self._processes.remove(process)
                self._ended(process)
                due.append(monotonic() + PAUSE)
            if self._signals > passed_on:
                passed_on = self._signals
                for process in self._processes:
                    process.terminate()
            if self._signals and not self._processes:
                return
            if not self._signals:
                for _ in [at for at in due if at <= monotonic()]:
                    self._processes.append(self._begin())
                due = [at for at in due if at > monotonic()]
            if not told and self._started.is_set():
                told = True
                on_started()
            wait([process.sentinel for process in self._processes], LOOK)

    def _begin(self) -> SpawnProcess:
        process = self._spawn.Process(target=_run, args=(self._work, self._listening, self._started))
        process.start()
        return process

    def _ended(self, process: SpawnProcess) -> None:
        if SHARED in os.environ and process.pid is not None:
            mark_process_dead(process.pid)  # type: ignore[no-untyped-call]
        if self._signals:
            return
        if not self._started.is_set():
            raise MunimentError(Code.INTERNAL, "a server process ended before it could be reached; its log says why")
        log.error("server.process_died", pid=process.pid, code=process.exitcode)

    @contextmanager
    def _heard(self) -> Iterator[None]:
        def hear(_number: int, _frame: FrameType | None) -> None:
            self._signals += 1

        before = {number: signal.signal(number, hear) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _run(work: Work, listening: socket, started: Event) -> None:
    """In the new process. A session of its own: Ctrl-C reaches the one that watches, which passes it on once."""
    os.setsid()
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, daemon=True).start()
    work(listening, started)
