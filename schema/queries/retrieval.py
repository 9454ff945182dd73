"""`retrieve`: what should the model read?"""

from typing import Annotated

import strawberry

from app.domain.principal import Permission
from schema.context import Info
from schema.inputs.retrieval import RetrieveInput
from schema.permissions import needs
from schema.types.retrieval import RetrievalResult


@strawberry.type
class RetrievalQueries:
    @needs(Permission.SEARCH)
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
        request = input.request(context.principal, context.default_space)
        answer = await context.services.retriever.retrieve(request)
        context.services.ring()
        return RetrievalResult.of(answer)
