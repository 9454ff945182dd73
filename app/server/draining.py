"""How the server stops: what is under way finishes, what comes later is refused with a code, streams end whole.

The gate stands before everything else, so that whatever is in it is counted, and lets nothing in once it is closed.
"""

import asyncio
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any, Final

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.errors import Code, MunimentError
from app.providers.ids import new_id
from app.server.failure import refusal
from app.server.middleware import SecurityHeaders

#: Milliseconds after which another server, or the next one here, may answer.
RETRY_MS: Final = 1_000
#: Asked while it stops as well: the process lives.
ALIVE: Final = "/healthz"
#: An endless answer is told by its type. Model calls, below the second, end by themselves.
_EVENTS: Final = b"text/event-stream"
_FINITE_BELOW: Final = "/v1/"


class Gate:
    """`close` it, and `left` ends once nothing is under way. WebSockets are closed by the server in front."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._refuse = SecurityHeaders(_refuse)
        self._closed = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._inside = 0

    @property
    def inside(self) -> int:
        return self._inside

    def close(self) -> None:
        """Let nothing in from now on, and end the streams that would go on for ever."""
        self._closed.set()

    async def left(self) -> None:
        """Until nothing is under way."""
        await self._empty.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif self._closed.is_set() and scope["path"] != ALIVE:
            await self._turn_away(scope, receive, send)
        elif scope["type"] == "http":
            self._inside += 1
            self._empty.clear()
            try:
                await self._pass(scope, receive, send)
            finally:
                self._inside -= 1
                if not self._inside:
                    self._empty.set()
        else:
            await self._app(scope, receive, send)

    async def _turn_away(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1012})
        else:
            await self._refuse(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        stream = _Stream(send, endless=not scope["path"].startswith(_FINITE_BELOW))
        passing = asyncio.ensure_future(self._app(scope, receive, stream.send))
        closing = asyncio.ensure_future(self._closed.wait())
        try:
            await asyncio.wait({passing, closing}, return_when=asyncio.FIRST_COMPLETED)
            if not passing.done() and await stream.is_endless(passing):
                passing.cancel()
                with suppress(asyncio.CancelledError):
                    await passing
                await stream.end()
            else:
                await passing
        finally:
            closing.cancel()
            if not passing.done():
                passing.cancel()
                await asyncio.gather(passing, return_exceptions=True)


class _Stream:
    """What has been sent of one answer."""

    def __init__(self, send: Send, endless: bool) -> None:
        self._send = send
        self._may_be_endless = endless
        self._started = asyncio.Event()
        self._endless = False
        self._over = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._endless = self._may_be_endless and _type(message).startswith(_EVENTS)
            self._started.set()
        elif message["type"] == "http.response.body":
            self._over = not message.get("more_body", False)
        await self._send(message)

    async def is_endless(self, passing: "asyncio.Future[None]") -> bool:
        """Once it is known what is answered."""
        starting = asyncio.ensure_future(self._started.wait())
        waited: set[asyncio.Future[Any]] = {starting, passing}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        starting.cancel()
        return self._endless and not self._over

    async def end(self) -> None:
        """The last, empty piece: the client sees an answer that is whole, and connects again elsewhere."""
        if not self._over:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _type(message: MutableMapping[str, Any]) -> bytes:
    found: bytes = next((value for name, value in message.get("headers", ()) if name.lower() == b"content-type"), b"")
    return found.lower()


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """In the shape that the clients of the place read: those of model calls know another one."""
    error = MunimentError(Code.SEARCH_UNAVAILABLE, "the server is stopping", retry_after_ms=RETRY_MS)
    headers = {"Connection": "close", "Retry-After": str(RETRY_MS // 1000)}
    if scope["path"].startswith(_FINITE_BELOW):
        body = {"message": error.message, "type": "api_error", "param": None, "code": error.code.value}
        await JSONResponse({"error": body}, 503, headers)(scope, receive, send)
    else:
        await refusal(error, new_id(), 503, headers)(scope, receive, send)
