"""Records of deliveries, and what a check of their chain says."""

from enum import Enum
from typing import Self, cast

import strawberry

from app.domain.chain import Outcome, Verdict
from app.evidence.attribution import Attribution as _Attribution
from app.evidence.runs import StoredRun
from schema.scalars import JSON, BigInt, Instant
from schema.types.enums import ChainVerdict


@strawberry.enum(description="How far a record has come.")
class RecordState(Enum):
    QUEUED = strawberry.enum_value("QUEUED", description="Durable, and waiting for its place in the chain.")
    CHAINED = strawberry.enum_value("CHAINED", description="In the chain, at `sequence`.")


@strawberry.type(
    description="One record of evidence: a delivery, the link of a response to one, or what befell the evidence itself."
)
class Attribution:
    id: strawberry.ID = strawberry.field(description="Id of the record.")
    request_id: strawberry.ID = strawberry.field(description="The retrieval that it speaks of; of none, its own id.")
    category: str = strawberry.field(
        description="`context_attribution`, `context_attribution_link`, of a link that was not made "
        "`models.gateway.context_link`, of an erasure `subject_erasure`, of a check `chain_verification`."
    )
    state: RecordState = strawberry.field(description="How far the record has come.")
    sequence: BigInt | None = strawberry.field(description="Its place in the organisation's chain, once it has one.")
    queued_at: Instant = strawberry.field(description="When it was made durable.")
    record: JSON = strawberry.field(
        description="What was recorded: ids, hashes, clocks, parameters; never a text. Who sees it as administrator "
        "of its space sees in it what they may see elsewhere today."
    )

    @classmethod
    def of(cls, item: _Attribution) -> Self:
        return cls(
            id=strawberry.ID(str(item.id)),
            request_id=strawberry.ID(item.request_id),
            category=str(item.record.get("category")),
            state=RecordState.QUEUED if item.sequence is None else RecordState.CHAINED,
            sequence=None if item.sequence is None else BigInt(item.sequence),
            queued_at=item.queued_at,
            record=cast(JSON, item.record),
        )


@strawberry.type(description="Places of a chain, both ends included.")
class SequenceRange:
    first: BigInt = strawberry.field(description="The first of them.")
    last: BigInt = strawberry.field(description="The last of them.")


@strawberry.type(description="What a check of the evidence chain found.")
class ChainVerification:
    verdict: ChainVerdict = strawberry.field(description="The verdict.")
    first_bad_sequence: BigInt | None = strawberry.field(description="Where it first goes wrong.")
    checked_records: BigInt = strawberry.field(description="Records read until the verdict was certain.")
    reason: str = strawberry.field(description="The verdict in a sentence.")
    unverifiable: list[SequenceRange] = strawberry.field(
        description="Where records stand whose keys are missing; the first 16 stretches."
    )

    @classmethod
    def of(cls, verdict: Verdict) -> Self:
        return cls(
            verdict=verdict.verdict,
            first_bad_sequence=_sequence(verdict.first_bad_sequence),
            checked_records=BigInt(verdict.checked_records),
            reason=verdict.reason,
            unverifiable=[
                SequenceRange(first=BigInt(span.first), last=BigInt(span.last)) for span in verdict.unverifiable
            ],
        )


@strawberry.enum(description="Why a chain was verified.")
class VerificationOccasion(Enum):
    REQUEST = strawberry.enum_value("REQUEST", description="A caller of the API asked.")
    COMMAND = strawberry.enum_value("COMMAND", description="`muniment verify-chain`.")
    SCHEDULE = strawberry.enum_value("SCHEDULE", description="The regular run of the server.")


@strawberry.type(description="One verification of the chain, as it was recorded.")
class ChainVerificationRun:
    id: strawberry.ID = strawberry.field(description="Id of the run.")
    occasion: VerificationOccasion = strawberry.field(description="Why it was made.")
    requested_by: strawberry.ID | None = strawberry.field(description="Who asked the API for it.")
    started_at: Instant = strawberry.field(description="When it began.")
    finished_at: Instant = strawberry.field(description="When its verdict was there.")
    verdict: ChainVerdict = strawberry.field(description="The verdict.")
    first_bad_sequence: BigInt | None = strawberry.field(description="Where the chain first goes wrong.")
    checked_records: BigInt = strawberry.field(description="Records read until the verdict was certain.")
    checked: SequenceRange | None = strawberry.field(description="Which records were read.")
    reason: str = strawberry.field(description="The verdict in a sentence.")

    @classmethod
    def of(cls, run: StoredRun) -> Self:
        checked = None
        if run.first is not None and run.last is not None:
            checked = SequenceRange(first=BigInt(run.first), last=BigInt(run.last))
        return cls(
            id=strawberry.ID(str(run.id)),
            occasion=VerificationOccasion(run.occasion),
            requested_by=None if run.requested_by is None else strawberry.ID(str(run.requested_by)),
            started_at=run.started_at,
            finished_at=run.finished_at,
            verdict=Outcome(run.verdict),
            first_bad_sequence=_sequence(run.first_bad_sequence),
            checked_records=BigInt(run.checked_records),
            checked=checked,
            reason=run.reason,
        )


def _sequence(value: int | None) -> BigInt | None:
    return None if value is None else BigInt(value)
