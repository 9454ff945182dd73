"""Records of deliveries, and what a check of their chain says."""

from enum import Enum
from typing import Self, cast

import strawberry

from app.domain.chain import Verdict
from app.evidence.attribution import Attribution as _Attribution
from schema.scalars import JSON, BigInt, Instant
from schema.types.enums import ChainVerdict


@strawberry.enum(description="How far a record has come.")
class RecordState(Enum):
    QUEUED = strawberry.enum_value("QUEUED", description="Durable, and waiting for its place in the chain.")
    CHAINED = strawberry.enum_value("CHAINED", description="In the chain, at `sequence`.")


@strawberry.type(description="One record of evidence: a delivery, or the link of a response to one.")
class Attribution:
    id: strawberry.ID = strawberry.field(description="Id of the record.")
    request_id: strawberry.ID = strawberry.field(description="The retrieval that it speaks of.")
    category: str = strawberry.field(description="`context_attribution` or `context_attribution_link`.")
    state: RecordState = strawberry.field(description="How far the record has come.")
    sequence: BigInt | None = strawberry.field(description="Its place in the organisation's chain, once it has one.")
    queued_at: Instant = strawberry.field(description="When it was made durable.")
    record: JSON = strawberry.field(description="What was recorded: ids, hashes, clocks, parameters; never a text.")

    @classmethod
    def of(cls, item: _Attribution) -> Self:
        return cls(
            id=strawberry.ID(str(item.id)),
            request_id=strawberry.ID(item.request_id),
            category=str(item.record["category"]),
            state=RecordState.QUEUED if item.sequence is None else RecordState.CHAINED,
            sequence=None if item.sequence is None else BigInt(item.sequence),
            queued_at=item.queued_at,
            record=cast(JSON, item.record),
        )


@strawberry.type(description="What a check of the evidence chain found.")
class ChainVerification:
    verdict: ChainVerdict = strawberry.field(description="The verdict.")
    first_bad_sequence: BigInt | None = strawberry.field(description="Where it first goes wrong.")
    checked_records: BigInt = strawberry.field(description="Records read until the verdict was certain.")
    reason: str = strawberry.field(description="The verdict in a sentence.")

    @classmethod
    def of(cls, verdict: Verdict) -> Self:
        return cls(
            verdict=verdict.verdict,
            first_bad_sequence=None if verdict.first_bad_sequence is None else BigInt(verdict.first_bad_sequence),
            checked_records=BigInt(verdict.checked_records),
            reason=verdict.reason,
        )
