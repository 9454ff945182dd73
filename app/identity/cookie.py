"""The cookie `token`, for pages of this server: it counts only where no other site can have made the browser send it.

A cookie goes along with whatever request a page of any site makes. So it counts for a POST only, whose body is JSON
(the endpoint sees to that: no form can send it), and that shows by one sign at least that a page of this server sent
it, and by none that another did.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from app.domain.errors import Code, MunimentError

NAME: Final = "token"
#: A page of another site can set it only if this server allows it to, when asked beforehand; it allows nobody.
SIGN: Final = "csrf"


def cookie(headers: Mapping[str, str]) -> str | None:
    """The value of the cookie; None without one, or where two are sent: one may have been set by a neighbour."""
    found = []
    for part in headers.get("cookie", "").split(";"):
        name, equals, value = part.strip().partition("=")
        if equals and name == NAME:
            found.append(value)
    return found[0].strip('"') if len(found) == 1 else None


def require_same_site(method: str, headers: Mapping[str, str], sign: str | None, origins: frozenset[str]) -> None:
    """FORBIDDEN unless the cookie may count. `sign`: the value of `X-Muniment-Csrf`. `origins`: those of other hosts
    whose pages may send it too, as `https://host`."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    ours = origin is not None and (origin in origins or _host(origin) == headers.get("host", "").lower())
    if method != "POST" or (origin is not None and not ours):
        raise _refused()
    if site is not None and not (site == "same-origin" or (ours and site == "same-site")):
        raise _refused()
    if not (ours or site == "same-origin" or sign):
        raise _refused()


def _host(origin: str) -> str | None:
    """Host and port of an origin; None for `null` and what is none."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    plain = parts.scheme in {"http", "https"} and not (
        parts.path or parts.query or parts.fragment or "@" in parts.netloc
    )
    return parts.netloc.lower() if plain and parts.netloc else None


def _refused() -> MunimentError:
    return MunimentError(
        Code.FORBIDDEN, "the cookie counts for a POST from a page of this server only; send the token as a bearer"
    )
