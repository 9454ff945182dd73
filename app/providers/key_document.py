"""An issuer's document of keys, by GET."""

import asyncio
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import httpx

from app.domain.locality import host_of, locality

#: A hundred keys with their certificates are less.
MOST_BYTES: Final = 512 * 1024
SECONDS: Final = 5.0


class KeyDocument:
    """A client of one address, for the life of the process. It is sent nothing but the question, and cannot send it
    elsewhere."""

    def __init__(self, url: str, seconds: float = SECONDS) -> None:
        """BAD_USER_INPUT for a URL that cannot be read in one way only."""
        host_of(url)
        self._url = url
        self._seconds = seconds
        self._client = httpx.AsyncClient(
            headers={"Accept": "application/jwk-set+json, application/json", "Accept-Encoding": "identity"},
            # One clock bounds the whole call.
            timeout=None,  # noqa: S113
            follow_redirects=False,
            trust_env=locality(url) == "external",
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def read(self) -> bytes:
        """The document. OSError when it does not come whole, in time and in size."""
        received = bytearray()
        try:
            async with asyncio.timeout(self._seconds), self._client.stream("GET", self._url) as response:
                if response.status_code != 200 or response.headers.get("Content-Encoding", "") not in {"", "identity"}:
                    raise OSError("the keys of the issuer are not to be had")
                async for block in response.aiter_raw():
                    received += block
                    if len(received) > MOST_BYTES:
                        raise OSError("the keys of the issuer are too many")
        except httpx.HTTPError:
            raise OSError("the issuer cannot be reached") from None
        return bytes(received)

    async def close(self) -> None:
        await self._client.aclose()
