"""What a calling program says of itself: recorded, never trusted."""

import re
from collections.abc import Mapping

_DECLARED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,63})/([A-Za-z0-9][A-Za-z0-9._+-]{0,31})")


def header(headers: Mapping[str, str], name: str) -> str | None:
    """`X-Muniment-<name>`, or its older spelling `X-Keystone-<name>`. Bytes beyond ASCII are read as UTF-8."""
    value = headers.get(f"x-muniment-{name}") or headers.get(f"x-keystone-{name}")
    if value is None or value.isascii():
        return value
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def declared_client(headers: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Name and version of `X-Muniment-Client: name/version`; a malformed header is dropped."""
    match = _DECLARED.fullmatch(header(headers, "client") or "")
    return (match[1], match[2]) if match else (None, None)
