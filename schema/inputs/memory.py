"""What a client remembers, corrects, changes and retracts with."""

from typing import Annotated

import strawberry

from app.domain.temporal import Period
from app.memory.resolve import Named
from app.memory.revision import Changes
from app.memory.writing import Guard
from schema.scalars import Instant
from schema.types.enums import EpistemicStatus, TransformType


@strawberry.input(description="A new memory of a subject, of a group, or of a space itself.")
class RememberInput:
    text: str = strawberry.field(description="What is remembered; at most 20000 characters.")
    subject_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="The subject, by the client's own name: of several in the spaces that the caller may see, the one "
        "in the named space or nearest above it. Made in the space when there is none.",
    )
    group_key: str | None = strawberry.field(default=None, description="The group, by its key.")
    space_id: strawberry.ID | None = strawberry.field(default=None, description="The space, by id.")
    space_key: str | None = strawberry.field(
        default=None,
        description="The space, by key path; the organisation's own when none is named. An unknown one is made where "
        "the caller may write on the nearest space above it.",
    )
    importance: float | None = strawberry.field(default=None, description="0 to 1; 0.5 by default.")
    confidence: float | None = strawberry.field(default=None, description="0 to 1.")
    epistemic_status: EpistemicStatus | None = strawberry.field(default=None, description="TOLD by default.")
    transform_type: TransformType | None = strawberry.field(default=None, description="AGENT_WRITE by default.")
    tags: list[str] | None = strawberry.field(default=None, description="Its tags.")
    valid_from: Instant | None = strawberry.field(
        default=strawberry.UNSET, description="Since when it holds: from this write on by default; null: always."
    )
    valid_to: Instant | None = strawberry.field(default=None, description="Until when it holds.")
    client_key: str | None = strawberry.field(
        default=None, description="The client's own key: the same call again does nothing and answers the same."
    )

    @property
    def named(self) -> Named:
        return Named(
            subject_id=None if self.subject_id is None else str(self.subject_id),
            group_key=self.group_key,
            space_id=None if self.space_id is None else str(self.space_id),
            space_key=self.space_key,
        )

    @property
    def changes(self) -> Changes:
        return Changes(
            text=self.text,
            importance=self.importance,
            confidence=self.confidence,
            epistemic_status=self.epistemic_status,
            transform_type=self.transform_type,
            tags=None if self.tags is None else tuple(self.tags),
        )


@strawberry.input(description="What is to be different about a memory; what is not given stays.")
class MemoryChanges:
    text: str | None = strawberry.field(default=None, description="Another text.")
    importance: float | None = strawberry.field(default=None, description="0 to 1.")
    confidence: float | None = strawberry.field(default=None, description="0 to 1.")
    epistemic_status: EpistemicStatus | None = strawberry.field(default=None, description="How it came to be known.")
    transform_type: TransformType | None = strawberry.field(default=None, description="How the text came to be.")
    tags: list[str] | None = strawberry.field(default=None, description="Other tags.")

    @property
    def changes(self) -> Changes:
        return Changes(
            text=self.text,
            importance=self.importance,
            confidence=self.confidence,
            epistemic_status=self.epistemic_status,
            transform_type=self.transform_type,
            tags=None if self.tags is None else tuple(self.tags),
        )


ValidFrom = Annotated[Instant | None, strawberry.argument(description="Start of the valid period; null: open.")]
ValidTo = Annotated[Instant | None, strawberry.argument(description="End of the valid period; null: open.")]
ClientKey = Annotated[
    str | None,
    strawberry.argument(description="The client's own key: the same call again does nothing and answers the same."),
]
Expected = Annotated[
    Instant | None,
    strawberry.argument(description="The last change that the client knows of; CONFLICT when there was a later one."),
]


def period(valid_from: Instant | None, valid_to: Instant | None) -> Period:
    """BAD_USER_INPUT when it is empty or reversed."""
    return Period(valid_from, valid_to)


def guard(client_key: str | None, expected: Instant | None = None) -> Guard:
    return Guard(client_key, expected)
