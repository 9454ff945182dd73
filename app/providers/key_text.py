"""What every file and variable of keys has in common: their ids, their base64, and telling that a file changed."""

import base64
import binascii
import re
from pathlib import Path

KEY_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


def listed(text: str, variable: str, error: type[ValueError]) -> list[tuple[str, str]]:
    """(id, encoded key) of `id:base64,…`; `error` names the place of what is written otherwise, never its text."""
    pairs = []
    for place, item in enumerate(text.split(","), start=1):
        name, colon, encoded = item.strip().partition(":")
        if not colon:
            raise error(f"key {place} of {variable} is not written as id:base64")
        pairs.append((name, encoded))
    return pairs


def decoded(encoded: str) -> bytes | None:
    """None for what is no base64: an error would carry the text that it could not decode."""
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None


def stamp_of(path: Path) -> tuple[int, int, int] | None:
    """Another whenever the file was replaced or written; None when it cannot be seen."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns, state.st_size
