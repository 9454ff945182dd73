"""Threads that prepare texts, and nothing else: what else is done in threads (the chain's files, checkpoints) never
waits for a text. They are daemons, so that the end of the process does not wait for them either."""

import asyncio
import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

THREADS: Final = max(2, os.cpu_count() or 1)


class Stopped(Exception):
    """Nobody waits for what is being prepared any more."""


_mine = threading.local()
_waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
_lock = threading.Lock()
_threads: list[threading.Thread] = []


def go_on() -> None:
    """Looked at between documents and between slices. Raises `Stopped` where the work was abandoned."""
    stop = getattr(_mine, "stop", None)
    if stop is not None and stop.is_set():
        raise Stopped


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """As `asyncio.to_thread`, in these threads; cancelled, the work stops at its next `go_on`, or never begins."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    stop = threading.Event()
    context = copy_context()

    def settle(set_it: Callable[[], None]) -> None:
        if not future.done():
            set_it()

    def run() -> None:
        if stop.is_set():
            return
        _mine.stop = stop
        try:
            made = context.run(work, *args, **kwargs)
        except BaseException as error:
            told = error
            tell = lambda: future.set_exception(told)  # noqa: E731
        else:
            tell = lambda: future.set_result(made)  # noqa: E731
        finally:
            _mine.stop = None
        try:
            loop.call_soon_threadsafe(settle, tell)
        except RuntimeError:
            # The loop is closed: nobody is left to be told.
            return

    _start()
    _waiting.put(run)
    try:
        return await future
    finally:
        stop.set()


def _start() -> None:
    with _lock:
        if len(_threads) < THREADS:
            thread = threading.Thread(target=_serve, name=f"preparing-{len(_threads)}", daemon=True)
            _threads.append(thread)
            thread.start()


def _serve() -> None:
    while True:
        _waiting.get()()
