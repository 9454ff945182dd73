"""How much one operation, and one caller, may ask for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from app.domain.errors import Code, MunimentError, bad_input

#: The rolling window of a rate limit: so many buckets of so many seconds, and one that is being filled.
BUCKETS: Final = 12
BUCKET_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one operation may ask for, by measure."""

    tokens: int = 4000
    depth: int = 15
    aliases: int = 30
    root_fields: int = 30
    fields: int = 2000
    #: One field may be selected so often in one place: comparing these with each other grows with the square.
    repeats: int = 50
    cost: int = 1000
    list_items: int = 1000
    introspection: bool = True


@dataclass(frozen=True, slots=True)
class Rates:
    """Calls a minute of one caller, for each action; 0: as many as they like."""

    default: int = 600
    of: Mapping[str, int] = field(default_factory=dict)

    def limit(self, action: str) -> int:
        return self.of.get(action, self.default)


def parse_rates(text: str) -> dict[str, int]:
    """`action=limit,…`; BAD_USER_INPUT for anything else."""
    rates: dict[str, int] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        action, _, limit = item.partition("=")
        if not action.strip() or not limit.strip().isdecimal() or not limit.isascii() or len(limit.strip()) > 9:
            raise bad_input(f"{item!r} is not action=limit")
        rates[action.strip()] = int(limit)
    return rates


def wait_ms(counts: Sequence[int], into_bucket: float, room: int) -> int:
    """Milliseconds until so much has left the window that at most `room` is left in it. `counts` has the newest bucket
    first, which began `into_bucket` seconds ago."""
    left = sum(counts)
    for index in reversed(range(len(counts))):
        if left <= room:
            return max(1, round(1000 * ((BUCKETS - index) * BUCKET_SECONDS - into_bucket)))
        left -= counts[index]
        if left <= room:
            return max(1, round(1000 * ((BUCKETS + 1 - index) * BUCKET_SECONDS - into_bucket)))
    return 1000 * BUCKETS * BUCKET_SECONDS


def rate_limited(message: str, retry_after_ms: int) -> MunimentError:
    """Refused for now: with `retryAfterMs`."""
    return MunimentError(Code.RATE_LIMITED, message, retry_after_ms=retry_after_ms)
