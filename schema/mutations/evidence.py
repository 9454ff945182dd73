"""Recording that a response used a retrieval."""

from typing import Annotated

import strawberry

from app.evidence.attribution import link_response
from schema.context import Info
from schema.permissions import TOKEN, needs


@strawberry.type(description="What was linked.")
class LinkResponsePayload:
    attribution_id: strawberry.ID = strawberry.field(description="The record of the retrieval.")
    response_id: str = strawberry.field(description="The response that used it.")


@strawberry.type
class EvidenceMutations:
    @needs(TOKEN)
    @strawberry.mutation(
        description="Record that a response used a retrieval. Calling it again with the same ids records nothing more."
    )
    async def link_response(
        self,
        info: Info,
        attribution_id: Annotated[strawberry.ID, strawberry.argument(description="Record of the retrieval.")],
        response_id: Annotated[str, strawberry.argument(description="Id of the response, at most 256 characters.")],
    ) -> LinkResponsePayload:
        services = info.context.services
        await link_response(services.database, info.context.principal, str(attribution_id), response_id)
        services.ring()
        return LinkResponsePayload(attribution_id=attribution_id, response_id=response_id)
