"""The regular verification of every chain, shared by all processes of a deployment."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import structlog

from app.domain.evidence_tree import Root
from app.evidence.verification import Occasion, verify_chain
from app.providers.head_file import HeadFile
from app.providers.ids import new_id
from app.providers.keyring import KeyRing
from app.storage import verifications
from app.storage.engine import Database

log = structlog.get_logger()

#: What is claimed by a process that died is free again after this.
LEASE = timedelta(minutes=2)

#: Seconds between two looks at the schedule.
PAUSE = 30.0

#: Organisations that are looked up at once.
BATCH = 100

#: Part of the interval by which the next run may come later, so that chains do not stay in step.
JITTER = 0.05

Signed = Callable[[UUID], Awaitable[Sequence[Root]]]


class Schedule:
    """Verifies each organisation's chain every `hours`. The times and claims are rows in the database: any number of
    processes run it, a run is made by one of them, and a restart begins nothing anew."""

    def __init__(self, database: Database, keys: KeyRing, heads: HeadFile, signed: Signed, hours: float) -> None:
        self._database = database
        self._keys = keys
        self._heads = heads
        self._signed = signed
        self._interval = timedelta(hours=hours)
        self._chance = random.SystemRandom()

    async def sweep(self) -> int:
        """Verify what is due, and plan what has no plan yet; the number of runs that this process made."""
        async with self._database.across() as session:
            found = await verifications.due(session, BATCH)
        made = 0
        for organisation, planned in found:
            try:
                if planned:
                    made += await self._turn(organisation)
                else:
                    # Anywhere in the first interval, so that organisations do not come all at once.
                    async with self._database.unstamped(organisation) as session:
                        await verifications.plan(session, self._interval * self._chance.random())
            except Exception:
                log.exception("schedule.run_failed", organisation=str(organisation))
        return made

    async def _turn(self, organisation: UUID) -> bool:
        me = new_id()
        async with self._database.unstamped(organisation) as session:
            if not await verifications.claim(session, me, LEASE):
                return False
        renewing = asyncio.create_task(self._hold(organisation, me))
        try:
            await verify_chain(
                self._database,
                self._keys,
                self._heads,
                organisation,
                occasion=Occasion.SCHEDULE,
                signed=await self._signed(organisation),
            )
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing
        delay = self._interval * (1 + JITTER * self._chance.random())
        async with self._database.unstamped(organisation) as session:
            await verifications.done(session, me, delay)
        return True

    async def _hold(self, organisation: UUID, me: UUID) -> None:
        """Keep the claim while a long chain is read."""
        while True:
            await asyncio.sleep(LEASE.total_seconds() / 4)
            try:
                async with self._database.unstamped(organisation) as session:
                    await verifications.renew(session, me, LEASE)
            except Exception:
                log.warning("schedule.not_renewed", organisation=str(organisation), exc_info=True)

    async def run(self) -> None:
        """Sweep for ever; a failure waits for the next time."""
        while True:
            try:
                while await self.sweep():
                    pass
            except Exception:
                log.exception("schedule.failed")
            await asyncio.sleep(PAUSE * (0.5 + self._chance.random()))
