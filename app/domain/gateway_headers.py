"""W1. The headers of a model call: what goes on to the provider, what comes back, how a call names its retrieval.

Headers are (name, value) pairs of bytes in the order in which they came. Values pass as they are.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.domain.errors import bad_input

Header = tuple[bytes, bytes]

#: Both spellings of what is said to or by this server, never to the provider.
OURS: Final = (b"x-muniment-", b"x-keystone-")

#: Between two neighbours only (RFC 9110, section 7.6.1), beside those that `Connection` names.
_HOP: Final = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade http2-settings".split()
)
#: Credentials that the caller shows to this server, whatever scheme they follow, and what speaks of this server's own
#: address or of the network before it.
_FOR_THIS_SERVER: Final = frozenset(b"authorization api-key x-api-key cookie cookie2 host expect forwarded via".split())
_NETWORK: Final = (b"x-forwarded-", b"x-real-ip")
#: What a provider says of its own origin would be believed of ours; what the server in front writes itself.
_OF_PROVIDER: Final = frozenset(
    b"set-cookie set-cookie2 strict-transport-security alt-svc clear-site-data nel report-to reporting-endpoints "
    b"access-control-allow-origin access-control-allow-credentials server date".split()
)

_CONTEXT_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_KEY: Final = "context_request_id"


def to_provider(headers: Sequence[Header]) -> list[Header]:
    """What of a caller's headers the provider gets. The host and the provider's key are its client's to add."""
    left_out = _HOP | _FOR_THIS_SERVER | _connection_options(headers) | _wrong_length(headers)
    return [
        (name, value.strip(b" \t"))  # around a value, blanks are none of it (RFC 9110, section 5.5)
        for name, value in headers
        if name.lower() not in left_out and not name.lower().startswith((*OURS, *_NETWORK))
    ]


def to_caller(headers: Sequence[Header], status: int = 200) -> list[Header]:
    """What of a provider's headers the caller gets, names in small letters."""
    left_out = _HOP | _OF_PROVIDER | _connection_options(headers) | _wrong_length(headers)
    if status in {204, 304}:
        # There is no body; a length is that of another answer (RFC 9110, section 8.6).
        left_out |= {b"content-length"}
    return [
        (name.lower(), value)
        for name, value in headers
        if name.lower() not in left_out and not name.lower().startswith(OURS)
    ]


def _wrong_length(headers: Iterable[Header]) -> frozenset[bytes]:
    """Chunks say themselves how long a body is; a length beside them is not to be believed (RFC 9112, section 6.3)."""
    chunked = any(name.lower() == b"transfer-encoding" for name, _ in headers)
    return frozenset({b"content-length"} if chunked else ())


def _connection_options(headers: Iterable[Header]) -> frozenset[bytes]:
    return frozenset(
        option.strip().lower()
        for name, value in headers
        if name.lower() == b"connection"
        for option in value.split(b",")
    )


@dataclass(frozen=True, slots=True)
class Said:
    """What a call says to this server: the retrieval that it used, and whether it spelled a header `X-Keystone-`."""

    context_request_id: str | None
    keystone: bool


def said(headers: Sequence[Header]) -> Said:
    """BAD_USER_INPUT for an id that is none, metadata that is no JSON object, and for two different values of one
    thing, in whichever spelling or place."""
    _one(headers, "Client")
    given = _one(headers, "Context-Request-Id")
    described = _metadata(_one(headers, "Metadata"))
    named = None if given is None else _context_id(given.decode("latin-1"), "X-Muniment-Context-Request-Id")
    if described.get(_KEY) is not None:
        inside = _context_id(described[_KEY], f"X-Muniment-Metadata.{_KEY}")
        if named is not None and named != inside:
            raise bad_input(f"the header and {_KEY} name two retrievals", "X-Muniment-Context-Request-Id")
        named = inside
    return Said(named, any(name.lower().startswith(b"x-keystone-") for name, _ in headers))


def _one(headers: Iterable[Header], name: str) -> bytes | None:
    """The value of `X-Muniment-<name>` or `X-Keystone-<name>`; None when neither is there."""
    spellings = {prefix + name.lower().encode() for prefix in OURS}
    values = {value.strip(b" \t") for spelling, value in headers if spelling.lower() in spellings}
    if len(values) > 1:
        raise bad_input(f"X-Muniment-{name} is given twice, with different values", f"X-Muniment-{name}")
    return values.pop() if values else None


def _context_id(value: object, field: str) -> str:
    if not isinstance(value, str) or not _CONTEXT_ID.fullmatch(value):
        raise bad_input("an id of a retrieval has 1 to 128 of A-Z a-z 0-9 . _ : -, first a letter or digit", field)
    return value


def _metadata(value: bytes | None) -> dict[str, Any]:
    if value is None:
        return {}
    try:
        read = json.loads(value.decode(), parse_constant=_refused, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise bad_input("a JSON object, each key once", "X-Muniment-Metadata")
    return read


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        raise ValueError("a key stands twice")
    return read
