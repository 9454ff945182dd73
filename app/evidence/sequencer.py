"""From the queue to the chain. Any number of processes may run it; for each organisation one wins a turn."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from uuid import UUID

import structlog

from app.domain.chain import EMPTY, Head, append
from app.evidence import tree
from app.providers.head_file import HeadFile, HeadFileError
from app.providers.keyring import KeyRing
from app.providers.private_file import PrivateFileError
from app.storage import evidence, queue
from app.storage.engine import Database, Session

log = structlog.get_logger()

#: Events chained in one transaction.
BATCH = 1000

#: Seconds in which events gather before they are chained: a turn costs hardly more for many than for one.
GATHERING = 0.2

#: Seconds that an organisation waits after its turn failed.
REST = 1.0


class Sequencer:
    """Chains what the queue holds. A turn is one transaction: killed at any moment, it has happened whole or not."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        heads: HeadFile,
        appended: Sequence[Callable[[UUID, int], None]] = (),
    ) -> None:
        """Each of `appended` is told of the records of a turn, once they are durable."""
        self._database = database
        self._keys = keys
        self._heads = heads
        self._appended = appended
        self._rests: dict[UUID, float] = {}

    async def sweep(self) -> int:
        """One turn for every organisation with waiting events; the number of records chained.

        A turn that fails is logged and stops no other organisation: its events are safe in the queue until a later one.
        """
        async with self._database.across() as session:
            waiting = await queue.waiting(session)
        chained = 0
        for organisation in waiting:
            if self._rests.get(organisation, 0.0) > monotonic():
                continue
            try:
                chained += await self.turn(organisation)
                self._rests.pop(organisation, None)
            except Exception:
                log.exception("sequencer.turn_failed", organisation=str(organisation))
                self._rests[organisation] = monotonic() + REST
        return chained

    async def finish(self) -> None:
        """Chain what was queued last, now rather than at the next start. Nothing is lost when that fails."""
        try:
            await self.sweep()
        except Exception:
            log.warning("sequencer.unfinished", exc_info=True)

    async def turn(self, organisation: UUID) -> int:
        """Chain the oldest waiting events of one organisation; 0 when there are none or another process is at it."""
        key_id = self._keys.current_id
        key = self._keys.organisation_key(organisation, key_id)
        if key is None:
            raise LookupError("the current key is not in the ring")
        async with self._database.unstamped(organisation) as session:
            if not await evidence.try_lock(session):
                return 0
            events = await queue.take(session, BATCH)
            if not events:
                return 0
            whole = await self._reaches_recorded_head(session, key_id)
            chained = await evidence.chained(session, [event.id for event in events])
            if chained:
                # Only a hand in the database can queue an event twice. It is in the chain; the others must not wait.
                log.error("sequencer.queued_again", organisation=str(organisation), ids=sorted(map(str, chained)))
                await queue.remove(session, [event.position for event in events if event.id in chained])
                events = [event for event in events if event.id not in chained]
            if not events:
                await session.commit()
                return 0
            entries = append(
                organisation, await evidence.head(session), [event.payload for event in events], key, key_id
            )
            await evidence.append(
                session, entries, [event.id for event in events], [event.queued_at for event in events]
            )
            await tree.extend(session, entries)
            await queue.remove(session, [event.position for event in events])
            await session.commit()
        for told in self._appended:
            told(organisation, len(entries))
        # Outside the transaction: a head on disk that the database does not hold would read as a truncated chain.
        if whole:
            last = Head(entries[-1].sequence, entries[-1].mac)
            try:
                await asyncio.to_thread(self._heads.advance, organisation, last, key_id)
            except (HeadFileError, PrivateFileError, OSError):
                log.exception("sequencer.head_not_recorded", organisation=str(organisation))
        return len(entries)

    async def _reaches_recorded_head(self, session: Session, key_id: str) -> bool:
        """Whether the chain still holds the head that was last recorded. When it does not, events are chained all the
        same, but the recorded head stays, so that the next verification tells what happened.

        An empty chain gets its head before its first entry: an entry without a head means that the head was removed,
        and then none is made in its place. So where the disk takes no head, the first events stay in the queue: raises
        what the disk says."""
        organisation = session.organisation
        try:
            recorded = await asyncio.to_thread(self._heads.read, organisation)
            if recorded is None:
                if (await evidence.head(session)).sequence:
                    log.error("sequencer.head_missing", organisation=str(organisation))
                    return False
                recorded = await asyncio.to_thread(self._heads.begin, organisation, key_id)
        except (HeadFileError, PrivateFileError, OSError) as error:
            of_disk = not isinstance(error, HeadFileError) or isinstance(error.__cause__, OSError)
            if of_disk and not (await evidence.head(session)).sequence:
                raise
            log.exception("sequencer.head_unreadable", organisation=str(organisation))
            return False
        if recorded == EMPTY or await evidence.mac_at(session, recorded.sequence) == recorded.mac:
            return True
        log.error("sequencer.chain_cut", organisation=str(organisation), recorded=recorded.sequence)
        return False

    async def run(self, rung: asyncio.Event, interval: float = 0.2) -> None:
        """Sweep soon after `rung` is set, and at least every `interval` seconds: another process may have queued."""
        while True:
            # Not `wait_for`: before Python 3.12 it can swallow the cancellation that ends this loop.
            with suppress(TimeoutError):
                async with asyncio.timeout(interval):
                    await rung.wait()
                    await asyncio.sleep(GATHERING)
            rung.clear()
            try:
                while await self.sweep() >= BATCH:
                    pass
            except Exception:
                log.exception("sequencer.failed")
                await asyncio.sleep(REST)
