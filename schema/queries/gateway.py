"""Which model calls used a retrieval."""

from typing import Annotated
from uuid import UUID

import strawberry

from app.domain.principal import parse_id
from app.gateway.calls import NotedCall, calls_of
from schema.context import Info
from schema.permissions import TOKEN, needs
from schema.types.connection import Connection, bad_cursor, connect, decode_cursor, page_size
from schema.types.gateway import ModelCall

MODEL_CALLS = "modelCalls"


@strawberry.type
class GatewayQueries:
    @needs(TOKEN)
    @strawberry.field(
        description="The calls through the model gateway that named a retrieval, oldest first; for who may see its "
        "record (`attribution`)."
    )
    async def model_calls(
        self,
        info: Info,
        context_request_id: Annotated[
            strawberry.ID, strawberry.argument(description="Id of the retrieval, or of its attribution.")
        ],
        first: Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")] = None,
        after: Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")] = None,
    ) -> Connection[ModelCall]:
        services, principal = info.context.services, info.context.principal
        size, position = page_size(first), _position(after)
        found = await calls_of(services.database, principal, str(context_request_id), position, size + 1)
        return connect(MODEL_CALLS, found, size, after, node=ModelCall.of, position=_id)


def _position(after: str | None) -> UUID | None:
    given = decode_cursor(MODEL_CALLS, after)
    position = None if given is None else parse_id(given)
    if given is not None and position is None:
        raise bad_cursor()
    return position


def _id(call: NotedCall) -> str:
    return str(call.id)
