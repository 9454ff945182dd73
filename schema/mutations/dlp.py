"""The policy against leaks, and indexes made anew."""

from typing import Annotated

import strawberry

from app.domain.principal import Permission
from app.ingestion.policy import set_policy
from schema.context import Info
from schema.inputs.dlp import ClassPolicyInput
from schema.inputs.memory import ClientKey, Expected
from schema.permissions import Where, needs
from schema.scalars import BigInt
from schema.types.dlp import DlpPolicy, IndexWork


@strawberry.type
class DlpMutations:
    @needs(Permission.ORG_ADMIN)
    @strawberry.mutation(
        description=(
            "From now on the organisation's policy is this one; classes that are not named have the default, and so an "
            "empty list resets it. The very next answer passes it; indexes that it makes stale follow in the "
            "background."
        )
    )
    async def set_dlp_policy(
        self,
        info: Info,
        classes: Annotated[list[ClassPolicyInput], strawberry.argument(description="The whole policy.")],
        expected_system_from: Expected = None,
        client_key: ClientKey = None,
    ) -> DlpPolicy:
        services, principal = info.context.services, info.context.principal
        return DlpPolicy.of(
            await set_policy(
                services.database,
                principal,
                [(item.classification, item.action) for item in classes],
                expected=expected_system_from,
                client_key=client_key,
            )
        )

    @needs(Permission.WRITE, where=Where.ITEM)
    @strawberry.mutation(
        description=(
            "Index a source anew from the texts that are stored, in the background. Each of its documents is found by "
            "its former index until it has the new one."
        )
    )
    async def reindex_source(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="Id of the source.")]
    ) -> IndexWork:
        services, principal = info.context.services, info.context.principal
        source = await services.reindexer.request(principal, str(id))
        return IndexWork(source_id=strawberry.ID(str(source)), queued=BigInt(1))

    @needs(Permission.ORG_ADMIN)
    @strawberry.mutation(
        description=(
            "Queue every slice, of one source or of all, that has no embedding of the current model and may have one, "
            "and embed memories that have none. Until they are embedded, words find them."
        )
    )
    async def backfill_embeddings(
        self,
        info: Info,
        source_id: Annotated[
            strawberry.ID | None, strawberry.argument(description="One source only; by default all.")
        ] = None,
    ) -> IndexWork:
        services, principal = info.context.services, info.context.principal
        queued = await services.reindexer.backfill(
            principal.organisation, None if source_id is None else str(source_id), principal.allowed_providers
        )
        return IndexWork(source_id=source_id, queued=BigInt(queued))
