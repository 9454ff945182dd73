"""What detectors are given: the folded text, and the same in lower case for words in it."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from app.domain.dlp.finding import Finding

#: Digits with at most two signs between two of them. It is linear: signs and digits are never the same.
_NUMBER = re.compile(r"[0-9](?:[ .\-/()‐–]{0,2}[0-9]){3,}")
#: The digits that the shortest identity and the shortest telephone number have.
_LONG = 6
#: Capitals with digits behind them, as accounts and identities begin.
_CODE = re.compile(r"[A-Z]{2,6}[0-9]{2}")
#: Characters before a number in which words say what it is.
REACH = 64


@dataclass(frozen=True)
class Text:
    """`folded` is in NFKC; offsets are into it."""

    folded: str

    @cached_property
    def lowered(self) -> str:
        """As long as `folded`."""
        lowered = self.folded.lower()
        if len(lowered) == len(self.folded):
            return lowered
        return "".join(low if len(low := sign.lower()) == 1 else sign for sign in self.folded)

    @cached_property
    def numbers(self) -> tuple[tuple[int, int], ...]:
        """Where four digits or more stand together, as far as they do."""
        return tuple(match.span() for match in _NUMBER.finditer(self.folded))

    @cached_property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """Those of the numbers that are not plainly too short to belong to anybody."""
        return tuple(span for span in self.numbers if span[1] - span[0] >= _LONG)

    @cached_property
    def codes(self) -> tuple[tuple[int, int], ...]:
        """Where capitals are followed by digits."""
        return tuple(match.span() for match in _CODE.finditer(self.folded))

    def apart(self, start: int, end: int) -> bool:
        """Whether [start, end) is neither part of a longer word nor of a longer number."""
        text = self.folded
        before, after = text[max(0, start - 2) : start], text[end : end + 2]
        return not (
            (before[-1:].isalnum() or before[-1:] == "_")
            or (len(before) == 2 and before[1] in ".-," and before[0].isdigit())
            or (after[:1].isalnum() or after[:1] == "_")
            or (len(after) == 2 and after[0] in ".-" and after[1].isdigit())
        )

    def before(self, position: int) -> str:
        """The same line up to a position, in lower case, as far as it reaches."""
        return self.lowered[max(0, position - REACH) : position].rsplit("\n", 1)[-1]

    def places(self, literal: str, *, lowered: bool = False) -> Iterator[int]:
        """Where a literal stands, each place after the other."""
        text = self.lowered if lowered else self.folded
        position = text.find(literal)
        while position >= 0:
            yield position
            position = text.find(literal, position + len(literal))


Detect = Callable[[Text], Iterable[Finding]]


def words(*stems: str) -> re.Pattern[str]:
    """Words that begin with one of the stems."""
    return re.compile(rf"(?<![^\W\d_])(?:{'|'.join(stems)})")


_STARTS = re.compile(r"(?<![^\W\d_])[^\W\d_]")


def says(before: str, stems: tuple[str, ...]) -> bool:
    """Whether a word begins with one of many stems: many times as fast as a pattern of them."""
    return any(before.startswith(stems, match.start()) for match in _STARTS.finditer(before))
