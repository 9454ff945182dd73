"""The answer of a call on its way to the caller, and the failures that are the gateway's own."""

import asyncio
import json
from collections.abc import Sequence
from math import ceil
from typing import Final
from uuid import UUID

from starlette.types import Message, Send

from app.domain.errors import Code, MunimentError
from app.gateway.incoming import HungUp
from app.gateway.link import LinkOutcome


class Outgoing:
    """Writes the caller's side of a call, no faster than the caller reads."""

    def __init__(self, send: Send, idle_seconds: float, call: UUID, keystone: bool) -> None:
        self._send = send
        self._idle = idle_seconds
        self.call = call
        self._prefixes = (b"x-muniment-", b"x-keystone-") if keystone else (b"x-muniment-",)
        self.started = False

    async def start(self, status: int, headers: Sequence[tuple[bytes, bytes]], link: LinkOutcome | None = None) -> None:
        said = {b"gateway-request-id": str(self.call).encode()}
        if link is not None:
            said[b"context-link"] = link.value.encode()
        ours = [(prefix + name, value) for prefix in self._prefixes for name, value in said.items()]
        self.started = True
        await self._write({"type": "http.response.start", "status": status, "headers": [*headers, *ours]})

    async def piece(self, piece: bytes) -> None:
        await self._write({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self) -> None:
        await self._write({"type": "http.response.body", "body": b"", "more_body": False})

    async def _write(self, message: Message) -> None:
        try:
            async with asyncio.timeout(self._idle):
                await self._send(message)
        except (TimeoutError, OSError):
            raise HungUp from None

    async def refuse(self, status: int, code: str, message: str, *headers: tuple[bytes, bytes]) -> None:
        """A failure in the shape that clients of this API read."""
        body = json.dumps({"error": {"message": message, "type": _type(status), "param": None, "code": code}}).encode()
        length = (b"content-length", str(len(body)).encode())
        await self.start(status, [(b"content-type", b"application/json"), length, *headers])
        await self.piece(body)
        await self.end()

    async def refuse_for(self, error: MunimentError) -> None:
        status, code = _CODES.get(error.code, (500, error.code.value))
        headers = [(b"www-authenticate", b"Bearer")] if status == 401 else []
        if wait := error.retry_after_ms:
            headers.append((b"retry-after", str(max(1, ceil(wait / 1000))).encode()))
        await self.refuse(status, code, error.message, *headers)


_CODES: Final = {
    Code.UNAUTHENTICATED: (401, Code.UNAUTHENTICATED.value),
    Code.FORBIDDEN: (403, Code.FORBIDDEN.value),
    Code.BAD_USER_INPUT: (400, "invalid_request"),
    Code.RATE_LIMITED: (429, Code.RATE_LIMITED.value),
    Code.SEARCH_UNAVAILABLE: (503, Code.SEARCH_UNAVAILABLE.value),
}


def _type(status: int) -> str:
    if status == 401:
        return "authentication_error"
    return "invalid_request_error" if status < 500 else "api_error"
