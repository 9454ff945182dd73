"""A parsed document cut into the slices that are searched, embedded and cited."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from app.providers.parsers.blocks import Block, Parsed

#: The model reads 256 word pieces: two are its own markers, and the title is embedded before the slice. What is left
#: for the slice finds best when it is about one thing (tests/quality/README.md).
MAX_PIECES = 160
#: Word pieces do not bound the length: a word of a million letters is one piece, unknown to the model.
MAX_CHARACTERS = 4096

Pieces = Callable[[str], Sequence[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Slice:
    """`text` is the document's [start, end) in code points, exactly; `pieces` is its count of word pieces."""

    ordinal: int
    start: int
    end: int
    heading_path: tuple[str, ...]
    text: str
    pieces: int


# Where an oversize section may be cut, best first, each with what it costs to cut there: a distance of the whole ideal
# length from the ideal place costs 1. To cut a block that would fit whole costs more, as does a heading left alone.
_BLOCK, _PARAGRAPH, _LINE, _SENTENCE, _BLANK = 0.0, 0.15, 0.35, 0.5, 0.9
_INSIDE_A_FITTING_BLOCK = 0.4
_AFTER_A_HEADING = 1.0
#: In prose a line may end anywhere in a sentence.
_WRAPPED_LINE = 0.25

_BREAKS = (
    (_PARAGRAPH, re.compile(r"(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)")),
    (_LINE, re.compile(r"\r\n|\n|\r")),
    (_SENTENCE, re.compile(r"[.!?]['\")\]]*\s|[。！？；]")),
    (_BLANK, re.compile(r"\s")),
)

_VISIBLE = re.compile(r"\S")

#: Next to these the tokenizer always ends a word, so a count taken over the whole text holds for the slice.
_WORD_ENDS = " \t\r\n"


@dataclass(frozen=True, slots=True)
class _Section:
    """Blocks in a row under one heading path."""

    path: tuple[str, ...]
    blocks: list[Block]

    @property
    def start(self) -> int:
        return self.blocks[0].start

    @property
    def end(self) -> int:
        return self.blocks[-1].end


def _sections(blocks: Sequence[Block]) -> Iterator[_Section]:
    waiting: list[Block] = []
    for path, group in groupby(blocks, key=lambda block: block.heading_path):
        found = list(group)
        if waiting and path[: len(waiting[-1].heading_path)] != waiting[-1].heading_path:
            yield _Section(waiting[-1].heading_path, waiting)
            waiting = []
        found = waiting + found
        waiting = []
        # A heading with nothing of its own below it answers no question: it leads in to its first subsection.
        if all(block.kind == "heading" for block in found):
            waiting = found
        else:
            yield _Section(path, found)
    if waiting:
        yield _Section(waiting[-1].heading_path, waiting)


