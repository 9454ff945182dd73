"""Looking into one retrieval: its trace, and why an item is not in its answer."""

from typing import Annotated

import strawberry

from app.evidence import trace
from schema.context import Info
from schema.permissions import TOKEN, needs
from schema.types.trace import ExclusionExplanation, Trace


@strawberry.type
class TraceQueries:
    @needs(TOKEN)
    @strawberry.field(
        description=(
            "The trace of a retrieval, for who retrieved, who administers its space, or an auditor. NOT_FOUND when it "
            "is unknown or erased."
        )
    )
    async def trace(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="Id of the trace.")]
    ) -> Trace:
        services = info.context.services
        return Trace.of(await trace.find_trace(services.database, info.context.principal, str(id)))

    @needs(TOKEN)
    @strawberry.field(
        description=(
            "Why an item is not in the answer of a retrieval: the first stage that removed it, or that it never was a "
            "candidate, which is also said of what the caller may not know of. NOT_FOUND when no trace is kept."
        )
    )
    async def explain_exclusion(
        self,
        info: Info,
        request_id: Annotated[strawberry.ID, strawberry.argument(description="Id of the retrieval.")],
        item_id: Annotated[
            strawberry.ID,
            strawberry.argument(description="Id of a chunk, a document, a memory, or a version of a memory."),
        ],
    ) -> ExclusionExplanation:
        services, principal = info.context.services, info.context.principal
        return ExclusionExplanation.of(await trace.explain(services.database, principal, str(request_id), str(item_id)))
