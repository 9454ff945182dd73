"""One HTTP endpoint that takes and gives JSON, and is not trusted to behave: what it sends is bounded in time and size,
and it cannot send a request elsewhere."""

import asyncio
import json
import math
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx
from pydantic import SecretStr

from app.domain.errors import bad_input
from app.domain.locality import Locality, host_of

#: Bytes of an answer that are read.
MOST_BYTES = 2 * 1024 * 1024
#: Seconds before the one retry, when the endpoint names no pause of its own.
PAUSE = 0.1


class EndpointError(Exception):
    """Nothing came of a call. `reason` is `timeout`, `rate_limited`, `http_4xx`, `http_5xx`, `bad_response` or `error`:
    never a text of the endpoint's. `pause`: seconds after which the same call may succeed; None: it would not.
    `refused`: it was understood, and what it holds was not taken (400, 413, 422)."""

    def __init__(self, reason: str, pause: float | None = None, *, refused: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pause = pause
        self.refused = refused


class Endpoint:
    """A client of one base URL, for the life of the process. Inside the deployment no proxy of the environment is used,
    or what counts as inside would pass through a host that does not."""

    def __init__(
        self, url: str, locality: Locality, api_key: SecretStr | None = None, *, most_bytes: int = MOST_BYTES
    ) -> None:
        """`BAD_USER_INPUT` for a URL that cannot be read in one way only (`host_of`), or a key that no header takes."""
        host_of(url)
        self.locality = locality
        self._most_bytes = most_bytes
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "Content-Type": "application/json"}
        if api_key is not None:
            key = api_key.get_secret_value()
            if not key.isascii() or not key.isprintable():
                raise bad_input("the key of an endpoint must be printable ASCII")
            headers["Authorization"] = f"Bearer {key}"
        try:
            self._client = httpx.AsyncClient(
                base_url=url,
                headers=headers,
                # One clock bounds the whole call; httpx would bound each of its steps.
                timeout=None,  # noqa: S113
                follow_redirects=False,
                trust_env=locality == "external",
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            )
        except httpx.InvalidURL:
            raise bad_input("the URL of an endpoint cannot be read") from None

    async def post(self, path: str, body: Mapping[str, Any], seconds: float) -> Any:
        """The JSON value that it answers within `seconds`, or `EndpointError`. Asked once more, within the same time,
        when it was overloaded (429, 5xx) or the connection broke: what is asked for changes nothing there."""
        if seconds <= 0.0:
            raise EndpointError("timeout")
        content = json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
        try:
            async with asyncio.timeout(seconds) as limit:
                try:
                    return await self._once(path, content)
                except EndpointError as error:
                    due = limit.when()
                    assert due is not None
                    if error.pause is None or asyncio.get_running_loop().time() + error.pause >= due:
                        raise
                    await asyncio.sleep(error.pause)
                return await self._once(path, content)
        except TimeoutError:
            raise EndpointError("timeout") from None

    async def _once(self, path: str, content: bytes) -> Any:
        try:
            async with self._client.stream("POST", path, content=content) as response:
                _require_success(response)
                return _parsed(await self._read(response))
        except httpx.HTTPError:
            raise EndpointError("error", PAUSE) from None

    async def _read(self, response: httpx.Response) -> bytes:
        """The body as sent: a compressed one, which nobody asked for, could unfold to any size."""
        if response.headers.get("Content-Encoding", "") not in {"", "identity"}:
            raise EndpointError("bad_response")
        received = bytearray()
        async for block in response.aiter_raw():
            received += block
            if len(received) > self._most_bytes:
                raise EndpointError("bad_response")
        return bytes(received)

    async def close(self) -> None:
        """Closes its connections."""
        await self._client.aclose()


def _require_success(response: httpx.Response) -> None:
    status = response.status_code
    if status == 429:
        raise EndpointError("rate_limited", _pause(response))
    if status >= 500:
        raise EndpointError("http_5xx", _pause(response))
    if status >= 400:
        raise EndpointError("http_4xx", refused=status in {400, 413, 422})
    if not response.is_success:
        # A redirect is no answer, and following it would carry texts to a host that nobody named.
        raise EndpointError("bad_response")


def _pause(response: httpx.Response) -> float:
    asked = response.headers.get("Retry-After", "")
    return float(asked) if asked.isascii() and asked.isdigit() and len(asked) < 10 else PAUSE


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise EndpointError("bad_response") from None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def finite(value: object) -> float:
    """A JSON number as a float, or `EndpointError`: no text, no truth value, nothing that is not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EndpointError("bad_response")
    try:
        number = float(value)
    except OverflowError:
        raise EndpointError("bad_response") from None
    if not math.isfinite(number):
        raise EndpointError("bad_response")
    return number
