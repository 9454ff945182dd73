"""A4. Calls a minute of each caller and action, counted over all processes.

A caller far from the limit waits for nothing: what it calls is counted here, and told to the database soon after. Once
half of the limit is used each call asks the database first. So processes let in together at most what each of the
others has not told yet, a twentieth of the limit, above the limit; a single one never does.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from uuid import UUID

import structlog

from app.domain.errors import Code, MunimentError
from app.domain.limits import BUCKET_SECONDS, BUCKETS, Rates, rate_limited, wait_ms
from app.domain.principal import Principal
from app.storage import rates
from app.storage.engine import Database

log = structlog.get_logger()

#: Seconds between two tellings, and between two cleanings.
PACE = 0.5
CLEANING = 600.0
#: Meters that are remembered; the one that was used least recently goes.
MOST_METERS = 50_000

Key = tuple[UUID, UUID, str]


@dataclass(slots=True)
class _Meter:
    #: Calls by bucket as the database knew them, the newest first; it began at `began`.
    began: float
    counts: list[int] = field(default_factory=lambda: [0] * (BUCKETS + 1))
    #: Let in here, and not told yet.
    pending: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def used(self, now: float) -> int:
        passed = int((now - self.began) / BUCKET_SECONDS)
        if passed > 0:
            self.counts = ([0] * min(passed, BUCKETS + 1) + self.counts)[: BUCKETS + 1]
            self.began += passed * BUCKET_SECONDS
        return sum(self.counts) + self.pending


class RateLimiter:
    def __init__(self, database: Database, limits: Rates, clock: Callable[[], float] = monotonic) -> None:
        self._database = database
        self._limits = limits
        self._clock = clock
        self._meters: dict[Key, _Meter] = {}
        self._cleaned = clock()

    async def admit(self, principal: Principal, actions: Mapping[str, int]) -> None:
        """Count so many calls of each action. RATE_LIMITED, with `retryAfterMs`, when one of them is one too many."""
        for action, calls in actions.items():
            most = self._limits.limit(action)
            if most:
                await self._take((principal.organisation, principal.caller, action), calls, most)

    async def _take(self, key: Key, calls: int, most: int) -> None:
        meter = self._meters.pop(key, None) or _Meter(self._clock())
        self._meters[key] = meter
        if len(self._meters) > MOST_METERS:
            self._drop_idle()
        used = meter.used(self._clock()) + calls
        if used <= most // 2 and meter.pending + calls <= most // 20:
            meter.pending += calls
            return
        if calls > most or not await self._ask(key, meter, calls, most):
            wait = wait_ms(meter.counts, self._clock() - meter.began, max(0, most - calls))
            raise rate_limited(f"at most {most} calls of {key[2]} a minute", wait)

    async def _ask(self, key: Key, meter: _Meter, wanted: int, most: int) -> bool:
        organisation, caller, action = key
        async with meter.turn:
            spent, meter.pending = meter.pending, 0
            try:
                async with self._database.unstamped(organisation) as session:
                    ring = await rates.spend(session, caller, action, spent=spent, wanted=wanted, most=most)
            except BaseException as error:
                meter.pending += spent
                if isinstance(error, MunimentError) and error.code is Code.SEARCH_UNAVAILABLE:
                    # Without the database each process counts for itself.
                    allowed = meter.used(self._clock()) + wanted <= most
                    meter.pending += wanted if allowed else 0
                    return allowed
                raise
            meter.counts = list(ring.counts)
            meter.began = self._clock() - ring.into_bucket
            return ring.granted >= wanted

    async def run(self) -> None:
        """Tell the database what was let in, until cancelled."""
        while True:
            await asyncio.sleep(PACE)
            try:
                await self.tell()
            except Exception:
                log.warning("rates.not_told", exc_info=True)

    async def tell(self) -> None:
        """Tell what is pending, and now and then remove what no longer counts."""
        waiting = [(key, meter) for key, meter in self._meters.items() if meter.pending]
        for key, meter in waiting:
            await self._ask(key, meter, 0, self._limits.limit(key[2]))
        if self._clock() - self._cleaned > CLEANING:
            self._cleaned = self._clock()
            self._drop_idle()
            for organisation in {key[0] for key, _ in waiting}:
                async with self._database.unstamped(organisation) as session:
                    await rates.forget(session)

    def _drop_idle(self) -> None:
        """Meters that count nothing; if all do, the one that was used least recently."""
        now = self._clock()
        for key in [key for key, meter in self._meters.items() if not meter.used(now)]:
            del self._meters[key]
        while len(self._meters) > MOST_METERS:
            del self._meters[next(iter(self._meters))]
