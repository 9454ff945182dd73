"""Memories on both clocks, and the subjects and groups that they are about."""

from typing import Annotated

import strawberry

from app.domain.principal import Permission
from app.memory import people
from app.memory.resolve import Named
from schema.context import Info
from schema.inputs.memory import (
    ClientKey,
    Expected,
    MemoryChanges,
    RememberInput,
    ValidFrom,
    ValidTo,
    guard,
    period,
)
from schema.permissions import Where, needs
from schema.scalars import Instant
from schema.types.memory import Memory
from schema.types.people import ForgottenSubject, Group, GroupMembership, MemoryProposal, ProposedRevision, Subject

MemoryId = Annotated[strawberry.ID, strawberry.argument(description="Id of the memory.")]
Different = Annotated[MemoryChanges, strawberry.argument(description="What is to be different.")]
SubjectId = Annotated[strawberry.ID, strawberry.argument(description="The client's own name of the subject.")]
SpaceId = Annotated[strawberry.ID | None, strawberry.argument(description="The space, by id.")]
SpaceKey = Annotated[
    str | None, strawberry.argument(description="The space, by key path; the organisation's own when none is named.")
]
MeantId = Annotated[
    strawberry.ID | None,
    strawberry.argument(description="Where several go by a name: the space, by id, of the one that is meant."),
]
MeantKey = Annotated[str | None, strawberry.argument(description="The same space by key path.")]


