"""Subjects, groups and memberships."""

from enum import Enum
from typing import Self, cast

import strawberry

from app.storage import subjects
from app.storage.proposals import Proposal
from schema.scalars import JSON, Instant


@strawberry.type(description="Somebody that memories are about.")
class Subject:
    id: strawberry.ID = strawberry.field(description="Id of the subject; it goes with the subject.")
    subject_id: strawberry.ID = strawberry.field(
        description="The client's own name of the subject, by which arguments name it."
    )
    space_id: strawberry.ID = strawberry.field(description="The space that it belongs to.")

    @classmethod
    def of(cls, subject: subjects.NamedSubject) -> Self:
        return cls(
            id=strawberry.ID(str(subject.id)),
            subject_id=strawberry.ID(subject.external_id),
            space_id=strawberry.ID(str(subject.space_id)),
        )


@strawberry.type(description="A group whose members share memories.")
class Group:
    id: strawberry.ID = strawberry.field(description="Id of the group.")
    key: str = strawberry.field(description="Key of the group.")
    name: str = strawberry.field(description="Name of the group.")
    space_id: strawberry.ID = strawberry.field(description="The space that it belongs to.")

    @classmethod
    def of(cls, group: subjects.Group) -> Self:
        return cls(
            id=strawberry.ID(str(group.id)),
            key=group.key,
            name=group.name,
            space_id=strawberry.ID(str(group.space_id)),
        )


@strawberry.type(description="One subject in one group.")
class GroupMembership:
    id: strawberry.ID = strawberry.field(description="Id of the fact, whose `history` can be read.")
    group_key: str = strawberry.field(description="Key of the group.")
    subject_id: strawberry.ID = strawberry.field(description="The subject.")
    verified: bool = strawberry.field(description="Whether the membership was verified.")
    member: bool = strawberry.field(description="Whether the subject belongs to the group in the period.")


@strawberry.type(description="A revision that waits to be accepted.")
class MemoryProposal:
    memory_id: strawberry.ID = strawberry.field(description="The memory.")
    revision: int = strawberry.field(description="Number of the revision.")


@strawberry.enum(description="What became of a proposed revision.")
class ProposalState(Enum):
    PENDING = strawberry.enum_value("pending", description="It can still be accepted.")
    ACCEPTED = strawberry.enum_value("accepted", description="It was accepted.")
    REJECTED = strawberry.enum_value("rejected", description="It was turned down.")
    OVERTAKEN = strawberry.enum_value("overtaken", description="A newer revision was accepted.")


@strawberry.type(description="A proposed revision and what became of it.")
class ProposedRevision:
    memory_id: strawberry.ID = strawberry.field(description="The memory.")
    revision: int = strawberry.field(description="Number of the revision.")
    state: ProposalState = strawberry.field(description="What became of it.")
    changes: JSON = strawberry.field(description="What is to be different.")
    proposed_by: strawberry.ID = strawberry.field(description="Id of the principal that proposed it.")
    proposed_at: Instant = strawberry.field(description="When it was proposed.")
    decided_by: strawberry.ID | None = strawberry.field(description="Id of the principal that accepted or rejected it.")
    decided_at: Instant | None = strawberry.field(description="When that was.")

    @classmethod
    def of(cls, proposal: Proposal) -> Self:
        by = proposal.accepted_by or proposal.rejected_by
        return cls(
            memory_id=strawberry.ID(str(proposal.memory_id)),
            revision=proposal.revision,
            state=_state(proposal),
            changes=cast(JSON, proposal.given),
            proposed_by=strawberry.ID(str(proposal.proposed_by)),
            proposed_at=proposal.proposed_at,
            decided_by=None if by is None else strawberry.ID(str(by)),
            decided_at=proposal.accepted_at or proposal.rejected_at,
        )


def _state(proposal: Proposal) -> ProposalState:
    if proposal.accepted_at is not None:
        return ProposalState.ACCEPTED
    if proposal.rejected_at is not None:
        return ProposalState.REJECTED
    overtaken = proposal.newest is not None and proposal.newest > proposal.revision
    return ProposalState.OVERTAKEN if overtaken else ProposalState.PENDING


@strawberry.type(description="What was erased.")
class ForgottenSubject:
    subject_id: strawberry.ID = strawberry.field(description="The subject that is forgotten.")
    erased_memories: int = strawberry.field(description="Memories that were erased.")
