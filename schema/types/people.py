"""Subjects, groups and memberships."""

from typing import Self

import strawberry

from app.storage import subjects


@strawberry.type(description="Somebody that memories are about.")
class Subject:
    subject_id: strawberry.ID = strawberry.field(description="The client's own name of the subject.")


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


@strawberry.type(description="What was erased.")
class ForgottenSubject:
    subject_id: strawberry.ID = strawberry.field(description="The subject that is forgotten.")
    erased_memories: int = strawberry.field(description="Memories that were erased.")
