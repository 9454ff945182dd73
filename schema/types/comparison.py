"""What the same question yields at two points of either clock."""

from typing import Self

import strawberry

from app.retrieval.compare import Comparison as _Comparison
from schema.types.passage import Passage
from schema.types.retrieval import RetrievalResult


@strawberry.type(description="The same place, or the same memory, with another text.")
class ChangedPassage:
    left: Passage = strawberry.field(description="As the left answer has it.")
    right: Passage = strawberry.field(description="As the right answer has it.")


@strawberry.type(description="Two answers to one question, each with its own evidence, and what differs between them.")
class RetrievalComparison:
    left: RetrievalResult = strawberry.field(description="The answer at the left point.")
    right: RetrievalResult = strawberry.field(description="The answer at the right point.")
    added: list[Passage] = strawberry.field(description="Only in the right answer; memories too.")
    removed: list[Passage] = strawberry.field(description="Only in the left answer; memories too.")
    changed: list[ChangedPassage] = strawberry.field(description="In both, with different texts.")

    @classmethod
    def of(cls, found: _Comparison) -> Self:
        return cls(
            left=RetrievalResult.of(found.left),
            right=RetrievalResult.of(found.right),
            added=[
                *(Passage.of(item, found.right) for item in found.added),
                *(Passage.of_memory(item, found.right) for item in found.added_memories),
            ],
            removed=[
                *(Passage.of(item, found.left) for item in found.removed),
                *(Passage.of_memory(item, found.left) for item in found.removed_memories),
            ],
            changed=[
                *(
                    ChangedPassage(left=Passage.of(item.left, found.left), right=Passage.of(item.right, found.right))
                    for item in found.changed
                ),
                *(
                    ChangedPassage(
                        left=Passage.of_memory(item.left, found.left), right=Passage.of_memory(item.right, found.right)
                    )
                    for item in found.changed_memories
                ),
            ],
        )
