"""Which of several things of one name is meant. Names of subjects and groups are unique in a space only."""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol, TypeVar
from uuid import UUID

from app.domain.errors import Code, MunimentError


class InSpace(Protocol):
    """What belongs to a space."""

    @property
    def space_id(self) -> UUID: ...


T = TypeVar("T", bound=InSpace)


def meant(candidates: Iterable[T], seen: Collection[UUID], near: Sequence[UUID], field: str) -> T | None:
    """Among the candidates of the spaces that the caller may see: the one of the nearest space, else the only one.

    `near` are spaces, nearest first. None when there is none; CONFLICT when several are left and none of them is near.
    What the caller may not see never counts, so that it cannot be told.
    """
    visible = {candidate.space_id: candidate for candidate in candidates if candidate.space_id in seen}
    for space in near:
        if space in visible:
            return visible[space]
    if len(visible) > 1:
        raise MunimentError(Code.CONFLICT, "several go by that name: name the space of the one that is meant", field)
    return next(iter(visible.values()), None)
