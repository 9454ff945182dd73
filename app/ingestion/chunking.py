"""A parsed document cut into the slices that are searched, embedded and cited."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from app.domain.document import Place
from app.providers.parsers.blocks import MESSAGE, Block, Parsed

#: The model reads 256 word pieces: two are its own markers, and the title is embedded before the slice. What is left
#: for the slice finds best when it is about one thing (tests/quality/README.md).
MAX_PIECES = 160
#: Word pieces do not bound the length: a word of a million letters is one piece, unknown to the model.
MAX_CHARACTERS = 4096

#: A longer head of a table is not repeated: it would leave no room for rows.
MAX_HEADER_PIECES = MAX_PIECES // 2

Pieces = Callable[[str], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Slice:
    """`text` is the document's [start, end) in code points, exactly; where that begins among the rows of a table, the
    table's head and a line feed (`lead` characters) stand before it. `pieces` is its count of word pieces."""

    ordinal: int
    start: int
    end: int
    place: Place
    text: str
    pieces: int
    lead: int = 0

    @property
    def heading_path(self) -> tuple[str, ...]:
        return self.place.heading_path


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
    """Blocks in a row under one heading path, on one page or sheet and in one table."""

    blocks: list[Block]

    @property
    def start(self) -> int:
        return self.blocks[0].start

    @property
    def end(self) -> int:
        return self.blocks[-1].end


def _where(block: Block) -> tuple[object, ...]:
    """What all of a slice has in common."""
    alone = block.start if block.kind == MESSAGE else None
    return block.heading_path, block.page, block.sheet, block.table, alone


def _leads_in(heading: Block, block: Block) -> bool:
    return (
        block.heading_path[: len(heading.heading_path)] == heading.heading_path
        and (block.page, block.sheet) == (heading.page, heading.sheet)
        and block.kind != MESSAGE
    )


def _sections(blocks: Sequence[Block]) -> Iterator[_Section]:
    waiting: list[Block] = []
    for _, group in groupby(blocks, key=_where):
        found = list(group)
        if waiting and not _leads_in(waiting[-1], found[0]):
            yield _Section(waiting)
            waiting = []
        found = waiting + found
        waiting = []
        # A heading with nothing of its own below it answers no question: it leads in to its first subsection.
        if all(block.kind == "heading" for block in found):
            waiting = found
        else:
            yield _Section(found)
    if waiting:
        yield _Section(waiting)


@dataclass(frozen=True, slots=True)
class _Lead:
    """The head of a table, to stand before a slice of its rows: [start, end) and what it takes of the slice's room."""

    start: int = 0
    end: int = 0
    pieces: int = 0

    @property
    def characters(self) -> int:
        return self.end - self.start + 1 if self.end else 0


_NO_LEAD = _Lead()


@dataclass(frozen=True, slots=True)
class _Cut:
    start: int
    end: int
    pieces: int
    lead: _Lead