class _Cutter:
    """Cuts ranges of one text; every word piece and every candidate is found once, so the time is linear."""

    def __init__(self, text: str, pieces: Pieces, limit: int) -> None:
        self.text = text
        self._pieces = pieces
        self._limit = limit
        self._starts = [start for start, _ in pieces(text)]

    def count(self, start: int, end: int) -> int:
        return bisect_left(self._starts, end) - bisect_left(self._starts, start)

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        return self._visible(start, end), start + len(self.text[start:end].rstrip())

    def _visible(self, start: int, end: int) -> int:
        found = _VISIBLE.search(self.text, start, end)
        return found.start() if found else end

    def _fits(self, start: int, end: int) -> bool:
        return end - start <= MAX_CHARACTERS and self.count(start, end) <= self._limit

    def _window(self, start: int, end: int) -> tuple[int, int]:
        """The furthest end a slice from `start` may have, and the one that leaves slices of equal size."""
        first = bisect_left(self._starts, start)
        number = bisect_left(self._starts, end) - first
        last = self._starts[first + self._limit] if number > self._limit else end
        furthest = max(min(last, start + MAX_CHARACTERS, end), start + 1)
        by_pieces, by_length = -(-number // self._limit), -(-(end - start) // MAX_CHARACTERS)
        if by_length > by_pieces:
            ideal = start + -(-(end - start) // by_length)
        else:
            ideal = self._starts[first + -(-number // by_pieces)] if by_pieces > 1 else end
        return furthest, max(min(ideal, furthest), start + 1)

    def _cuts(self, section: _Section) -> Iterator[tuple[int, int]]:
        start, end = self._trimmed(section.start, section.end)
        if start >= end:
            return
        if self._fits(start, end):
            yield start, end
            return
        edges = [block.start for block in section.blocks]
        fitting = [self._fits(block.start, block.end) for block in section.blocks]
        places = [
            (cost, [section.start + match.end() for match in pattern.finditer(self.text[section.start : section.end])])
            for cost, pattern in _BREAKS
        ]
        while not self._fits(start, end):
            furthest, ideal = self._window(start, end)
            best = min(
                (
                    (
                        abs(place - ideal) / (ideal - start)
                        + cost
                        + self._penalty(section, edges, fitting, place, cost),
                        place,
                    )
                    for cost, found in [(_BLOCK, edges), *places]
                    for place in _nearest(found, start, ideal, furthest)
                ),
                default=None,
            )
            cut = best[1] if best else self._piece_end(start, ideal)
            yield self._trimmed(start, cut)
            start = self._visible(cut, end)
        if start < end:
            yield start, end

    @staticmethod
    def _penalty(section: _Section, edges: list[int], fitting: list[bool], place: int, cost: float) -> float:
        at = bisect_left(edges, place) - 1
        kind = section.blocks[at].kind
        if cost == _BLOCK:
            return _AFTER_A_HEADING if kind == "heading" else 0.0
        wrapped = _WRAPPED_LINE if cost == _LINE and kind == "paragraph" else 0.0
        return wrapped + (_INSIDE_A_FITTING_BLOCK if fitting[at] else 0.0)

    def _piece_end(self, start: int, ideal: int) -> int:
        piece = bisect_right(self._starts, ideal) - 1
        place = self._starts[piece] if piece >= 0 else start
        return place if place > start else ideal

    def slices(self, section: _Section) -> Iterator[tuple[int, int, int]]:
        """(start, end, word pieces) of each slice of a section."""
        for start, end in self._cuts(section):
            if self._is_apart(start, end):
                yield start, end, self.count(start, end)
                continue
            # A cut inside a word makes other pieces of its halves: count again, and cut again where they are too many.
            part = self.text[start:end]
            inner = _Cutter(part, self._pieces, self._limit)
            number = inner.count(0, len(part))
            if number <= self._limit or len(part) == 1:
                yield start, end, number
                continue
            half = _Section((), [Block(0, len(part), (), "part")])
            for inner_start, inner_end, inner_number in inner.slices(half):
                yield start + inner_start, start + inner_end, inner_number

    def _is_apart(self, start: int, end: int) -> bool:
        text = self.text
        return (start == 0 or text[start - 1] in _WORD_ENDS) and (end == len(text) or text[end] in _WORD_ENDS)


def _nearest(places: list[int], start: int, ideal: int, furthest: int) -> Iterator[int]:
    """The last of `places` in (start, ideal] and the first in (ideal, furthest]."""
    at = bisect_right(places, ideal)
    if at and places[at - 1] > start:
        yield places[at - 1]
    if at < len(places) and places[at] <= furthest:
        yield places[at]


def chunk(parsed: Parsed, pieces: Pieces, limit: int = MAX_PIECES) -> list[Slice]:
    """Slices of at most `limit` word pieces and `MAX_CHARACTERS` characters, in order, without blank edges.

    Every non-blank character is in exactly one slice. Blocks of one heading path are packed together; a slice spans
    two paths only where a heading has no text of its own. What is too big is cut into parts of about equal size at a
    block, paragraph, line, sentence, blank or word piece, in this order of preference. `pieces` gives the code point
    offsets of each word piece of a text; a single character of more than `limit` pieces is left whole.
    """
    cutter = _Cutter(parsed.text, pieces, limit)
    slices: list[Slice] = []
    for section in _sections(parsed.blocks):
        for start, end, number in cutter.slices(section):
            slices.append(Slice(len(slices), start, end, section.path, parsed.text[start:end], number))
    return slices
