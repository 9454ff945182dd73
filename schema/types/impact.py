"""Where an item went, and what became of what was delivered."""

from typing import Self

import strawberry

from app.domain.instant import parse_instant
from app.evidence.impact import Link, Use
from app.evidence.staleness import Moved, Stale
from schema.scalars import Instant
from schema.types.enums import Movement
from schema.types.evidence import Attribution


@strawberry.type(description="A response, or a call of a model, that a delivery is linked to.")
class LinkedResponse:
    response_id: str = strawberry.field(description="What the caller named it by.")
    linked_at: Instant = strawberry.field(description="When the link was recorded.")
    record_id: strawberry.ID = strawberry.field(description="Id of the record of the link.")

    @classmethod
    def of(cls, link: Link) -> Self:
        return cls(
            response_id=link.response_id,
            linked_at=parse_instant(link.linked_at),
            record_id=strawberry.ID(str(link.id)),
        )


@strawberry.type(description="A retrieval that delivered an item, and what was made of it.")
class Impact:
    attribution: Attribution = strawberry.field(description="The record of the retrieval.")
    item_ids: list[strawberry.ID] = strawberry.field(
        description="The chunks or versions of memories that were delivered of the item."
    )
    responses: list[LinkedResponse] = strawberry.field(description="Responses that used it, oldest first.")

    @classmethod
    def of(cls, use: Use) -> Self:
        return cls(
            attribution=Attribution.of(use.attribution),
            item_ids=[strawberry.ID(str(item)) for item in use.items],
            responses=[LinkedResponse.of(link) for link in use.links],
        )


@strawberry.type(description="An item that was delivered and has moved since.")
class MovedItem:
    item_id: strawberry.ID = strawberry.field(description="Id of the chunk, or of the version of a memory.")
    whole_id: strawberry.ID = strawberry.field(description="Its document, or the memory.")
    movement: Movement = strawberry.field(description="What became of it.")
    at: Instant | None = strawberry.field(description="When, on the system clock; null where nothing is kept of that.")

    @classmethod
    def of(cls, moved: Moved) -> Self:
        return cls(
            item_id=strawberry.ID(str(moved.item)),
            whole_id=strawberry.ID(str(moved.whole)),
            movement=moved.kind,
            at=moved.at,
        )


@strawberry.type(description="A delivery of which something has moved since.")
class StaleAttribution:
    attribution: Attribution = strawberry.field(description="The record of the delivery.")
    moved: list[MovedItem] = strawberry.field(description="What moved, the last movement first.")

    @classmethod
    def of(cls, stale: Stale) -> Self:
        return cls(
            attribution=Attribution.of(stale.attribution),
            moved=[MovedItem.of(moved) for moved in stale.moved],
        )
