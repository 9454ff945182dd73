"""The model that a call asks for: the top-level string `model` of a JSON object that passes by in pieces."""

import json
import re
from typing import Final

#: Characters of a name; a longer one is not kept.
MOST: Final = 256

_IN_STRING: Final = re.compile(rb'["\\]')
_AT_TOP: Final = re.compile(rb'[][{}",:]')
_DEEPER: Final = re.compile(rb'[][{}"]')


class ModelName:
    """Fed with the body as it goes by, in whatever pieces; keeps no more of it than one name at the top level.

    As most readers do, it takes the last of several. What is no JSON has no name, or a meaningless one: a name is a
    declaration and nothing is decided by it.
    """

    def __init__(self) -> None:
        self.value: str | None = None
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._kept: bytearray | None = None
        self._name: str | None = None
        self._is_model = False

    def feed(self, piece: bytes) -> None:
        place = 0
        while place < len(piece):
            place = self._string(piece, place) if self._in_string else self._structure(piece, place)

    def _string(self, piece: bytes, place: int) -> int:
        if self._escaped:
            self._escaped = False
            self._keep(piece, place, place + 1)
            return place + 1
        found = _IN_STRING.search(piece, place)
        self._keep(piece, place, len(piece) if found is None else found.start())
        if found is None:
            return len(piece)
        if found[0] == b"\\":
            self._keep(piece, found.start(), found.end())
            self._escaped = True
        else:
            self._in_string = False
            self._ended()
        return found.end()

    def _structure(self, piece: bytes, place: int) -> int:
        found = (_AT_TOP if self._depth == 1 else _DEEPER).search(piece, place)
        if found is None:
            return len(piece)
        sign = found[0]
        if sign == b'"':
            self._in_string = True
            self._kept = bytearray() if self._depth == 1 else None
        elif sign in b"[{":
            self._depth += 1
            self._is_model = False
        elif sign in b"]}":
            self._depth -= 1
        elif sign == b":":
            self._is_model = self._name == "model"
        else:
            self._is_model = False
            self._name = None
        return found.end()

    def _keep(self, piece: bytes, start: int, end: int) -> None:
        # An escape spells a character with six bytes, UTF-8 with four.
        if self._kept is not None:
            self._kept += piece[start : min(end, start + 6 * MOST + 1)]
            if len(self._kept) > 6 * MOST:
                self._kept = None

    def _ended(self) -> None:
        text = None if self._kept is None else _text(bytes(self._kept))
        if self._is_model:
            self.value = text
            self._is_model = False
        elif self._depth == 1:
            self._name = text


def _text(inside: bytes) -> str | None:
    """A JSON string that can be stored: neither too long nor with NUL or half of a surrogate pair."""
    try:
        text = str(json.loads(b'"' + inside + b'"'))
        text.encode()
    except ValueError:
        return None
    return text if len(text) <= MOST and "\0" not in text else None
