"""Team memories: a proposed revision is not retrieved until somebody who may accepts it."""

from dataclasses import dataclass
from uuid import UUID

from app.domain.errors import Code, MunimentError, bad_input
from app.domain.instant import format_instant, parse_instant
from app.domain.principal import Permission, Principal, parse_id
from app.domain.temporal import Assert, Period, applied, at
from app.identity.once import Outcome, check_client_key, once
from app.identity.spaces import named_visible, permitted
from app.memory.resolve import Named, known_memory, resolve_owner
from app.memory.revision import Changes
from app.memory.writing import Writer
from app.providers.ids import new_id
from app.storage import memories, proposals
from app.storage.engine import Database, WriteSession
from app.storage.memories import VERSIONS, Listed, owner_columns
from app.storage.proposals import Proposal


@dataclass(frozen=True, slots=True)
class Proposals:
    """Proposing and accepting."""

    writer: Writer

    async def propose(
        self,
        principal: Principal,
        named: Named,
        changes: Changes,
        memory_id: str | None = None,
        client_key: str | None = None,
    ) -> tuple[UUID, int]:
        """A revision of a team's memory, or with no `memory_id` the first of a new one: (memory, revision)."""
        changes.check()
        check_client_key(client_key)
        if memory_id is None:
            self.writer.reviser.facts(None, changes, 1)
        async with self.writer.database.write(principal.organisation) as session:
            if memory_id is None:
                memory, owner = new_id(), await resolve_owner(session, principal, named)
            else:
                memory, owner = await known_memory(session, principal, memory_id, Permission.MEMORY_WRITE)
            if owner.subject_id is not None:
                raise bad_input("only a team's memory is proposed and accepted", "subjectId")

            async def work() -> Outcome:
                if memory_id is None:
                    await memories.create(session, memory, owner)
                revision = await proposals.propose(session, memory, changes.given, principal.id)
                return Outcome({"id": str(memory), "revision": revision})

            call = {"propose": memory_id or str(named), "changes": changes.given}
            made = await once(session, principal, client_key, call, work)
        return UUID(made["id"]), made["revision"]

    async def accept(self, principal: Principal, id: str, revision: int, client_key: str | None = None) -> Listed:
        """From now on the proposed revision is what holds. Accepting it again changes nothing. CONFLICT for one that
        was rejected, or that a newer revision has overtaken."""
        check_client_key(client_key)
        async with self.writer.database.snapshot(principal.organisation) as read:
            memory, _ = await known_memory(read, principal, id, Permission.ADMIN)
            proposal = await proposals.find(read, memory, revision)
        if proposal is None:
            raise MunimentError(Code.NOT_FOUND, "no such proposal", "revision")
        changes = Changes.of_json(proposal)
        vector = await self.writer.reviser.vector(self.writer.database, principal.organisation, changes.text)
        async with self.writer.database.write(principal.organisation) as session:
            memory, owner = await known_memory(session, principal, id, Permission.ADMIN)

            async def work() -> Outcome:
                await _acceptable(session, memory, revision)
                accepted_at = await proposals.accept(session, memory, revision, principal.id)
                if accepted_at == session.stamp:
                    before = (await VERSIONS.believed(session, [memory]))[memory]
                    timeline = tuple(row.portion for row in before)
                    current = at(timeline, session.stamp) or (timeline[-1] if timeline else None)
                    facts = self.writer.reviser.facts(current.value if current else None, changes, revision)
                    after = applied(timeline, Assert(Period(session.stamp, None), facts))
                    await VERSIONS.replace(session, memory, before, after, **owner_columns(owner))
                    await self.writer.attach(session, memory, facts, vector)
                return Outcome({"acceptedAt": format_instant(accepted_at)})

            call = {"accept": str(memory), "revision": revision}
            made = await once(session, principal, client_key, call, work)
            accepted_at = parse_instant(made["acceptedAt"])
            return await self.writer.read(session, memory, accepted_at, accepted_at)

    async def reject(self, principal: Principal, id: str, revision: int, client_key: str | None = None) -> Proposal:
        """Turn a proposal down for good. Rejecting it again changes nothing; CONFLICT for one that was accepted."""
        check_client_key(client_key)
        async with self.writer.database.write(principal.organisation) as session:
            memory, owner = await known_memory(session, principal, id, Permission.ADMIN)

            async def work() -> Outcome:
                found = await proposals.standing(session, memory, revision)
                if found is None:
                    raise MunimentError(Code.NOT_FOUND, "no such proposal", "revision")
                if found.accepted_at is not None:
                    raise MunimentError(Code.CONFLICT, "the proposal was accepted", "revision")
                await proposals.reject(session, memory, revision, principal.id)
                return Outcome({})

            call = {"reject": str(memory), "revision": revision}
            await once(session, principal, client_key, call, work)
            [made] = await proposals.listed(
                session, owner.space_id, memory=memory, pending=False, after=(memory, revision - 1), limit=1
            )
        return made


async def list_proposals(
    database: Database,
    principal: Principal,
    *,
    space_id: str | None,
    space_key: str | None,
    memory_id: str | None,
    pending: bool,
    after: tuple[UUID, int],
    limit: int,
) -> list[Proposal]:
    """The proposals of a space's own and its groups' memories, for who may propose or accept there."""
    async with database.snapshot(principal.organisation) as session:
        space = await named_visible(session, principal, space_id=space_id, space_key=space_key)
        await permitted(session, principal, Permission.ADMIN, Permission.MEMORY_WRITE, space_id=space)
        memory = None if memory_id is None else parse_id(memory_id)
        if memory_id is not None and memory is None:
            return []
        return await proposals.listed(session, space, memory=memory, pending=pending, after=after, limit=limit)


async def _acceptable(session: WriteSession, memory: UUID, revision: int) -> None:
    found = await proposals.standing(session, memory, revision)
    if found is None:
        raise MunimentError(Code.NOT_FOUND, "no such proposal", "revision")
    if found.accepted_at is not None:
        return
    if found.rejected_at is not None:
        raise MunimentError(Code.CONFLICT, "the proposal was rejected", "revision")
    if found.newest is not None and found.newest > revision:
        raise MunimentError(Code.CONFLICT, "a newer revision was accepted: propose this anew", "revision")
