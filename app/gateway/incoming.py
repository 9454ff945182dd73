"""The body of a call as it comes in: handed on piece by piece, never held as a whole."""

import asyncio
from collections.abc import AsyncIterator

from starlette.types import Message, Receive

from app.domain.model_name import ModelName


class HungUp(Exception):
    """The caller is gone, or has not moved for too long."""


class TooLarge(Exception):
    """More bytes came than one call may hold."""


class Incoming:
    """Reads the caller's side of a call. One reader at a time: first the body (`pieces`), then its end (`gone`)."""

    def __init__(self, receive: Receive, most_bytes: int, idle_seconds: float, model: ModelName) -> None:
        self._receive = receive
        self._most = most_bytes
        self._idle = idle_seconds
        self._model = model
        self._over = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body, byte for byte. `HungUp` when it breaks off, `TooLarge` beyond the bound."""
        seen = 0
        while True:
            message = await self._next()
            piece: bytes = message.get("body", b"")
            seen += len(piece)
            if seen > self._most:
                raise TooLarge
            self._model.feed(piece)
            if piece:
                yield piece
            if not message.get("more_body", False):
                self.over()
                return

    async def _next(self) -> Message:
        try:
            async with asyncio.timeout(self._idle):
                message = await self._receive()
        except TimeoutError:
            raise HungUp from None
        if message["type"] == "http.disconnect":
            raise HungUp
        return message

    def over(self) -> None:
        """Nothing more of the body is wanted."""
        self._over.set()

    async def gone(self) -> None:
        """Returns when the caller hangs up after the body is over."""
        await self._over.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
