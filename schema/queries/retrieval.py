"""`retrieve`: what should the model read? And `compareRetrievals`: what would it have been then?"""

from typing import Annotated

import strawberry

from app.domain.principal import Permission
from app.retrieval.compare import Point, compare
from app.server.metrics import retrievals
from schema.context import Info
from schema.inputs.retrieval import PointInput, RetrieveInput
from schema.permissions import Where, needs
from schema.selection import selects
from schema.types.comparison import RetrievalComparison
from schema.types.retrieval import RetrievalResult


@strawberry.type
class RetrievalQueries:
    @needs(Permission.SEARCH, where=Where.SEARCHED)
    @strawberry.field(
        description=(
            "Passages for a question, as of any point of both clocks, with their citations, the account of what was "
            "left out, and the id of the evidence record that was stored before the answer left."
        )
    )
    async def retrieve(
        self, info: Info, input: Annotated[RetrieveInput, strawberry.argument(description="The question.")]
    ) -> RetrievalResult:
        context = info.context
        request = input.request(context.principal, context.default_space, near_misses=selects(info, "exclusions"))
        with context.tracing.span("retrieve") as span, retrievals.time():
            answer = await context.services.retriever.retrieve(request)
            span.note(
                request_id=str(answer.contract.request_id),
                attribution_id=str(answer.attribution_id),
                passages=len(answer.passages),
                candidates=answer.search.candidates,
                **{f"stage.{name}": milliseconds for name, milliseconds in answer.search.stage_timings.items()},
            )
        context.services.ring()
        return RetrievalResult.of(answer)

    @needs(Permission.SEARCH, where=Where.SEARCHED)
    @strawberry.field(
        description=(
            "What the same question yields at two points of either clock: added, removed, changed. Both answers are "
            "deliveries, and both leave evidence."
        )
    )
    async def compare_retrievals(
        self,
        info: Info,
        input: Annotated[RetrieveInput, strawberry.argument(description="The question; its own clocks do not count.")],
        left: Annotated[PointInput, strawberry.argument(description="One point of both clocks.")],
        right: Annotated[PointInput, strawberry.argument(description="The other point.")],
    ) -> RetrievalComparison:
        context = info.context
        told = selects(info, "left", "exclusions") or selects(info, "right", "exclusions")
        request = input.request(context.principal, context.default_space, near_misses=told)
        found = await compare(
            context.services.retriever,
            request,
            Point(left.as_of, left.known_at),
            Point(right.as_of, right.known_at),
        )
        context.services.ring()
        return RetrievalComparison.of(found)
