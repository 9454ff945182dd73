"""Lenses, and what each level of the tree weighs."""

from typing import Self

import strawberry

from app.domain import lens as domain
from app.identity import level_weights
from schema.scalars import Instant
from schema.types.enums import SpaceLevel


@strawberry.type(description="A saved set of spaces and filters that narrows a retrieval, as known at one moment.")
class Lens:
    id: strawberry.ID = strawberry.field(description="Id of the lens; stays through every change.")
    name: str = strawberry.field(description="What it is called.")
    space_id: strawberry.ID = strawberry.field(description="The space that it belongs to.")
    space_ids: list[strawberry.ID] | None = strawberry.field(
        description="Only these spaces are searched; null: no filter. Those that the caller may not see do not show."
    )
    source_kinds: list[str] | None = strawberry.field(description="Only sources of these kinds; null: no filter.")
    providers: list[str] | None = strawberry.field(description="Only sources of these providers; null: no filter.")
    tags: list[str] | None = strawberry.field(
        description="Only documents that carry one of these tags; null: no filter."
    )
    system_from: Instant = strawberry.field(description="Since when it is so.")

    @classmethod
    def of(cls, lens: domain.Lens) -> Self:
        return cls(
            id=strawberry.ID(str(lens.id)),
            name=lens.name,
            space_id=strawberry.ID(str(lens.space_id)),
            space_ids=None if lens.space_ids is None else [strawberry.ID(str(space)) for space in lens.space_ids],
            source_kinds=None if lens.source_kinds is None else list(lens.source_kinds),
            providers=None if lens.providers is None else list(lens.providers),
            tags=None if lens.tags is None else list(lens.tags),
            system_from=lens.system_from,
        )


@strawberry.type(description="What a level weighs: passages from its spaces have their score multiplied by it.")
class LevelWeight:
    level: SpaceLevel = strawberry.field(description="The level.")
    default: float = strawberry.field(description="The deployment's weight.")
    override: float | None = strawberry.field(description="The organisation's own; null: none.")
    effective: float = strawberry.field(description="The one that counts.")


@strawberry.type(description="The weights of all levels, as known at one moment.")
class LevelWeights:
    levels: list[LevelWeight] = strawberry.field(description="One for each level, from the widest to the narrowest.")
    known_at: Instant = strawberry.field(description="Point of system time that was read.")
    system_from: Instant | None = strawberry.field(
        description="When the organisation's own weights were last set; null: never."
    )

    @classmethod
    def of(cls, found: level_weights.LevelWeights) -> Self:
        return cls(
            levels=[
                LevelWeight(level=item.level, default=item.default, override=item.override, effective=item.effective)
                for item in found.levels
            ],
            known_at=found.known_at,
            system_from=found.changed_at,
        )
