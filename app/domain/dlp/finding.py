"""What a detector finds in a text, and how findings that overlap become one."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from operator import attrgetter

#: Raised by one whenever what is found in the same text may become another: texts scanned before are scanned anew.
DETECTORS_VERSION = 2


class Detector(IntEnum):
    """What is looked for. Where findings overlap, the greatest names the whole; the numbers are stored."""

    IP = 1
    PHONE = 2
    EMAIL = 3
    NATIONAL_ID = 4
    IBAN = 5
    CARD = 6
    SECRET = 7


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """[start, end) in code points of the text."""

    start: int
    end: int
    detector: Detector


Findings = tuple[Finding, ...]


def merged(found: Iterable[Finding]) -> Findings:
    """In order and apart: findings that overlap are one from the first's start to the last's end, or the tail of the
    longer one would be left over by who masks them in turn."""
    whole: list[Finding] = []
    for item in sorted(found):
        if whole and item.start < whole[-1].end:
            last = whole[-1]
            whole[-1] = Finding(last.start, max(last.end, item.end), max(last.detector, item.detector))
        else:
            whole.append(item)
    return tuple(whole)


def within(found: Findings, start: int, end: int) -> Findings:
    """The parts of findings that lie in [start, end), counted from `start`. `found` is in order and apart, as `merged`
    gives it: only those there are looked at."""
    first = bisect_right(found, start, key=attrgetter("end"))
    last = bisect_left(found, end, first, key=attrgetter("start"))
    return tuple(
        Finding(max(item.start, start) - start, min(item.end, end) - start, item.detector)
        for item in found[first:last]
        if max(item.start, start) < min(item.end, end)
    )


def packed(found: Findings) -> list[int]:
    """Findings as they are stored: start, end and detector, one after the other."""
    return [number for item in found for number in (item.start, item.end, item.detector.value)]


def unpacked(numbers: Iterable[int] | None) -> Findings:
    """The reverse of `packed`; None is nothing."""
    flat = iter(numbers or ())
    return tuple(Finding(start, end, Detector(kind)) for start, end, kind in zip(flat, flat, flat, strict=True))
