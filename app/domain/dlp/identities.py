"""National identity numbers. Which there are, and how their check digits go, is handed in: a table of shapes."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.domain.dlp.finding import Detector, Finding
from app.domain.dlp.text import Detect, Text, says

#: Signs around a run of digits that may belong to its number.
_BESIDE = 8
#: Capitals before the digits of an identity that has few in a row, and signs of the whole, as the Italian one.
_CAPITALS, _LONGEST = 4, 18


@dataclass(frozen=True, slots=True)
class Kind:
    """`shape` matches the number as it is written, `valid` takes what matched. With `said`, one of these stems must
    stand before it on the line: the shape alone is that of too many other numbers."""

    name: str
    shape: re.Pattern[str]
    valid: Callable[[str], bool]
    said: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, shape: str, valid: Callable[[str], bool], *said: str) -> "Kind":
        return cls(name, re.compile(shape), valid, said)


def identities(kinds: Sequence[Kind]) -> Detect:
    """The detector of these kinds. Most numbers are of no shape and beside no word of theirs: this is asked once for
    all kinds, and of each only where it is so."""
    alone = [kind for kind in kinds if not kind.said]
    named = [kind for kind in kinds if kind.said]
    shapes = re.compile("|".join(f"(?:{kind.shape.pattern})" for kind in alone) or r"(?!)")
    said = tuple({stem for kind in named for stem in kind.said})

    def detect(text: Text) -> Iterator[Finding]:
        for run_start, run_end in text.runs:
            start, end = max(0, run_start - _BESIDE), min(len(text.folded), run_end + _BESIDE)
            if shapes.search(text.folded, start, end):
                yield from _found(text, alone, start, end)
            if said and says(text.before(run_end), said):
                yield from _found(text, named, start, end)
        for start, end in text.codes:
            if end - start - 2 >= _CAPITALS and shapes.match(text.folded, start):
                yield from _found(text, alone, start, min(len(text.folded), start + _LONGEST))

    return detect


def _found(text: Text, kinds: Sequence[Kind], start: int, end: int) -> Iterator[Finding]:
    for kind in kinds:
        for match in kind.shape.finditer(text.folded, start, end):
            if (
                text.apart(*match.span())
                and (not kind.said or says(text.before(match.start()), kind.said))
                and kind.valid(match.group())
            ):
                yield Finding(*match.span(), Detector.NATIONAL_ID)
