"""Sources, what stands in them, and the jobs that read them."""

from typing import Self, cast

import strawberry

from app.domain.dlp.policy import Classification as Class
from app.domain.sources import SourceKind as Kind
from app.ingestion.intake import Became, Receipt, Taken
from app.ingestion.jobs import JobKind as Does
from app.storage.catalogue import Listed
from app.storage.jobs import StoredJob
from schema.scalars import JSON, BigInt, Instant
from schema.types.enums import Classification, IngestOutcome, JobKind, JobState, SourceKind


@strawberry.type(description="Where documents come from.")
class Source:
    id: strawberry.ID = strawberry.field(description="Id of the source.")
    space_id: strawberry.ID = strawberry.field(description="The space that it belongs to.")
    name: str = strawberry.field(description="Its name in the space.")
    kind: SourceKind = strawberry.field(description="What it holds.")
    provider: str = strawberry.field(description="Who keeps it, such as git, filesystem or api.")
    classification: Classification = strawberry.field(description="How freely its texts may be read.")
    language: str = strawberry.field(description="Language of its prose, as Snowball names it.")
    access_policy: JSON | None = strawberry.field(description="The provider's own rules of access, as they were given.")
    index_version: int = strawberry.field(description="Version of its search index.")
    syncable: bool = strawberry.field(description="Whether `syncSource` can read it again from its place.")
    system_from: Instant = strawberry.field(description="Since when it is as it is.")
    synced_at: Instant | None = strawberry.field(description="When it was last read to its end.")

    @classmethod
    def of(cls, item: Listed) -> Self:
        return cls(
            id=strawberry.ID(str(item.id)),
            space_id=strawberry.ID(str(item.space_id)),
            name=item.name,
            kind=Kind(item.kind),
            provider=item.provider,
            classification=Class(item.classification),
            language=item.language,
            access_policy=cast(JSON | None, item.access_policy),
            index_version=item.index_version,
            syncable=item.place is not None,
            system_from=item.system_from,
            synced_at=item.synced_at,
        )


@strawberry.type(description="What a call made of one of its documents.")
class IngestedDocument:
    external_id: str = strawberry.field(description="Its name, as it was given.")
    id: strawberry.ID | None = strawberry.field(description="Id of the document; null where there is none.")
    outcome: IngestOutcome = strawberry.field(description="What became of it.")
    problem: str | None = strawberry.field(description="Why it failed, or what was repaired in it.")

    @classmethod
    def of(cls, item: Taken) -> Self:
        return cls(
            external_id=item.external_id,
            id=None if item.id is None else strawberry.ID(str(item.id)),
            outcome=item.became,
            problem=item.problem,
        )


@strawberry.type(description="What `ingestDocuments` did.")
class IngestReceipt:
    source_id: strawberry.ID = strawberry.field(description="The source.")
    known_at: Instant = strawberry.field(description="The instant of system time from which it is known.")
    created: int = strawberry.field(description="Documents that are new.")
    changed: int = strawberry.field(description="Documents that are believed to be something else now.")
    unchanged: int = strawberry.field(description="Documents that were believed just so already.")
    failed: int = strawberry.field(description="Documents that could not be read.")
    documents: list[IngestedDocument] = strawberry.field(description="Each document, in the order of the call.")

    @classmethod
    def of(cls, receipt: Receipt) -> Self:
        became = [item.became for item in receipt.taken]
        return cls(
            source_id=strawberry.ID(str(receipt.source_id)),
            known_at=receipt.known_at,
            created=became.count(Became.CREATED),
            changed=became.count(Became.CHANGED),
            unchanged=became.count(Became.UNCHANGED),
            failed=became.count(Became.FAILED),
            documents=[IngestedDocument.of(item) for item in receipt.taken],
        )


@strawberry.type(description="Work that was asked for and is done later, by whichever process gets to it.")
class Job:
    id: strawberry.ID = strawberry.field(description="Id of the job.")
    kind: JobKind = strawberry.field(description="What it does.")
    source_id: strawberry.ID = strawberry.field(description="The source that it is about.")
    state: JobState = strawberry.field(description="Where it stands.")
    attempts: int = strawberry.field(description="Tries so far.")
    done: BigInt = strawberry.field(description="Items that are done.")
    total: BigInt | None = strawberry.field(description="Items that there are; null while that is not known.")
    outcome: JSON | None = strawberry.field(description="What it did, once it is done.")
    error: str | None = strawberry.field(description="Why the last try failed.")
    created_at: Instant = strawberry.field(description="When it was asked for.")
    finished_at: Instant | None = strawberry.field(description="When it was over.")

    @classmethod
    def of(cls, job: StoredJob) -> Self:
        return cls(
            id=strawberry.ID(str(job.id)),
            kind=Does(job.kind),
            source_id=strawberry.ID(str(job.source_id)),
            state=JobState(job.state),
            attempts=job.attempts,
            done=BigInt(job.done),
            total=None if job.total is None else BigInt(job.total),
            outcome=cast(JSON | None, job.outcome),
            error=job.error,
            created_at=job.created_at,
            finished_at=job.finished_at,
        )
