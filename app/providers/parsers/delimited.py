"""CSV and its relatives: the text as it is, a block a row."""

import csv
from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise

from app.providers.parsers.blocks import Block, Parsed, fill_gaps, line_starts
from app.providers.parsers.output import Output
from app.providers.parsers.tables import WIDE, is_head, write_table

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 50
_WHERE = Block(0, 0, (), "table")


def _lines(text: str) -> Iterator[str]:
    starts = line_starts(text)
    return (text[start:end] for start, end in pairwise(starts))


def _delimiter(text: str, mime: str) -> str:
    """Which sign cuts most of the first lines into the same number of cells, and into the most cells."""
    if mime == "text/tab-separated-values":
        return "\t"
    best = (0, 0, 0, ",")
    for place, sign in enumerate(_DELIMITERS):
        try:
            widths = Counter(len(row) for row in csv.reader(islice(_lines(text), _SAMPLE_LINES), delimiter=sign) if row)
        except csv.Error:
            continue
        for width, times in widths.most_common(1):
            if width > 1:
                best = max(best, (times, width, -place, sign))
    return best[-1]


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """(start, end, cells) of each row; a quoted cell may hold line ends."""
    position = 0

    def counted() -> Iterator[str]:
        nonlocal position
        for item in _lines(text):
            position += len(item)
            yield item

    start = 0
    for cells in csv.reader(counted(), delimiter=delimiter):
        yield start, position, cells
        start = position


def parse_delimited(text: str, mime: str) -> Parsed:
    """Rows count from 1, the head is one of them. A table whose head is too long to be repeated is written anew, with
    the name of the column before each cell."""
    problems: tuple[str, ...] = ()
    try:
        rows = list(_rows(text, _delimiter(text, mime)))
    except csv.Error:
        starts = line_starts(text)
        rows = [(start, end, [text[start:end]]) for start, end in pairwise(starts)]
        problems = ("Its quotation marks do not match; read line by line.",)
    filled = [(number, *row) for number, row in enumerate(rows, 1) if text[row[0] : row[1]].strip()]
    if not filled:
        return Parsed(text, None, fill_gaps(text, ()), mime, None, problems)
    _, start, end, head = filled[0]
    end = start + len(text[start:end].rstrip())
    headed = is_head(head) and len(filled) > 1
    if headed and end - start > WIDE:
        out = Output()
        write_table(out, ((number, cells) for number, _, _, cells in filled), _WHERE, headed=True)
        return Parsed(out.text(), None, tuple(out.blocks), mime, None, problems)
    header = (start, end) if headed else None
    blocks = [
        Block(start, end, (), "table", row_start=number, row_end=number, header=header if at else None)
        for at, (number, start, end, _) in enumerate(filled)
    ]
    return Parsed(text, None, fill_gaps(text, blocks), mime, None, problems)
