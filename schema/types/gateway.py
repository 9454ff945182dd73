"""Calls of a model that passed through the gateway."""

from typing import Self

import strawberry

from app.gateway.calls import NotedCall
from schema.scalars import BigInt, Instant
from schema.types.enums import ContextLink, ModelCallOutcome


@strawberry.type(description="A call of a model that named a retrieval. Nothing of what was said is kept.")
class ModelCall:
    id: strawberry.ID = strawberry.field(description="The gateway request id; links name it as the response.")
    context_request_id: strawberry.ID = strawberry.field(description="The retrieval, as the call named it.")
    attribution_id: strawberry.ID | None = strawberry.field(description="The record that it was linked to.")
    model: str | None = strawberry.field(description="The model that was asked for, as declared by the call.")
    endpoint: str = strawberry.field(description="What was called: `chat/completions`, `embeddings` or `models`.")
    status: int | None = strawberry.field(description="HTTP status of the provider's answer; null without one.")
    started_at: Instant = strawberry.field(description="When the call came.")
    duration_ms: BigInt = strawberry.field(description="Milliseconds from then to its end.")
    streamed: bool = strawberry.field(description="Whether the provider answered with a stream of events.")
    outcome: ModelCallOutcome = strawberry.field(description="How it ended.")
    link: ContextLink | None = strawberry.field(description="What came of the link; null without an answer.")
    client_id: str | None = strawberry.field(description="The calling program, from its token.")
    client_name: str | None = strawberry.field(description="The calling program, as it declared itself.")
    client_version: str | None = strawberry.field(description="Its version, as declared.")

    @classmethod
    def of(cls, call: NotedCall) -> Self:
        return cls(
            id=strawberry.ID(str(call.id)),
            context_request_id=strawberry.ID(call.context_request_id),
            attribution_id=None if call.attribution_id is None else strawberry.ID(str(call.attribution_id)),
            model=call.model,
            endpoint=call.endpoint,
            status=call.status,
            started_at=call.started_at,
            duration_ms=BigInt(call.duration_ms),
            streamed=call.streamed,
            outcome=call.outcome,
            link=call.link,
            client_id=call.client_id,
            client_name=call.client_name,
            client_version=call.client_version,
        )
