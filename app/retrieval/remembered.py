"""A bounded memory of values, each for some seconds."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Generic, TypeVar

V = TypeVar("V")


class Remembered(Generic[V]):
    """Values for some seconds, the least lately used ones going first. 0 seconds: it remembers nothing."""

    def __init__(self, seconds: float, entries: int, size: int, clock: Callable[[], float] = monotonic) -> None:
        """At most so many `entries`, and at most `size` bytes of them. `clock` gives seconds and never goes back."""
        self._seconds, self._entries, self._most = seconds, entries, size
        self._clock = clock
        self._held: OrderedDict[Hashable, tuple[float, int, V]] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    @property
    def on(self) -> bool:
        return self._seconds > 0

    def get(self, key: Hashable) -> V | None:
        found = self._held.get(key)
        if found is None:
            return None
        if self._clock() >= found[0]:
            self.drop(key)
            return None
        self._held.move_to_end(key)
        return found[2]

    def put(self, key: Hashable, value: V, size: int) -> None:
        if not self.on or size > self._most:
            return
        self.drop(key)
        self._held[key] = (self._clock() + self._seconds, size, value)
        self.bytes += size
        while len(self._held) > self._entries or self.bytes > self._most:
            self.drop(next(iter(self._held)))

    def drop(self, key: Hashable) -> None:
        gone = self._held.pop(key, None)
        if gone is not None:
            self.bytes -= gone[1]
