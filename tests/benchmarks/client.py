"""A bare HTTP/1.1 client on one kept connection: what it costs would otherwise be counted as the server's."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

_HEADERS_END = b"\r\n\r\n"


class Client:
    """One connection. `ask` posts a GraphQL operation and returns the body as bytes."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._token = token
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, query: str, variables: Mapping[str, Any]) -> bytes:
        """RuntimeError with what the server said unless it answered 200 without errors."""
        if self._reader is None or self._writer is None or self._reader.at_eof():  # an idle one is closed after seconds
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**22)
        body = json.dumps({"query": query, "variables": dict(variables)}).encode()
        self._writer.write(
            b"POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            + f"Authorization: Bearer {self._token}\r\nContent-Length: {len(body)}{_HEADERS_END.decode()}".encode()
            + body
        )
        head = (await self._reader.readuntil(_HEADERS_END)).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        answer = await self._reader.readexactly(length)
        if not head.startswith(b"http/1.1 200") or b'"errors"' in answer[:20] or b'"errors":' in answer[-2000:]:
            raise RuntimeError(f"the server said {answer[:500]!r}")
        return answer

    async def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            await self._writer.wait_closed()
