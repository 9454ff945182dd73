"""What the tree of spaces, its weights and its lenses are changed with."""

from typing import Any

import strawberry

from app.retrieval.lenses import UNCHANGED, LensParts, Unchanged
from schema.types.enums import SpaceLevel


@strawberry.input(description="A new space below another.")
class CreateSpaceInput:
    key: str = strawberry.field(
        description=(
            "Its step of the key path: 1 to 128 characters in Unicode form NFC, without `/`, control or invisible "
            "characters and surrounding space, not `.` or `..`, not beginning with `~`."
        )
    )
    parent_id: strawberry.ID | None = strawberry.field(default=None, description="The space above it, by id.")
    parent_key: str | None = strawberry.field(
        default=None, description="The same by key path; the organisation's own space when none is named."
    )
    name: str | None = strawberry.field(default=None, description="What it is called; the key by default.")
    level: SpaceLevel | None = strawberry.field(
        default=None,
        description="Its level, not above its parent's, never PERSONAL: PROJECT by default, below one SUBPROJECT.",
    )
    client_key: str | None = strawberry.field(
        default=None, description="The client's own key: the same call again does nothing and answers the same."
    )


@strawberry.input(description="The organisation's own weight of a level.")
class LevelWeightInput:
    level: SpaceLevel = strawberry.field(description="The level; each at most once.")
    weight: float = strawberry.field(description="Above 0 and at most 10, with at most 4 decimals.")


@strawberry.input(description="A new lens. A filter that is null is not given, an empty one admits nothing.")
class CreateLensInput:
    name: str = strawberry.field(description="What it is called.")
    space_id: strawberry.ID | None = strawberry.field(default=None, description="The space it belongs to, by id.")
    space_key: str | None = strawberry.field(
        default=None, description="The same by key path; the organisation's own space when none is named."
    )
    space_ids: list[strawberry.ID] | None = strawberry.field(
        default=None, description="Only these spaces; each must be one that the caller may see."
    )
    source_kinds: list[str] | None = strawberry.field(default=None, description="Only sources of these kinds.")
    providers: list[str] | None = strawberry.field(default=None, description="Only sources of these providers.")
    tags: list[str] | None = strawberry.field(default=None, description="Only documents with one of these tags.")
    client_key: str | None = strawberry.field(
        default=None, description="The client's own key: the same call again does nothing and answers the same."
    )

    @property
    def parts(self) -> LensParts:
        return LensParts(
            name=self.name,
            space_ids=_tuple(self.space_ids),
            source_kinds=_tuple(self.source_kinds),
            providers=_tuple(self.providers),
            tags=_tuple(self.tags),
        )


@strawberry.input(description="What is to be different about a lens; what is left out stays, null takes a filter away.")
class LensChanges:
    name: str | None = strawberry.field(default=strawberry.UNSET, description="Another name.")
    space_ids: list[strawberry.ID] | None = strawberry.field(
        default=strawberry.UNSET, description="Other spaces; each must be one that the caller may see."
    )
    source_kinds: list[str] | None = strawberry.field(default=strawberry.UNSET, description="Other kinds.")
    providers: list[str] | None = strawberry.field(default=strawberry.UNSET, description="Other providers.")
    tags: list[str] | None = strawberry.field(default=strawberry.UNSET, description="Other tags.")

    @property
    def parts(self) -> LensParts:
        return LensParts(
            name=UNCHANGED if self.name is strawberry.UNSET or self.name is None else self.name,
            space_ids=_said(self.space_ids),
            source_kinds=_said(self.source_kinds),
            providers=_said(self.providers),
            tags=_said(self.tags),
        )


def _said(values: Any) -> tuple[str, ...] | Unchanged | None:
    return UNCHANGED if values is strawberry.UNSET else _tuple(values)


def _tuple(values: Any) -> tuple[str, ...] | None:
    return None if values is None else tuple(str(value) for value in values)
