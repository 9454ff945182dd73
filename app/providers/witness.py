"""A witness: an address to which each new checkpoint is sent, so that a copy lies with somebody else."""

import asyncio
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from app.domain.locality import host_of


class Witness:
    """Sends notes by POST, `text/plain`. What it answers is not read beyond its status, and it cannot send a note
    elsewhere."""

    def __init__(self, url: str, seconds: float = 10.0) -> None:
        """`BAD_USER_INPUT` for a URL that cannot be read in one way only."""
        host_of(url)
        self._url = url
        self._seconds = seconds
        self._client = httpx.AsyncClient(
            # One clock bounds the whole call.
            timeout=None,  # noqa: S113
            follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def send(self, note: bytes) -> bool:
        """Whether it took the note (2xx) in time. Never raises for what the other side does."""
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._client.stream("POST", self._url, content=note, headers=headers) as response,
            ):
                return response.is_success
        except (httpx.HTTPError, TimeoutError):
            return False

    async def close(self) -> None:
        await self._client.aclose()