class _Cutter:
    """Cuts ranges of one text; every word piece and every candidate is found once, so the time is linear."""

    def __init__(self, text: str, pieces: Pieces, limit: int) -> None:
        self.text = text
        self._pieces = pieces
        self._limit = limit
        self._starts = pieces(text)
        self._leads: dict[tuple[int, int], _Lead] = {}

    def count(self, start: int, end: int) -> int:
        return bisect_left(self._starts, end) - bisect_left(self._starts, start)

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        return self._visible(start, end), start + len(self.text[start:end].rstrip())

    def _visible(self, start: int, end: int) -> int:
        found = _VISIBLE.search(self.text, start, end)
        return found.start() if found else end

    def lead(self, block: Block, start: int) -> _Lead:
        """What stands before a slice that begins at `start`, in this block."""
        header = block.header
        if header is None or start < header[1] or header[1] - header[0] > MAX_CHARACTERS // 4:
            return _NO_LEAD
        found = self._leads.get(header)
        if found is None:
            number = len(self._pieces(self.text[header[0] : header[1]]))
            found = _Lead(*header, number) if number <= min(MAX_HEADER_PIECES, self._limit // 2) else _NO_LEAD
            self._leads[header] = found
        return found

    def _fits(self, start: int, end: int, lead: _Lead = _NO_LEAD) -> bool:
        return end - start <= MAX_CHARACTERS - lead.characters and self.count(start, end) <= self._limit - lead.pieces

    def _window(self, start: int, end: int, lead: _Lead) -> tuple[int, int]:
        """The furthest end a slice from `start` may have, and the one that leaves slices of equal size."""
        limit, characters = self._limit - lead.pieces, MAX_CHARACTERS - lead.characters
        first = bisect_left(self._starts, start)
        number = bisect_left(self._starts, end) - first
        last = self._starts[first + limit] if number > limit else end
        furthest = max(min(last, start + characters, end), start + 1)
        by_pieces, by_length = -(-number // limit), -(-(end - start) // characters)
        if by_length > by_pieces:
            ideal = start + -(-(end - start) // by_length)
        else:
            ideal = self._starts[first + -(-number // by_pieces)] if by_pieces > 1 else end
        return furthest, max(min(ideal, furthest), start + 1)

    def _cuts(self, section: _Section) -> Iterator[tuple[int, int, _Lead]]:
        start, end = self._trimmed(section.start, section.end)
        if start >= end:
            return
        lead = self.lead(section.blocks[0], start)
        if self._fits(start, end, lead):
            yield start, end, lead
            return
        edges = [block.start for block in section.blocks]
        fitting = [self._fits(block.start, block.end) for block in section.blocks]
        origin, text = section.start, self.text[section.start : section.end]
        places = [(cost, [origin + match.end() for match in pattern.finditer(text)]) for cost, pattern in _BREAKS]
        while not self._fits(start, end, lead):
            furthest, ideal = self._window(start, end, lead)
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
            yield *self._trimmed(start, cut), lead
            start = self._visible(cut, end)
            lead = self.lead(section.blocks[max(bisect_right(edges, start) - 1, 0)], start)
        if start < end:
            yield start, end, lead

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

    def slices(self, section: _Section) -> Iterator[_Cut]:
        """The slices of a section."""
        for start, end, lead in self._cuts(section):
            if self._is_apart(start, end):
                yield _Cut(start, end, lead.pieces + self.count(start, end), lead)
                continue
            # A cut inside a word makes other pieces of its halves: count again, and cut again where they are too many.
            part = self.text[start:end]
            inner = _Cutter(part, self._pieces, self._limit - lead.pieces)
            number = inner.count(0, len(part))
            if number <= self._limit - lead.pieces or len(part) == 1:
                yield _Cut(start, end, lead.pieces + number, lead)
                continue
            half = _Section([Block(0, len(part), (), "part")])
            for cut in inner.slices(half):
                yield _Cut(start + cut.start, start + cut.end, lead.pieces + cut.pieces, lead)

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


def _place(section: _Section, edges: Sequence[int], start: int, end: int) -> Place:
    """Where a slice of the section stands: its rows are those of the blocks that it holds something of."""
    path = section.blocks[-1].heading_path
    block = section.blocks[0]
    if block.page is None and block.sheet is None and section.blocks[-1].row_start is None:
        return Place(path)
    held = section.blocks[max(bisect_right(edges, start) - 1, 0) : bisect_left(edges, end)]
    starts = [block.row_start for block in held if block.row_start is not None]
    ends = [block.row_end for block in held if block.row_end is not None]
    return Place(
        path, block.page, block.sheet, section.blocks[-1].table, min(starts, default=None), max(ends, default=None)
    )


def chunk(parsed: Parsed, pieces: Pieces, limit: int = MAX_PIECES) -> list[Slice]:
    """Slices of at most `limit` word pieces and `MAX_CHARACTERS` characters, in order, without blank edges.

    Every non-blank character is in exactly one slice, but for heads of tables, which stand before each slice of their
    rows. Blocks of one heading path, page, sheet and table are packed together; a slice spans two paths only where a
    heading has no text of its own. What is too big is cut into parts of about equal size at a block, paragraph, line,
    sentence, blank or word piece, in this order of preference. `pieces` gives the code point at which each word piece
    of a text begins; a single character of more than `limit` pieces is left whole.
    """
    cutter = _Cutter(parsed.text, pieces, limit)
    slices: list[Slice] = []
    for section in _sections(parsed.blocks):
        edges = [block.start for block in section.blocks]
        for cut in cutter.slices(section):
            text, lead = parsed.text[cut.start : cut.end], cut.lead.characters
            if lead:
                text = f"{parsed.text[cut.lead.start : cut.lead.end]}\n{text}"
            place = _place(section, edges, cut.start, cut.end)
            slices.append(Slice(len(slices), cut.start, cut.end, place, text, cut.pieces, lead))
    return slices
