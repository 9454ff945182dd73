"""GraphQL over WebSocket (`graphql-transport-ws`): who is let in, and how much at once."""

import asyncio
from contextlib import suppress
from typing import Any, Final, cast

from graphql import GraphQLError
from strawberry.exceptions import ConnectionRejectionError
from strawberry.http.exceptions import WebSocketDisconnected
from strawberry.subscriptions.protocols.graphql_transport_ws.handlers import BaseGraphQLTransportWSHandler
from strawberry.subscriptions.protocols.graphql_transport_ws.types import Message, SubscribeMessage

from app.domain.errors import MunimentError
from app.domain.limits import rate_limited
from app.server.failure import extensions
from schema.context import Context

#: Operations that one connection may have open.
MOST_OPERATIONS: Final = 32
#: Seconds that a connection may take to say who it is.
INIT_SECONDS: Final = 5


#: Seconds that a client may leave unread what it is sent.
MOST_UNREAD_SECONDS: Final = 30


async def admit(context: Context) -> None:
    """Refuse a connection whose `connection_init` brings no credential that is believed."""
    try:
        await context.note_stranger()
        await context.authenticate()
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
        if not self.connection_acknowledged:
            await super().handle_subscribe(message)
            return
        payload: Any = message["payload"]
        try:
            if len(self.operations) >= MOST_OPERATIONS:
                raise rate_limited(f"one connection serves {MOST_OPERATIONS} operations at once", 1000)
            payload["query"] = self.context.services.operations.document(payload) or ""
        except MunimentError as refused:
            error = GraphQLError(refused.message, extensions=extensions(refused, self.context.request_id))
            await self.send_message({"id": message["id"], "type": "error", "payload": [error.formatted]})
            return
        await super().handle_subscribe(message)

    async def send_message(self, message: Message) -> None:
        """Gives up on who reads nothing for too long."""
        try:
            async with asyncio.timeout(MOST_UNREAD_SECONDS):
                await super().send_message(message)
        except TimeoutError:
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self.websocket.close(4408, "Nothing is read")
            raise WebSocketDisconnected from None


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
        and isinstance(payload.get("query"), str | None)
        and isinstance(payload.get("extensions"), dict | None)
        and isinstance(payload.get("variables"), dict | None)
        and isinstance(payload.get("operationName"), str | None)
    )
