"""Making, filling, classifying and deleting sources."""

from typing import Annotated

import strawberry

from app.domain.dlp.policy import Classification as Class
from app.domain.errors import bad_input
from app.domain.principal import Permission
from app.ingestion.catalogue import BY_HAND, create_source, delete_source, set_classification
from app.ingestion.syncing import retry_job, sync_source
from schema.context import Info
from schema.inputs.memory import ClientKey
from schema.inputs.sources import CreateSourceInput, DocumentInput
from schema.permissions import Where, needs
from schema.types.enums import Classification
from schema.types.sources import IngestReceipt, Job, Source

SourceId = Annotated[strawberry.ID, strawberry.argument(description="Id of the source.")]


@strawberry.type
class SourceMutations:
    @needs(Permission.WRITE)
    @strawberry.mutation(description="Make a source. CONFLICT when the space has one of that provider and name.")
    async def create_source(
        self, info: Info, input: Annotated[CreateSourceInput, strawberry.argument(description="The new source.")]
    ) -> Source:
        services, principal = info.context.services, info.context.principal
        policy = input.access_policy
        if policy is not None and not isinstance(policy, dict):
            raise bad_input("an access policy is an object", "accessPolicy")
        return Source.of(
            await create_source(
                services.database,
                services.preparer.analyser,
                principal,
                space_id=None if input.space_id is None else str(input.space_id),
                space_key=input.space_key,
                name=input.name,
                kind=input.kind,
                provider=BY_HAND if input.provider is None else input.provider,
                classification=input.classification or Class.INTERNAL,
                language=input.language or "english",
                access_policy=policy,
                client_key=input.client_key,
            )
        )

    @needs(Permission.WRITE, where=Where.ITEM)
    @strawberry.mutation(
        description=(
            "Take documents into a source, at most 1000 a call, in one write: each overwrites what was believed of it "
            "in its period, and fills what was not. Searchable when this answers; embeddings follow. The same "
            "documents again change nothing; several of one `externalId` are its history, in order; one that cannot "
            "be read fails alone."
        )
    )
    async def ingest_documents(
        self,
        info: Info,
        source_id: SourceId,
        documents: Annotated[list[DocumentInput], strawberry.argument(description="The documents.")],
        client_key: ClientKey = None,
    ) -> IngestReceipt:
        services, principal = info.context.services, info.context.principal
        offered = [item.offered(number) for number, item in enumerate(documents)]
        return IngestReceipt.of(await services.intake.take(principal, str(source_id), offered, client_key))

    @needs(Permission.ADMIN, where=Where.ITEM)
    @strawberry.mutation(
        description=(
            "Delete a source: from now on nothing of it is given, at no point of either clock. Evidence of what was "
            "given before stays. Answers with its id."
        )
    )
    async def delete_source(self, info: Info, id: SourceId, client_key: ClientKey = None) -> strawberry.ID:
        services, principal = info.context.services, info.context.principal
        return strawberry.ID(str(await delete_source(services.database, principal, str(id), client_key)))

    @needs(Permission.ADMIN, where=Where.ITEM)
    @strawberry.mutation(
        description="Say how freely the texts of a source may be read. It holds for the next retrieval."
    )
    async def set_source_classification(
        self,
        info: Info,
        id: SourceId,
        classification: Annotated[Classification, strawberry.argument(description="The class from now on.")],
        client_key: ClientKey = None,
    ) -> Source:
        services, principal = info.context.services, info.context.principal
        return Source.of(await set_classification(services.database, principal, str(id), classification, client_key))

    @needs(Permission.WRITE, where=Where.ITEM)
    @strawberry.mutation(
        description="Read a source again from its place, as a job. Where one waits to do so, that one is answered."
    )
    async def sync_source(self, info: Info, id: SourceId) -> Job:
        services, principal = info.context.services, info.context.principal
        return Job.of(await sync_source(services.database, principal, str(id)))

    @needs(Permission.WRITE, where=Where.ITEM)
    @strawberry.mutation(description="Try a parked job again. CONFLICT when it is not parked.")
    async def retry_job(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="Id of the job.")]
    ) -> Job:
        services, principal = info.context.services, info.context.principal
        return Job.of(await retry_job(services.database, principal, str(id)))
