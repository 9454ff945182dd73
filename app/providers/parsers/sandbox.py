"""Parsing in another process, which is ended when it takes too long and cannot take more memory than it is given."""

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from app.providers.parsers.blocks import Parsed, Unsupported
from app.providers.parsers.wire import MEMORY_BYTES, read_frame, to_parsed, write_frame

#: Wall-clock seconds that one document may take.
SECONDS = 120.0
#: Processes at once; and documents of one, since what libraries leave behind adds up.
PROCESSES, DOCUMENTS = 2, 200

_ROOT = Path(__file__).resolve().parents[3]
#: Nothing of the environment is needed, and secrets stand in it.
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH")


class _Worker:
    """One process; it is asked by one thread at a time."""

    def __init__(self) -> None:
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        environment["PYTHONPATH"] = str(_ROOT)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app.providers.parsers.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=_ROOT,
            # Ctrl-C is for the parent, which ends its workers itself.
            start_new_session=True,
        )
        self.documents = 0

    def ask(self, name: str, data: bytes, seconds: float) -> bytes | None:
        """The answer; None where the process ended without one."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.documents += 1
        timer = threading.Timer(seconds, self.process.kill)
        timer.daemon = True
        timer.start()
        try:
            head = {"name": name, "size": len(data), "seconds": seconds}
            write_frame(self.process.stdin, json.dumps(head).encode())
            self.process.stdin.write(data)
            self.process.stdin.flush()
            return read_frame(self.process.stdout)
        except OSError:
            return None
        finally:
            timer.cancel()

    def end(self) -> None:
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        self.process.wait()


class Sandbox:
    """Processes that parse; started when they are first needed, shared by threads."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._free = threading.BoundedSemaphore(PROCESSES)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []

    def parse(self, name: str, data: bytes) -> Parsed:
        """What `registry.read` gives for it; raises `Unsupported` where it fails, hangs or grows too large."""
        with self._free:
            worker = self._take()
            try:
                answer = worker.ask(name, data, self.seconds)
            except BaseException:
                worker.end()
                raise
            code = worker.process.poll() if answer is not None else worker.process.wait()
            if code is not None or worker.documents >= DOCUMENTS:
                worker.end()
            else:
                with self._lock:
                    self._idle.append(worker)
        if answer is None:
            raise Unsupported(_ending(code, self.seconds))
        found = json.loads(answer)
        if "unsupported" in found:
            raise Unsupported(found["unsupported"])
        if "exhausted" in found:
            raise Unsupported(
                f"It needs more than {MEMORY_BYTES // (1024 * 1024)} MB of memory or is nested too deeply."
            )
        if "failed" in found:
            raise Unsupported(f"Damaged: the parser failed ({found['failed']}).")
        return to_parsed(found)

    def _take(self) -> _Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.process.poll() is None:
                    return worker
                worker.end()
        return _Worker()

    def close(self) -> None:
        """End the processes that wait."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()


def _ending(code: int | None, seconds: float) -> str:
    # SIGKILL is ours, SIGXCPU the kernel's for the same reason.
    if code in {-9, -24}:
        return f"It was not parsed within {seconds:g} seconds."
    return "Damaged: the parser ended before it was done."


#: The processes of this one; they end with it.
SHARED = Sandbox()
atexit.register(SHARED.close)
