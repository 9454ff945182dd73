"""Rows of cells as text: a row a line under the table's head, or, of wide tables, a cell a line beside its name."""

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from app.providers.parsers.blocks import Block
from app.providers.parsers.output import Output

#: A head longer than this, in characters, does not fit before every slice: cells are named one by one instead.
WIDE = 160

#: A row and its number as its readers count it, from 1.
Row = tuple[int, Sequence[str]]

_VALUE = re.compile(
    r"[-+(]?[$€£¥]?\s?[\d.,'\s]*\d[\d.,)]*\s?[%€$£¥]?|\d{4}-\d\d-\d\d([T ].*)?|true|false", re.IGNORECASE
)


def is_head(cells: Sequence[str]) -> bool:
    """Whether a first row names columns: several cells, none of them a number or a date, none twice."""
    named = [cell for cell in cells if cell.strip()]
    return (
        len(named) > 1 and len(set(named)) == len(named) and not any(_VALUE.fullmatch(cell.strip()) for cell in named)
    )


def line(cells: Iterable[str]) -> str:
    """The cells of a row, but for blank ones at its end."""
    written = [" ".join(cell.split()) for cell in cells]
    while written and not written[-1]:
        written.pop()
    return " | ".join(written)


def record(head: Sequence[str], cells: Sequence[str]) -> str:
    """The cells that hold something, each after its column's name."""
    pairs = zip_longest(head, cells, fillvalue="")
    named = ((" ".join(name.split()), " ".join(cell.split())) for name, cell in pairs)
    return "\n".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)


def write_table(out: Output, rows: Iterable[Row], where: Block, *, headed: bool | None = None) -> None:
    """The rows of one table, a block each, in the place that `where` names. `headed` says whether the first row is the
    head; None: by its looks."""
    head: Sequence[str] = ()
    wide = False
    header: tuple[int, int] | None = None
    for position, (number, cells) in enumerate(rows):
        written = record(head, cells) if wide else line(cells)
        if not written.strip():
            continue
        start, end = out.put(written)
        out.blocks.append(
            Block(start, end, where.heading_path, "table", where.page, where.sheet, where.table, number, number, header)
        )
        out.put("\n\n" if wide else "\n")
        if position == 0 and (is_head(cells) if headed is None else headed):
            head, wide = cells, len(written) > WIDE
            header = None if wide else (start, end)
    out.put("\n")
