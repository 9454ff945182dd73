"""The keys of an issuer: those of one file, or of a JWKS document (RFC 7517) that is read again as its keys change."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Final, Protocol

import structlog

from app.domain.errors import Code, MunimentError
from app.identity.verification_key import VerificationKey, VerificationKeyError, key_of_jwk

log = structlog.get_logger()

#: Keys of one document that are read.
MOST_KEYS: Final = 100
#: Seconds after which a document is read again in any case, so that a key that was taken out of it is let go.
FRESH_SECONDS: Final = 300.0
#: Seconds between two readings, whatever asks for one: tokens under unknown keys cost the issuer nothing more.
PAUSE_SECONDS: Final = 10.0
#: Seconds that the last keys count on while no newer ones can be read.
MOST_AGE_SECONDS: Final = 86_400.0


class KeySet(Protocol):
    """Where keys are looked up."""

    async def ready(self, key_id: str | None) -> None:
        """Give the keys a chance to be read anew, before a token that names this key is looked at."""

    def named(self, key_id: str | None) -> Sequence[VerificationKey]:
        """The keys that a token which names this key may be under; all when it names none."""


class OneKey:
    """A key that does not change. What a token calls it says nothing."""

    def __init__(self, key: VerificationKey) -> None:
        self._keys = (key,)

    async def ready(self, key_id: str | None) -> None:
        """Nothing to read."""

    def named(self, key_id: str | None) -> Sequence[VerificationKey]:
        return self._keys


class Jwks:
    """The keys of a document. `read` gives its bytes.

    It is read when it is first needed, when a token names a key that is not in it, and when it has become old; never
    more often than every `PAUSE_SECONDS`, and once for all who wait. While it cannot be read, the last keys count on,
    up to an age at which nobody can tell whether the issuer still stands by them. An old document that still names the
    key of a token is read anew in the background: nobody waits for it.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[bytes]],
        *,
        secrets: bool = False,
        fresh: float = FRESH_SECONDS,
        pause: float = PAUSE_SECONDS,
        most_age: float = MOST_AGE_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`secrets`: whether the document may hold HS256 secrets, as only a file that nobody else can read may."""
        self._read = read
        self._secrets = secrets
        self._fresh = fresh
        self._pause = pause
        self._most_age = most_age
        self._clock = clock
        self._keys: tuple[VerificationKey, ...] = ()
        self._read_at: float | None = None
        self._tried_at: float | None = None
        self._reading: asyncio.Task[None] | None = None

    async def ready(self, key_id: str | None) -> None:
        """SEARCH_UNAVAILABLE when no keys could be read, or none for too long: that is not the token's fault."""
        now = self._clock()
        old = self._read_at is None or now - self._read_at >= self._fresh
        unknown = not self.named(key_id) or self._are_too_old(now)
        if (old or unknown) and (self._tried_at is None or now - self._tried_at >= self._pause):
            self._start(now)
        if unknown and self._reading is not None:
            # Whoever hangs up leaves the reading to those who still wait.
            await asyncio.shield(self._reading)
        if self._are_too_old(self._clock()):
            raise MunimentError(Code.SEARCH_UNAVAILABLE, "the keys that tokens are checked with cannot be read")

    def _are_too_old(self, now: float) -> bool:
        return self._read_at is None or now - self._read_at > self._most_age

    def named(self, key_id: str | None) -> Sequence[VerificationKey]:
        return self._keys if key_id is None else [key for key in self._keys if key.id == key_id]

    def _start(self, now: float) -> None:
        if self._reading is None or self._reading.done():
            self._tried_at = now
            self._reading = asyncio.create_task(self._renew())

    async def _renew(self) -> None:
        try:
            keys = keys_of(await self._read(), secrets=self._secrets)
        except Exception as error:
            # Its text may hold what the other side sent.
            log.error("token_keys.unreadable", reason=type(error).__name__, kept=len(self._keys))
            return
        self._keys, self._read_at = keys, self._clock()


def keys_of(document: bytes, *, secrets: bool) -> tuple[VerificationKey, ...]:
    """The usable keys of a JWKS document; VerificationKeyError when it is none, or has none. One that cannot be used,
    such as one for encryption, is passed over: issuers keep all sorts together."""
    try:
        value = json.loads(document)
        listed = value["keys"]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise VerificationKeyError("it is no JWKS document") from None
    if not isinstance(listed, list) or len(listed) > MOST_KEYS:
        raise VerificationKeyError(f"a JWKS document has a list of at most {MOST_KEYS} keys")
    keys = []
    for item in listed:
        try:
            key = key_of_jwk(item)
        except VerificationKeyError as error:
            log.warning("token_keys.passed_over", reason=str(error))
            continue
        if key.symmetric and not secrets:
            log.warning("token_keys.passed_over", reason="a secret that is published is none")
            continue
        keys.append(key)
    if not keys:
        raise VerificationKeyError("the JWKS document has no key that tokens can be checked with")
    return tuple(keys)


def from_file(path: Path, **options: Any) -> Jwks:
    """A JWKS file: read anew within seconds of a change, since that costs nothing."""

    async def read() -> bytes:
        return await asyncio.to_thread(path.read_bytes)

    return Jwks(read, **{"secrets": True, "fresh": 5.0, "pause": 1.0, **options})
