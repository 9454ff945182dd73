"""How long each stage took. A stage that did not run has no timing."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Stopwatch:
    """Milliseconds by stage; `total` is everything since it was made."""

    def __init__(self) -> None:
        self._started = perf_counter()
        self._stages: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            self._stages[name] = self._stages.get(name, 0.0) + (perf_counter() - started) * 1000

    @property
    def timings(self) -> dict[str, float]:
        return {**self._stages, "total": (perf_counter() - self._started) * 1000}
