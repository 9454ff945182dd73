"""The provider behind the gateway: requests and answers go through as they are, piece by piece."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import httpx
from pydantic import SecretStr

from app.domain.errors import bad_input
from app.domain.locality import Locality, host_of

#: Calls at once; the next one waits as long as for a connection.
MOST_CALLS: Final = 1000


class UpstreamError(Exception):
    """A call that came to nothing. `reason`: `timeout`, `unreachable` (no connection, or no answer on it), `cut`
    (broken off in the middle), `redirect`, `bad_answer`, or `bad_request` (no provider could be sent this)."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class UpstreamAnswer:
    """What the provider answers: the head is here, the body comes as it is read."""

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    _response: httpx.Response

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The body as sent, not decoded; each piece as soon as it is here. `UpstreamError` when it breaks off."""
        try:
            async for piece in self._response.aiter_raw():
                yield piece
        except httpx.TimeoutException:
            raise UpstreamError("timeout") from None
        except (httpx.HTTPError, httpx.StreamError):
            raise UpstreamError("cut") from None


class Upstream:
    """A client of one base URL, for the life of the process."""

    def __init__(
        self,
        url: str,
        locality: Locality,
        api_key: SecretStr | None = None,
        *,
        connect_seconds: float,
        idle_seconds: float,
    ) -> None:
        """`BAD_USER_INPUT` for a URL that cannot be read in one way only (`host_of`), or a key that no header takes.

        `idle_seconds` bound each wait for the provider to send or to take something.
        """
        host_of(url)
        key = None if api_key is None else api_key.get_secret_value()
        if key is not None and not (key.isascii() and key.isprintable()):
            raise bad_input("the key of the provider must be printable ASCII")
        self._credentials = [] if api_key is None else [(b"authorization", b"Bearer " + (key or "").encode())]
        try:
            whole = httpx.URL(url)
            # A bare host is where `/v1` begins.
            self._url = whole if whole.raw_path.strip(b"/") else whole.copy_with(raw_path=b"/v1")
        except httpx.InvalidURL:
            raise bad_input("the URL of the provider cannot be read") from None
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(idle_seconds, connect=connect_seconds, pool=connect_seconds),
            limits=httpx.Limits(max_connections=MOST_CALLS, max_keepalive_connections=50),
            follow_redirects=False,
            # Inside the deployment no proxy of the environment is used.
            trust_env=locality == "external",
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    @asynccontextmanager
    async def call(
        self,
        method: str,
        path: str,
        query: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        body: AsyncIterable[bytes] | None,
    ) -> AsyncIterator[UpstreamAnswer]:
        """Send one request and hand over its answer when its head has come. Leaving early closes the connection.

        `headers` are sent as they are, with the host and the provider's key and nothing else. What `body` raises comes
        through; `UpstreamError` when there is no answer to hand over.
        """
        try:
            target = self._url.raw_path.rstrip(b"/") + b"/" + path.encode() + (b"?" + query if query else b"")
            request = httpx.Request(
                method,
                self._url.copy_with(raw_path=target),
                headers=[*headers, *self._credentials],
                content=body,
            )
        except (httpx.InvalidURL, ValueError):
            raise UpstreamError("bad_request") from None
        response = await self._send(request)
        try:
            if 300 <= response.status_code < 400 and response.status_code != 304:
                # Passed on, it would have the caller carry the question to a host that nobody named.
                raise UpstreamError("redirect")
            if not 200 <= response.status_code < 600:
                raise UpstreamError("bad_answer")
            yield UpstreamAnswer(response.status_code, response.headers.raw, response)
        finally:
            await response.aclose()

    async def _send(self, request: httpx.Request) -> httpx.Response:
        try:
            return await self._client.send(request, stream=True, auth=None)
        except httpx.TimeoutException:
            raise UpstreamError("timeout") from None
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol):
            raise UpstreamError("bad_request") from None
        except (httpx.HTTPError, httpx.InvalidURL):
            raise UpstreamError("unreachable") from None

    async def close(self) -> None:
        """Closes its connections."""
        await self._client.aclose()
