"""What holds for every request and every answer: a bounded body, and headers that keep browsers strict."""

import asyncio
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.errors import Code, MunimentError, bad_input
from app.providers.ids import new_id
from app.server.failure import refusal

#: A question has at most 20,000 characters; a megabyte holds any document of a client and its variables.
MAX_BODY_BYTES: Final = 1_000_000

#: For answers that are data. Pages bring their own policy.
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
#: Where the request came over TLS, as this server or the proxy that it trusts says.
TRANSPORT: Final = ("Strict-Transport-Security", "max-age=31536000")


#: Seconds in which a body must have come.
BODY_SECONDS: Final = 30.0


class _TooLarge(Exception):
    """More bytes came than one request may hold."""


class _TooSlow(Exception):
    """The body did not come in time."""


class BodyLimit:
    """413 for a body of more than `limit` bytes, declared or not; never more than that is read. 408 for one that takes
    longer than `seconds`. What is served below `except_below` bounds its bodies itself."""

    def __init__(
        self,
        app: ASGIApp,
        limit: int = MAX_BODY_BYTES,
        except_below: str | None = None,
        seconds: float = BODY_SECONDS,
    ) -> None:
        self._app = app
        self._limit = limit
        self._except_below = except_below
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (self._except_below and scope["path"].startswith(self._except_below)):
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared[:20]) > self._limit:
            await self._refuse(scope, receive, send)
            return
        seen = 0
        until: float | None = asyncio.get_running_loop().time() + self._seconds

        async def bounded() -> Message:
            nonlocal seen, until
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise _TooSlow from None
            if not message.get("more_body", False):
                until = None  # what comes now is the end of the connection
            seen += len(message.get("body", b""))
            if seen > self._limit:
                raise _TooLarge
            return message

        try:
            await self._app(scope, bounded, send)
        except _TooLarge:
            await self._refuse(scope, receive, send)
        except _TooSlow:
            error = bad_input("the body of the request did not come in time")
            await refusal(error, new_id(), 408, {"Connection": "close"})(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        # What is still to come of the body is not read: the connection cannot be used again.
        error = bad_input(f"a request holds at most {self._limit} bytes")
        await refusal(error, new_id(), 413, {"Connection": "close"})(scope, receive, send)


async def failed(_request: Request, _error: Exception) -> Response:
    """The answer where a part of the server itself failed: outside of every other layer, so it brings all headers."""
    return refusal(MunimentError(Code.INTERNAL, "an internal error"), new_id(), 500, dict(HEADERS))


class SecurityHeaders:
    """Adds to each answer the headers that it does not set itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if scope["scheme"] == "https":
                    headers.setdefault(*TRANSPORT)
            await send(message)

        await self._app(scope, receive, secured if scope["type"] == "http" else send)
