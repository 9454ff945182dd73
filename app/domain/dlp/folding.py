"""The NFKC form of a text, in which detectors look, and the way back to the text's own code points.

A full-width digit, a ligature or a no-break space hides nothing then; neither do characters that nobody sees, which are
left out. A text that is in this form already, as nearly all are, is not copied.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain

from app.domain.dlp.ignorable import holds_ignorable, ignorable


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the folded text. `even`: each of its characters is one of the original; else they belong together."""

    folded: int
    original: int
    length: int
    even: bool


@dataclass(frozen=True, slots=True)
class Folded:
    """`text` is what is looked at; `original` maps a span of it back."""

    text: str
    _pieces: list[_Piece] = field(default_factory=list)

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original that became [start, end), which is not empty."""
        if not self._pieces:
            return start, end
        first, last = self._piece(start), self._piece(end - 1)
        return (
            first.original + (start - first.folded if first.even else 0),
            last.original + (end - last.folded if last.even else last.length),
        )

    def _piece(self, position: int) -> _Piece:
        return self._pieces[bisect_right(self._pieces, position, key=lambda piece: piece.folded) - 1]


def fold(text: str) -> Folded:
    """Linear in the text."""
    if text.isascii():
        return Folded(text)
    if not holds_ignorable(text) and unicodedata.is_normalized("NFKC", text):
        return Folded(text)
    pieces: list[_Piece] = []
    parts: list[str] = []
    length = 0
    for match in _clusters().finditer(text):
        start, end = match.span()
        part = match.group()
        even = match.lastgroup == "even"
        if not even:
            part = unicodedata.normalize("NFKC", _hidden().sub("", part))
        if part:
            pieces.append(_Piece(length, start, end - start, even))
            parts.append(part)
            length += len(part)
    return Folded("".join(parts), pieces)


@cache
def _hidden() -> re.Pattern[str]:
    return re.compile(f"[{_ranges(ignorable())}]+")


@cache
def _clusters() -> re.Pattern[str]:
    """Stretches that normalisation leaves alone, and between them characters with all that may compose with them."""
    changing: list[int] = []
    extending: list[int] = []
    hidden = frozenset(ignorable())
    # The planes with letters, the compatibility ideographs, the tags; the rest has nothing that changes.
    for code in chain(range(0x80, 0x20000), range(0x2F800, 0x2FA20), range(0xE0000, 0xE1000)):
        sign = chr(code)
        first = unicodedata.normalize("NFKD", sign)[0]
        if unicodedata.combining(first) or first in _composing() or code in hidden:
            extending.append(code)
        elif not unicodedata.is_normalized("NFKC", sign):
            changing.append(code)
    extend = f"[{_ranges(extending)}]"
    return re.compile(f"(?P<even>[^{_ranges(sorted(changing + extending))}]+(?!{extend}))|.{extend}*", re.DOTALL)


@cache
def _composing() -> frozenset[str]:
    """Characters of their own weight that may still melt into the one before: vowel signs, and the later parts of a
    Korean syllable."""
    seconds = {
        chr(int(parts[1], 16))
        for code in range(0x80, 0x20000)
        for parts in [unicodedata.decomposition(chr(code)).split()]
        if len(parts) == 2 and not parts[0].startswith("<")
    }
    return frozenset(seconds | {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))})


def _ranges(codes: Sequence[int]) -> str:
    """A set of characters as it stands between brackets."""
    found: list[list[int]] = []
    for code in codes:
        if found and code == found[-1][1] + 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in found)
