"""C8. What the same question yields at two points of either clock."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from app.retrieval.answer import Answer, Delivered
from app.retrieval.pipeline import Retriever
from app.retrieval.recall import DeliveredMemory
from app.retrieval.request import RetrievalRequest


@dataclass(frozen=True, slots=True)
class Point:
    """A point of both clocks; None is now."""

    as_of: datetime | None
    known_at: datetime | None


@dataclass(frozen=True, slots=True)
class Changed:
    """The same place with another text."""

    left: Delivered
    right: Delivered


@dataclass(frozen=True, slots=True)
class ChangedMemory:
    left: DeliveredMemory
    right: DeliveredMemory


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two answers, each with its own evidence, and what differs between them."""

    left: Answer
    right: Answer
    added: tuple[Delivered, ...]
    removed: tuple[Delivered, ...]
    changed: tuple[Changed, ...]
    added_memories: tuple[DeliveredMemory, ...]
    removed_memories: tuple[DeliveredMemory, ...]
    changed_memories: tuple[ChangedMemory, ...]


async def compare(retriever: Retriever, request: RetrievalRequest, left: Point, right: Point) -> Comparison:
    """Ask at both points, one after the other."""
    before = await retriever.retrieve(replace(request, as_of=left.as_of, known_at=left.known_at))
    after = await retriever.retrieve(replace(request, as_of=right.as_of, known_at=right.known_at))
    removed, added, changed = _passages(before, after)
    removed_memories, added_memories, changed_memories = _memories(before, after)
    return Comparison(before, after, added, removed, changed, added_memories, removed_memories, changed_memories)


def _passages(left: Answer, right: Answer) -> tuple[tuple[Delivered, ...], tuple[Delivered, ...], tuple[Changed, ...]]:
    """(only left, only right, the same heading of the same document with another text).

    Passages with the same text of the same document are the same, wherever a row of them begins or ends.
    """

    def identity(item: Delivered) -> tuple[UUID, str]:
        return item.candidate.document_id, item.content_sha256

    def place(item: Delivered) -> tuple[UUID, tuple[str, ...]]:
        return item.candidate.document_id, tuple(item.passage.heading_path)

    lefts, rights = {identity(item) for item in left.passages}, {identity(item) for item in right.passages}
    removed = [item for item in left.passages if identity(item) not in rights]
    added = [item for item in right.passages if identity(item) not in lefts]
    changed: list[Changed] = []
    for item in list(removed):
        other = next((candidate for candidate in added if place(candidate) == place(item)), None)
        if other is not None:
            changed.append(Changed(item, other))
            removed.remove(item)
            added.remove(other)
    return tuple(removed), tuple(added), tuple(changed)


def _memories(
    left: Answer, right: Answer
) -> tuple[tuple[DeliveredMemory, ...], tuple[DeliveredMemory, ...], tuple[ChangedMemory, ...]]:
    lefts = {item.candidate.hit.memory_id: item for item in (*left.memories, *left.group_memories)}
    rights = {item.candidate.hit.memory_id: item for item in (*right.memories, *right.group_memories)}
    return (
        tuple(item for id, item in lefts.items() if id not in rights),
        tuple(item for id, item in rights.items() if id not in lefts),
        tuple(
            ChangedMemory(item, rights[id])
            for id, item in lefts.items()
            if id in rights and rights[id].candidate.hit.text_sha256 != item.candidate.hit.text_sha256
        ),
    )
