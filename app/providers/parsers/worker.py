"""The process that parses what may be hostile: `python -m app.providers.parsers.worker`. It ends when its input does.

A request is a frame of JSON (name, size, seconds) and then `size` bytes; the answer is one frame of JSON. A frame is
its length in eight bytes, big-endian, then so many bytes. Nothing is unpickled on either side.
"""

import contextlib
import json
import os
import resource
import sys
from typing import BinaryIO

from app.providers.parsers.blocks import Unsupported
from app.providers.parsers.registry import read
from app.providers.parsers.wire import MEMORY_BYTES, from_parsed, read_frame, write_frame


def main() -> None:
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever a library prints is not part of an answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    with contextlib.suppress(BrokenPipeError):
        serve(sys.stdin.buffer, answers)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    while (head := read_frame(requests)) is not None:
        request = json.loads(head)
        data = requests.read(request["size"])
        _limit_time(request["seconds"])
        try:
            answer = from_parsed(read(request["name"], data))
        except Unsupported as error:
            answer = {"unsupported": str(error)}
        except (MemoryError, RecursionError) as error:
            answer = {"exhausted": type(error).__name__}
        except Exception as error:
            answer = {"failed": type(error).__name__}
        write_frame(answers, json.dumps(answer).encode())


def _limit_time(seconds: float) -> None:
    """Should the parent be gone, the kernel ends what hangs."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 5
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main()
