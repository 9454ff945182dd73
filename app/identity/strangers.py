"""Callers whose credential is missing or not believed, by their address: counted, and after so many turned away.

A credential that is believed is let in from any address, so nobody is locked out by who sits behind the same one.
"""

from collections import deque
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network
from time import monotonic
from typing import Final

from app.domain.limits import rate_limited

WINDOW: Final = 60.0
#: Addresses that are remembered; the one that was heard of least recently goes.
MOST_ADDRESSES: Final = 10_000


class Strangers:
    """`most` calls without a credential that is believed a minute, from one address, in this process; 0: no bound."""

    def __init__(self, most: int, clock: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._clock = clock
        self._seen: dict[str, deque[float]] = {}

    def note(self, address: str | None) -> None:
        """One more. RATE_LIMITED, with `retryAfterMs`, when it is one too many."""
        if not self._most:
            return
        now, key = self._clock(), _network(address)
        times = self._seen.pop(key, None) or deque()
        self._seen[key] = times
        if len(self._seen) > MOST_ADDRESSES:
            del self._seen[next(iter(self._seen))]
        while times and times[0] <= now - WINDOW:
            times.popleft()
        if len(times) >= self._most:
            wait = round(1000 * (times[0] + WINDOW - now))
            raise rate_limited("too many calls without a valid credential came from this address", max(1, wait))
        times.append(now)


def _network(address: str | None) -> str:
    """The address; of version 6 the network of 64 bits, all of which one host may use."""
    try:
        parsed = ip_address(address or "")
    except ValueError:
        return address or ""
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(ip_network((int(parsed), 64), strict=False))
    return str(parsed)
