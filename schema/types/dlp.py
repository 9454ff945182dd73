"""The policy against leaks, and what was found."""

from typing import Self

import strawberry

from app.domain.dlp.policy import Policy
from app.ingestion.policy import PolicyThen
from app.storage.findings import SourceFindings as _SourceFindings
from schema.scalars import BigInt, Instant
from schema.types.enums import Classification, DlpAction, DlpDetector


@strawberry.type(description="What is done with texts of a class.")
class ClassPolicy:
    classification: Classification = strawberry.field(description="The class.")
    action: DlpAction = strawberry.field(description="What is done.")


@strawberry.type(description="An organisation's policy against leaks, as it was known at a point of system time.")
class DlpPolicy:
    version: str = strawberry.field(description="What evidence names as its policy version.")
    classes: list[ClassPolicy] = strawberry.field(description="Every class with its action.")
    known_at: Instant = strawberry.field(description="The point of system time that was read.")
    system_from: Instant | None = strawberry.field(description="When it was set; null: it is the default.")

    @classmethod
    def of(cls, then: PolicyThen) -> Self:
        return cls(
            version=then.policy.version,
            classes=[ClassPolicy(classification=kind, action=action) for kind, action in then.policy.actions],
            known_at=then.known_at,
            system_from=then.system_from,
        )


@strawberry.type(description="How often a detector found something.")
class DetectorCount:
    detector: DlpDetector = strawberry.field(description="The detector.")
    count: BigInt = strawberry.field(description="Findings in the slices that are stored, of all of valid time.")


@strawberry.type(description="What detectors found in a source: numbers, never what was found.")
class SourceFindings:
    source_id: strawberry.ID = strawberry.field(description="Id of the source.")
    name: str = strawberry.field(description="Name of the source.")
    classification: Classification = strawberry.field(description="Class of the source.")
    action: DlpAction = strawberry.field(description="What today's policy does with texts of its class.")
    counts: list[DetectorCount] = strawberry.field(description="Findings by detector; detectors without are left out.")
    stale_chunks: BigInt = strawberry.field(
        description="Slices whose index is not yet as today's policy and detectors make it."
    )

    @classmethod
    def of(cls, found: _SourceFindings, policy: Policy) -> Self:
        return cls(
            source_id=strawberry.ID(str(found.id)),
            name=found.name,
            classification=Classification(found.classification),
            action=policy.action(found.classification),
            counts=[DetectorCount(detector=kind, count=BigInt(number)) for kind, number in found.counts.items()],
            stale_chunks=BigInt(found.stale),
        )


@strawberry.type(description="Work on an index that goes on in the background.")
class IndexWork:
    source_id: strawberry.ID | None = strawberry.field(description="The source; null for all of them.")
    queued: BigInt = strawberry.field(description="Sources, or slices, that were queued by this call.")
