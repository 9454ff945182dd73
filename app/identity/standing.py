"""Tokens that were found standing a while ago: what a caller goes by who must answer while the database is away."""

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Final
from uuid import UUID

from app.domain.principal import Token

#: Seconds for which it counts. As long as a revocation may so be overlooked, by the model gateway alone, and only while
#: no database can say otherwise.
WHILE: Final = 300.0
MOST: Final = 10_000


class Standing:
    """The last time at which each token was looked up and not found revoked; the newest `MOST` of them."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._seen: OrderedDict[tuple[UUID, Token], float] = OrderedDict()

    def found(self, person: UUID, token: Token) -> None:
        self._seen[person, token] = self._clock()
        self._seen.move_to_end((person, token))
        if len(self._seen) > MOST:
            self._seen.popitem(last=False)

    def forget(self, person: UUID, token: Token) -> None:
        """It was found revoked."""
        self._seen.pop((person, token), None)

    def lately(self, person: UUID, token: Token) -> bool:
        at = self._seen.get((person, token))
        return at is not None and self._clock() - at < WHILE
