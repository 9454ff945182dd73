"""R12. The search step is remembered for a minute, for whoever may search the very same and reads the same clock.

A write in the organisation moves its clock, and with it every key: nothing deleted, changed or restricted is served.
Authorisation, memories, redaction and budget run every time. Each process has a cache of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from time import monotonic

from app.domain.temporal import AsOf
from app.domain.trace import NearMiss
from app.retrieval.authorise import Authorised
from app.retrieval.gather import Gathered
from app.retrieval.pin import Pin
from app.retrieval.question import Vectors
from app.retrieval.remembered import Remembered
from app.retrieval.request import RetrievalRequest

SECONDS = 60.0
MOST_SEARCHES = 1024
MOST_BYTES = 64 << 20
#: Roughly what one candidate takes in memory, and everything else of an entry.
CANDIDATE_BYTES, ENTRY_BYTES = 1000, 2000


@dataclass(frozen=True, slots=True)
class Searched:
    """What the search step found at `valid_at`. It holds before `until`, when the next fact begins or ends. `key` None:
    it is not to be kept. `languages` are those in which the words of the question were found."""

    gathered: Gathered
    near_misses: tuple[NearMiss, ...]
    valid_at: datetime
    key: bytes | None = None
    until: datetime | None = None
    languages: frozenset[str] = frozenset()
    hit: bool = False

    def at(self, authorised: Authorised) -> Authorised:
        """The rest of the retrieval reads valid time where the search read it."""
        as_of = AsOf(self.valid_at, authorised.scope.as_of.system_at)
        return replace(authorised, scope=replace(authorised.scope, as_of=as_of))

    @property
    def bytes(self) -> int:
        return ENTRY_BYTES + CANDIDATE_BYTES * (len(self.gathered.selection.kept) + len(self.near_misses))


class SearchCache:
    """Searches by key, and beside them the vectors of questions."""

    def __init__(self, seconds: float = SECONDS, clock: Callable[[], float] = monotonic) -> None:
        self._searches: Remembered[Searched] = Remembered(seconds, MOST_SEARCHES, MOST_BYTES, clock)
        self.vectors = Vectors(seconds, clock)

    @property
    def on(self) -> bool:
        return self._searches.on

    def find(self, key: bytes, authorised: Authorised, pin: Pin | None) -> Searched | None:
        """What was found before, as long as it still holds; with a pin, only what was found there."""
        found = self._searches.get(key)
        if found is None or (pin is not None and found.valid_at != pin.as_of.valid_at):
            return None
        if found.until is not None and authorised.now >= found.until:
            self._searches.drop(key)
            return None
        return replace(found, hit=True)

    def keep(self, searched: Searched) -> None:
        if searched.key is not None and not searched.hit:
            self._searches.put(searched.key, searched, searched.bytes)


def search_key(
    request: RetrievalRequest,
    authorised: Authorised,
    text: str | None,
    model: str | None,
    limit: int,
    approximate: bool,
    graph: bool = False,
) -> bytes | None:
    """Everything that the search step reads, in 32 bytes. Who asks is in it by what they may search, and with what
    key; everything else that can change moves the organisation's clock.

    None for what is not kept: no question, or the present as it was once known, whose next change nobody looks up.
    """
    scope, parameters = authorised.scope, request.parameters
    if text is None or (request.as_of is None and not scope.present):
        return None
    digest = blake2b(digest_size=32)
    said = (
        str(scope.organisation),
        authorised.clock.isoformat(),
        scope.as_of.system_at.isoformat(),
        "NOW" if request.as_of is None else request.as_of.isoformat(),
        str(request.principal.api_key_id),
        sorted((level.value, weight) for level, weight in authorised.weights.items()),
        parameters.source_kinds,
        parameters.providers,
        authorised.tags,
        request.near_misses,
        limit,
        approximate,
        model,
        graph,
        text,
    )
    digest.update(repr(said).encode())
    for ids in (authorised.spaces, authorised.sources):
        digest.update(len(ids).to_bytes(4, "big"))
        digest.update(b"".join(sorted(id.bytes for id in ids)))
    return digest.digest()
