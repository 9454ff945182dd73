"""The one byte form of a record that is hashed and stored: RFC 8785, under rules that leave nothing to interpret.

Without floats RFC 8785 comes down to three things: keys sorted by their UTF-16 code units, the shortest escapes, no
white space. Numbers that a JSON reader may round are therefore refused: write a real number with `fixed` and an
integer that may pass 2^53 − 1 with `big`.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from json.encoder import encode_basestring as _quoted
from typing import Any

#: The greatest integer that every JSON reader keeps exactly: 2^53 − 1.
MAX_SAFE_INTEGER = 2**53 - 1


class CanonicalError(ValueError):
    """A record holds what has no canonical form; the sentence names its top-level field, never a value."""


def canonical(record: Mapping[str, Any]) -> bytes:
    """RFC 8785 bytes (UTF-8) of a record.

    Allowed: strings, integers within ±(2^53 − 1), booleans, None, lists, tuples and mappings of these. Refused with
    `CanonicalError`: floats, larger integers, keys that are not strings, lone surrogates, NUL (PostgreSQL cannot read
    it back as jsonb), any other type, and records nested too deep for the interpreter or within themselves.
    """
    if not isinstance(record, Mapping):
        raise CanonicalError("a record must be a mapping")
    parts = []
    for key in _sorted_keys(record):
        try:
            parts.append(_name(key) + _value(record[key]))
        except CanonicalError as error:
            raise CanonicalError(f"field {key!a}: {error}") from None
        except RecursionError:
            raise CanonicalError(f"field {key!a}: nested too deep") from None
    return ("{" + ",".join(parts) + "}").encode()


def fixed(value: float, places: int = 6) -> str:
    """A finite real number as a decimal string with exactly `places` digits after the point; zero has no sign.

    Rounds the exact binary value half to even, so that the same bits always give the same text. NaN and infinities
    raise `CanonicalError`.
    """
    if not math.isfinite(value):
        raise CanonicalError("a number must be finite")
    text = f"{float(value):.{places}f}"
    return text[1:] if text[0] == "-" and not text.strip("-0.") else text


def big(number: int) -> str:
    """An integer of any size as a decimal string."""
    return int.__repr__(int(number))


def _value(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return _string(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            raise CanonicalError("an integer beyond 2^53 - 1 must be written as a string")
        return int.__repr__(value)
    if kind is list or kind is tuple:
        return "[" + ",".join([_value(item) for item in value]) + "]"
    if kind is dict or isinstance(value, Mapping):
        return "{" + ",".join([_name(key) + _value(value[key]) for key in _sorted_keys(value)]) + "}"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, float):
        raise CanonicalError("a float must be written as a fixed-decimal string")
    raise CanonicalError(f"a value of type {kind.__name__} has no canonical form")


def _string(text: str) -> str:
    # An ASCII text cannot hold a surrogate, and `isascii` costs nothing.
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise CanonicalError("a string holds a lone surrogate") from None
    if "\0" in text:
        raise CanonicalError("a string holds NUL")
    return _quoted(text)


# Records repeat a few names, so quoting them once makes the whole a third faster.
@lru_cache(maxsize=4096)
def _name(key: str) -> str:
    return _string(key) + ":"


def _sorted_keys(mapping: Mapping[Any, Any]) -> list[str]:
    try:
        joined = "".join(mapping)
    except TypeError:
        raise CanonicalError("keys must be strings") from None
    # Up to U+D7FF code points and UTF-16 code units sort alike; above, characters beyond U+FFFF must move.
    return sorted(mapping) if joined.isascii() else sorted(mapping, key=_utf16)


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")
