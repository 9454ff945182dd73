"""GraphQL over WebSocket (`graphql-transport-ws`): who is let in, and how much at once."""

from typing import Any, Final, cast

from graphql import GraphQLError
from strawberry.exceptions import ConnectionRejectionError
from strawberry.subscriptions.protocols.graphql_transport_ws.handlers import BaseGraphQLTransportWSHandler
from strawberry.subscriptions.protocols.graphql_transport_ws.types import Message, SubscribeMessage

from app.domain.errors import Code, MunimentError
from app.server.failure import extensions
from schema.context import Context

#: Operations that one connection may have open.
MOST_OPERATIONS: Final = 32
#: Seconds that a connection may take to say who it is.
INIT_SECONDS: Final = 5


def admit(context: Context) -> None:
    """Refuse a connection whose `connection_init` brings no credential that is believed."""
    try:
        _ = context.principal
    except MunimentError:
        raise ConnectionRejectionError from None


class SocketHandler(BaseGraphQLTransportWSHandler[Context, None]):
    """Closes on a message of another shape than the protocol's, and refuses more operations than are served."""

    async def handle_message(self, message: Message) -> None:
        if _is_well_formed(message):
            await super().handle_message(message)
        else:
            await self.handle_invalid_message("Failed to parse message")

    async def handle_subscribe(self, message: SubscribeMessage) -> None:
        if not self.connection_acknowledged or len(self.operations) < MOST_OPERATIONS:
            await super().handle_subscribe(message)
            return
        refused = MunimentError(Code.RATE_LIMITED, f"one connection serves {MOST_OPERATIONS} operations at once")
        error = GraphQLError(refused.message, extensions=extensions(refused, self.context.request_id))
        await self.send_message({"id": message["id"], "type": "error", "payload": [error.formatted]})


def _is_well_formed(message: Any) -> bool:
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        return False
    if message["type"] not in ("subscribe", "complete"):
        return True
    if not isinstance(message.get("id"), str):
        return False
    if message["type"] == "complete":
        return True
    payload = cast(Any, message.get("payload"))
    return (
        isinstance(payload, dict)
        and isinstance(payload.get("query"), str)
        and isinstance(payload.get("variables"), dict | None)
        and isinstance(payload.get("operationName"), str | None)
    )