@strawberry.type
class MemoryMutations:
    @needs(Permission.MEMORY_WRITE)
    @strawberry.mutation(description="Remember something of a subject, a group or a space.")
    async def remember(
        self, info: Info, input: Annotated[RememberInput, strawberry.argument(description="What to remember.")]
    ) -> Memory:
        services, principal = info.context.services, info.context.principal
        from_now = input.valid_from is strawberry.UNSET
        return Memory.of(
            await services.memory.remember(
                principal,
                input.named,
                input.changes,
                since=None if from_now else input.valid_from,
                until=input.valid_to,
                from_now=from_now,
                guard=guard(input.client_key),
            )
        )

    @needs(Permission.MEMORY_WRITE, where=Where.ITEM)
    @strawberry.mutation(
        description=(
            "The same valid period, a new belief: only where something is believed already. Without bounds every phase "
            "of the memory is changed; the answer is the first of them."
        )
    )
    async def correct_memory(
        self,
        info: Info,
        id: MemoryId,
        changes: Different,
        valid_from: ValidFrom = None,
        valid_to: ValidTo = None,
        expected_system_from: Expected = None,
        client_key: ClientKey = None,
    ) -> Memory:
        services, principal = info.context.services, info.context.principal
        return Memory.of(
            await services.memory.correct(
                principal,
                str(id),
                changes.changes,
                period(valid_from, valid_to),
                guard(client_key, expected_system_from),
            )
        )

    @needs(Permission.MEMORY_WRITE, where=Where.ITEM)
    @strawberry.mutation(description="From `validFrom` on (now by default) it is otherwise; before, it stays.")
    async def change_memory(
        self,
        info: Info,
        id: MemoryId,
        changes: Different,
        valid_from: Annotated[
            Instant | None, strawberry.argument(description="From when on it is otherwise; null: from now on.")
        ] = None,
        expected_system_from: Expected = None,
        client_key: ClientKey = None,
    ) -> Memory:
        services, principal = info.context.services, info.context.principal
        return Memory.of(
            await services.memory.change(
                principal, str(id), changes.changes, valid_from, guard(client_key, expected_system_from)
            )
        )

    @needs(Permission.MEMORY_WRITE, where=Where.ITEM)
    @strawberry.mutation(description="It is no longer believed to hold in the period; all of valid time by default.")
    async def retract_memory(
        self,
        info: Info,
        id: MemoryId,
        valid_from: ValidFrom = None,
        valid_to: ValidTo = None,
        expected_system_from: Expected = None,
        client_key: ClientKey = None,
    ) -> strawberry.ID:
        services, principal = info.context.services, info.context.principal
        retracted = await services.memory.retract(
            principal, str(id), period(valid_from, valid_to), guard(client_key, expected_system_from)
        )
        return strawberry.ID(str(retracted))

    @needs(Permission.MEMORY_WRITE)
    @strawberry.mutation(
        description="Propose a revision of a team's memory, or a new one; it is not retrieved until accepted."
    )
    async def propose_memory(
        self,
        info: Info,
        changes: Different,
        memory_id: Annotated[
            strawberry.ID | None, strawberry.argument(description="The memory; null proposes a new one.")
        ] = None,
        group_key: Annotated[str | None, strawberry.argument(description="The group of a new one.")] = None,
        space_id: SpaceId = None,
        space_key: SpaceKey = None,
        client_key: ClientKey = None,
    ) -> MemoryProposal:
        services, principal = info.context.services, info.context.principal
        named = Named(group_key=group_key, space_id=None if space_id is None else str(space_id), space_key=space_key)
        id, revision = await services.proposals.propose(
            principal, named, changes.changes, None if memory_id is None else str(memory_id), client_key
        )
        return MemoryProposal(memory_id=strawberry.ID(str(id)), revision=revision)

    @needs(Permission.ADMIN, where=Where.ITEM)
    @strawberry.mutation(
        description="Accept a proposed revision: from now on it is the one that holds. CONFLICT for one "
        "that was rejected, or that a newer revision has overtaken."
    )
    async def accept_memory(
        self,
        info: Info,
        memory_id: MemoryId,
        revision: Annotated[int, strawberry.argument(description="The proposed revision.")],
        client_key: ClientKey = None,
    ) -> Memory:
        services, principal = info.context.services, info.context.principal
        return Memory.of(await services.proposals.accept(principal, str(memory_id), revision, client_key))

    @needs(Permission.ADMIN, where=Where.ITEM)
    @strawberry.mutation(description="Turn a proposed revision down, for good. CONFLICT for one that was accepted.")
    async def reject_memory(
        self,
        info: Info,
        memory_id: MemoryId,
        revision: Annotated[int, strawberry.argument(description="The proposed revision.")],
        client_key: ClientKey = None,
    ) -> ProposedRevision:
        services, principal = info.context.services, info.context.principal
        return ProposedRevision.of(await services.proposals.reject(principal, str(memory_id), revision, client_key))

    @needs(Permission.MEMORY_WRITE)
    @strawberry.mutation(description="Make a subject. The same again is the same subject.")
    async def create_subject(
        self,
        info: Info,
        subject_id: SubjectId,
        space_id: SpaceId = None,
        space_key: SpaceKey = None,
        client_key: ClientKey = None,
    ) -> Subject:
        services, principal = info.context.services, info.context.principal
        made = await people.create_subject(
            services.database,
            principal,
            str(subject_id),
            space_id=None if space_id is None else str(space_id),
            space_key=space_key,
            client_key=client_key,
        )
        return Subject.of(made)

    @needs(Permission.MEMORY_WRITE)
    @strawberry.mutation(description="Make a group. The same key in the same space again is the same group.")
    async def create_group(
        self,
        info: Info,
        key: Annotated[str, strawberry.argument(description="Key of the group.")],
        name: Annotated[str | None, strawberry.argument(description="Name; the key by default.")] = None,
        space_id: SpaceId = None,
        space_key: SpaceKey = None,
        client_key: ClientKey = None,
    ) -> Group:
        services, principal = info.context.services, info.context.principal
        return Group.of(
            await people.create_group(
                services.database,
                principal,
                key,
                name,
                space_id=None if space_id is None else str(space_id),
                space_key=space_key,
                client_key=client_key,
            )
        )

    @needs(Permission.MEMORY_WRITE, where=Where.ITEM)
    @strawberry.mutation(
        description="Say that a subject belongs to a group for a period. Only verified memberships open its memories."
    )
    async def set_group_membership(
        self,
        info: Info,
        group_key: Annotated[str, strawberry.argument(description="Key of the group.")],
        subject_id: SubjectId,
        verified: Annotated[bool, strawberry.argument(description="Whether the membership was verified.")] = False,
        member: Annotated[bool, strawberry.argument(description="false ends the membership in the period.")] = True,
        valid_from: ValidFrom = None,
        valid_to: ValidTo = None,
        space_id: MeantId = None,
        space_key: MeantKey = None,
        client_key: ClientKey = None,
    ) -> GroupMembership:
        services, principal = info.context.services, info.context.principal
        id = await people.set_membership(
            services.database,
            principal,
            group_key,
            str(subject_id),
            verified=verified,
            member=member,
            period=period(valid_from, valid_to),
            space_id=None if space_id is None else str(space_id),
            space_key=space_key,
            client_key=client_key,
        )
        return GroupMembership(
            id=strawberry.ID(str(id)), group_key=group_key, subject_id=subject_id, verified=verified, member=member
        )

    @needs(Permission.ADMIN, where=Where.ITEM)
    @strawberry.mutation(description="Erase everything held of a subject, on every clock. The chain keeps a tombstone.")
    async def forget_subject(
        self,
        info: Info,
        subject_id: SubjectId,
        space_id: MeantId = None,
        space_key: MeantKey = None,
        client_key: ClientKey = None,
    ) -> ForgottenSubject:
        services, principal = info.context.services, info.context.principal
        erased = await people.forget_subject(
            services.database,
            principal,
            str(subject_id),
            space_id=None if space_id is None else str(space_id),
            space_key=space_key,
            client_key=client_key,
        )
        services.ring()
        return ForgottenSubject(subject_id=subject_id, erased_memories=erased)
