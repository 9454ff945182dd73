"""A retrieval made again: what it comes to, and why it differs."""

from typing import Self

import strawberry

from app.domain.replay import DriftReason as _DriftReason
from app.evidence.replay import Replay as _Replay
from app.evidence.replay import ReplayedItem as _ReplayedItem
from schema.scalars import Instant
from schema.types.enums import DriftType, ReplayVerdict


@strawberry.type(description="Why a retrieval does not come out as it was recorded, with the items concerned.")
class Drift:
    type: DriftType = strawberry.field(description="The reason.")
    message: str = strawberry.field(description="The same in a sentence.")
    item_ids: list[strawberry.ID] = strawberry.field(
        description="Chunks and versions of memories concerned, as far as the caller may know of them."
    )

    @classmethod
    def of(cls, reason: _DriftReason) -> Self:
        return cls(
            type=reason.reason,
            message=reason.sentence,
            item_ids=[strawberry.ID(str(item)) for item in reason.items],
        )


@strawberry.type(description="One item as it was recorded, and as it comes out again. Never its text.")
class ReplayedItem:
    item_id: strawberry.ID = strawberry.field(description="Id of the chunk, or of the version of a memory.")
    document_id: strawberry.ID | None = strawberry.field(description="The chunk's document; null for a memory.")
    memory_id: strawberry.ID | None = strawberry.field(description="The memory; null for a chunk.")
    recorded_place: int | None = strawberry.field(
        description="Its place when it was delivered, from 1, memories after passages; null when it was not."
    )
    recorded_sha256: str | None = strawberry.field(description="SHA-256 of the text that was delivered.")
    recorded_score: float | None = strawberry.field(description="Its score then, where a trace is kept.")
    place: int | None = strawberry.field(description="Its place now; null when it is not there.")
    sha256: str | None = strawberry.field(description="SHA-256 of its text now.")
    score: float | None = strawberry.field(description="Its score now.")

    @classmethod
    def of(cls, item: _ReplayedItem) -> Self:
        whole = strawberry.ID(str(item.whole))
        return cls(
            item_id=strawberry.ID(str(item.item)),
            document_id=None if item.source is None else whole,
            memory_id=whole if item.source is None else None,
            recorded_place=item.recorded_place,
            recorded_sha256=item.recorded_sha256,
            recorded_score=item.recorded_score,
            place=item.place,
            sha256=item.sha256,
            score=item.score,
        )


@strawberry.type(description="A retrieval made again. It delivers no text, and so leaves no evidence of its own.")
class Replay:
    verdict: ReplayVerdict = strawberry.field(description="Whether it comes out as it was recorded.")
    reasons: list[DriftType] = strawberry.field(description="Why it does not; empty when it does.")
    drifts: list[Drift] = strawberry.field(description="The reasons with what they concern.")
    items: list[ReplayedItem] = strawberry.field(
        description="What was delivered, in that order, then what only comes out now, as far as the caller may know it."
    )
    traced: bool = strawberry.field(
        description="Whether a trace was there, so that every candidate was compared, bit for bit."
    )
    compared: int = strawberry.field(description="Candidates that were compared.")
    valid_at: Instant = strawberry.field(description="The point of valid time that was recorded.")
    known_at: Instant = strawberry.field(description="The point of system time that was recorded.")

    @classmethod
    def of(cls, found: _Replay) -> Self:
        return cls(
            verdict=found.verdict,
            reasons=[reason.reason for reason in found.reasons],
            drifts=[Drift.of(reason) for reason in found.reasons],
            items=[ReplayedItem.of(item) for item in found.items],
            traced=found.traced,
            compared=found.compared,
            valid_at=found.valid_at,
            known_at=found.known_at,
        )
