"""How many subscriptions are open: in this process, and of one caller in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from app.domain.limits import rate_limited
from app.domain.principal import Principal


@dataclass(slots=True)
class Streams:
    most: int
    of_caller: int
    _open: dict[UUID, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(self._open.values())

    def require_room(self, principal: Principal) -> None:
        """RATE_LIMITED when as many are open as may be."""
        if self.count >= self.most:
            raise rate_limited("as many subscriptions are open as this server serves", 10_000)
        if self._open.get(principal.caller, 0) >= self.of_caller:
            raise rate_limited(f"{self.of_caller} subscriptions of yours are open already", 10_000)

    @contextmanager
    def opened(self, principal: Principal) -> Iterator[None]:
        """One more; RATE_LIMITED as above."""
        self.require_room(principal)
        caller = principal.caller
        self._open[caller] = self._open.get(caller, 0) + 1
        try:
            yield
        finally:
            self._open[caller] -= 1
            if not self._open[caller]:
                del self._open[caller]
