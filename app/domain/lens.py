"""A lens: a saved set of spaces and filters that narrows what a request searches, and never widens it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from app.domain.principal import Source

#: Each set admits documents that carry one of its tags, and all sets must admit; no set at all admits every document.
TagSets: TypeAlias = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Lens:
    """One version. A filter that is None is not given, an empty one admits nothing. `space_id` is where it belongs."""

    id: UUID
    space_id: UUID
    name: str
    space_ids: tuple[UUID, ...] | None
    source_kinds: tuple[str, ...] | None
    providers: tuple[str, ...] | None
    tags: tuple[str, ...] | None
    system_from: datetime

    def admits_space(self, space: UUID) -> bool:
        return self.space_ids is None or space in self.space_ids

    def admits(self, source: Source) -> bool:
        return (
            self.tags != ()
            and self.admits_space(source.space_id)
            and admits(self.source_kinds, source.kind)
            and admits(self.providers, source.provider)
        )


def admits(wanted: Collection[str] | None, value: str) -> bool:
    """Whether a filter lets a value through."""
    return wanted is None or value in wanted


def tag_sets(*filters: Sequence[str] | None) -> tuple[tuple[str, ...], ...]:
    """The filters on tags that were given."""
    return tuple(tuple(tags) for tags in filters if tags is not None)
