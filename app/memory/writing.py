"""Remembering, correcting, changing and retracting. One way for all: embed with no lock, then one stamped write."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from app.domain.errors import Code, MunimentError
from app.domain.instant import format_instant, parse_instant
from app.domain.memory import MemoryFacts, Owner
from app.domain.principal import Permission, Principal
from app.domain.temporal import ALWAYS, Assert, Period, Retract, Row, Timeline, applied, clip, update_fact
from app.identity.once import Outcome, check_client_key, once
from app.memory.resolve import Named, known_memory, memory_not_found, resolve_owner
from app.memory.revision import Changes, Reviser, Vector
from app.providers.ids import new_id
from app.storage import memories
from app.storage.engine import Database, WriteSession
from app.storage.memories import VERSIONS, Listed, owner_columns


@dataclass(frozen=True, slots=True)
class Guard:
    """What protects a write: the client's own key, and the last change that the client knows of."""

    client_key: str | None = None
    expected: datetime | None = None


@dataclass(frozen=True, slots=True)
class Writer:
    """The writing use cases of memory."""

    database: Database
    reviser: Reviser

    async def remember(
        self,
        principal: Principal,
        named: Named,
        changes: Changes,
        *,
        since: datetime | None,
        until: datetime | None,
        from_now: bool,
        guard: Guard = Guard(),
    ) -> Listed:
        """A new memory of a subject, a group or a space. `from_now`: it holds from this write on, whatever `since`."""
        changes.check()
        check_client_key(guard.client_key)
        facts = self.reviser.facts(None, changes, 1)
        vector = await self.reviser.vector(self.database, principal.organisation, facts.text)
        async with self.database.write(principal.organisation) as session:
            owner = await resolve_owner(session, principal, named)
            period = Period(session.stamp if from_now else since, until)

            async def work() -> Outcome:
                id = new_id()
                await memories.create(session, id, owner)
                await VERSIONS.change(session, id, Assert(period, facts), **owner_columns(owner))
                await self.attach(session, id, facts, vector)
                return written(session, id, period.start, owner)

            call = {"remember": str(named), "changes": changes.given, "since": since, "until": until, "now": from_now}
            made = await once(session, principal, guard.client_key, call, work)
            return await self.read(session, *place_of(made))

    async def correct(
        self, principal: Principal, id: str, changes: Changes, period: Period = ALWAYS, guard: Guard = Guard()
    ) -> Listed:
        """The same valid period, a new belief. Only what is believed already is touched."""
        call = {"correct": id, "changes": changes.given, "period": str(period)}
        return await self._edit(principal, id, changes, lambda stamp: period, call, guard)

    async def change(
        self, principal: Principal, id: str, changes: Changes, at: datetime | None, guard: Guard = Guard()
    ) -> Listed:
        """From an instant on (now when None) it is otherwise; before that it stays as it was."""
        call = {"change": id, "changes": changes.given, "at": at}
        return await self._edit(principal, id, changes, lambda stamp: Period(at or stamp, None), call, guard)

    async def retract(self, principal: Principal, id: str, period: Period = ALWAYS, guard: Guard = Guard()) -> UUID:
        """It is no longer believed to hold in the period; past beliefs stay readable at their time."""
        check_client_key(guard.client_key)
        async with self.database.write(principal.organisation) as session:
            memory, owner = await known_memory(session, principal, id, Permission.MEMORY_WRITE)

            async def work() -> Outcome:
                before = await self._before(session, memory, period, guard)
                after = applied(_timeline(before), Retract(period))
                await VERSIONS.replace(session, memory, before, after, **owner_columns(owner))
                return written(session, memory, period.start, owner)

            await once(session, principal, guard.client_key, {"retract": id, "period": str(period)}, work)
        return memory

    async def _edit(
        self,
        principal: Principal,
        id: str,
        changes: Changes,
        when: Callable[[datetime], Period],
        call: Mapping[str, object],
        guard: Guard,
    ) -> Listed:
        changes.check()
        check_client_key(guard.client_key)
        vector = await self.reviser.vector(self.database, principal.organisation, changes.text)
        async with self.database.write(principal.organisation) as session:
            memory, owner = await known_memory(session, principal, id, Permission.MEMORY_WRITE)
            period = when(session.stamp)

            async def work() -> Outcome:
                before = await self._before(session, memory, period, guard)
                timeline = _timeline(before)
                if not any(portion.period.overlaps(period) for portion in timeline):
                    raise MunimentError(Code.CONFLICT, "nothing is believed in that period that could be changed")
                after = self._revised(timeline, period, changes)
                await VERSIONS.replace(session, memory, before, after, **owner_columns(owner))
                for facts in {portion.value for portion in after} if changes.text is not None else ():
                    if facts.text == changes.text:
                        await self.attach(session, memory, facts, vector)
                return written(session, memory, period.start, owner)

            made = await once(session, principal, guard.client_key, call, work)
            return await self.read(session, *place_of(made))

    def _revised(self, timeline: Timeline[MemoryFacts], period: Period, changes: Changes) -> Timeline[MemoryFacts]:
        """Each believed portion keeps, inside the period, what is not changed."""
        after = timeline
        for portion in timeline:
            for piece in clip([portion.period], period):
                facts = self.reviser.facts(portion.value, changes, portion.value.revision)
                after = update_fact(after, piece, facts)
        return after

    async def _before(
        self, session: WriteSession, memory: UUID, period: Period, guard: Guard
    ) -> tuple[Row[UUID, MemoryFacts], ...]:
        if guard.expected is not None and await VERSIONS.changed_since(session, memory, guard.expected, period):
            raise MunimentError(
                Code.CONFLICT, "the memory was changed by somebody else meanwhile", "expectedSystemFrom"
            )
        return (await VERSIONS.believed(session, [memory]))[memory]

    async def attach(self, session: WriteSession, memory: UUID, facts: MemoryFacts, vector: Vector | None) -> None:
        """Keep the embedding of a text, stamped with this write."""
        if vector is not None and self.reviser.embedder is not None:
            await memories.attach_embedding(session, memory, facts.text_sha256, self.reviser.embedder.model, vector)

    async def read(self, session: WriteSession, memory: UUID, start: datetime | None, known_at: datetime) -> Listed:
        """What was believed right after a write, of the first period that reaches beyond `start`."""
        found = await memories.first_from(session, memory, start, known_at)
        if found is None:
            raise memory_not_found()
        return found


def written(session: WriteSession, memory: UUID, start: datetime | None, owner: Owner) -> Outcome:
    """That this write touched a memory from a point of valid time on: enough to answer the same call again."""
    known_at = format_instant(session.stamp)
    value = {"id": str(memory), "start": None if start is None else format_instant(start), "knownAt": known_at}
    return Outcome(value, owner.subject_id)


def place_of(made: Mapping[str, Any]) -> tuple[UUID, datetime | None, datetime]:
    """(memory, start, known at) of what `written` made."""
    start = made["start"]
    return UUID(made["id"]), None if start is None else parse_instant(start), parse_instant(made["knownAt"])


def _timeline(rows: tuple[Row[UUID, MemoryFacts], ...]) -> Timeline[MemoryFacts]:
    return tuple(row.portion for row in rows)
