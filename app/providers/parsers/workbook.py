"""XLSX: the visible sheets, row by row, as a reader sees them."""

import io
import re
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import chain, repeat
from typing import Any

from openpyxl import load_workbook

from app.providers.parsers.blocks import Block, Parsed, Unsupported, heading_text
from app.providers.parsers.output import Output
from app.providers.parsers.package import open_package
from app.providers.parsers.sheet_parts import NamedTable, SheetFacts, sheet_facts
from app.providers.parsers.tables import Row, write_table

MIME = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

MAX_CELLS = 2_000_000

_PERCENT = re.compile(r"0(\.(0+))?%")


@dataclass(slots=True)
class _Counts:
    cells: int = 0
    formulas: int = 0


def _shown(cell: Any) -> str:
    value = cell.value
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "TRUE" if value else "FALSE"
        case float():
            percent = _PERCENT.search(cell.number_format or "")
            if percent:
                return f"{value:.{len(percent[2] or '')}%}"
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
        case datetime():
            day = value.time() == time(0)
            return value.date().isoformat() if day else value.isoformat(" ")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
    return str(value)


def _rows(values: Any, formulas: Any, counts: _Counts) -> Iterator[tuple[int, list[str]]]:
    """(number, cells) of each row that is stored; what a formula came to, else the formula."""
    beside = chain(formulas.iter_rows(), repeat(())) if formulas is not None else repeat(())
    for number, (row, written) in enumerate(zip(values.iter_rows(), beside, strict=False), 1):
        counts.cells += len(row)
        if counts.cells > MAX_CELLS:
            raise Unsupported(f"More than {MAX_CELLS} cells.")
        cells = [_shown(cell) for cell in row]
        for place, cell in enumerate(written):
            if place < len(cells) and not cells[place] and isinstance(cell.value, str) and cell.value.startswith("="):
                cells[place] = cell.value
                counts.formulas += 1
        yield number, cells


def _filled(rows: Iterator[tuple[int, list[str]]], facts: SheetFacts) -> Iterator[tuple[int, list[str]]]:
    """The rows with the value of merged cells in each row that they reach over: a row is read by itself."""
    held: dict[tuple[int, int], str] = {}
    for number, cells in rows:
        for first, last, column in facts.merged_from.get(number, ()):
            if column <= len(cells) and cells[column - 1]:
                held |= dict.fromkeys(((row, column) for row in range(first + 1, last + 1)), cells[column - 1])
        for column in facts.merged_at.get(number, ()) if held else ():
            text = held.pop((number, column), "")
            if text:
                cells.extend([""] * (column - len(cells)))
                cells[column - 1] = text
        yield number, cells


def _tables(
    rows: Iterator[tuple[int, list[str]]], named: list[NamedTable]
) -> Iterator[tuple[NamedTable | None, list[Row]]]:
    """Rows that belong together: those of a named table, else what stands between blank rows."""
    group: list[Row] = []
    inside: NamedTable | None = None
    for number, cells in rows:
        table = next((item for item in named if item.first <= number <= item.last), None)
        blank = not any(cell.strip() for cell in cells)
        if group and (table is not inside or (blank and table is None)):
            yield inside, group
            group = []
        inside = table
        if not blank:
            group.append((number, cells))
    if group:
        yield inside, group


def _trimmed(rows: list[Row], width: slice) -> list[Row]:
    """Without the columns that are blank in all rows."""
    cut = [(number, cells[width]) for number, cells in rows]
    used = sorted({place for _, cells in cut for place, cell in enumerate(cells) if cell.strip()})
    return [(number, [cells[place] if place < len(cells) else "" for place in used]) for number, cells in cut]


def parse_workbook(data: bytes) -> Parsed:
    """Sheet by sheet; hidden ones are not read, and said so. Dates are written as ISO 8601 does."""
    package = open_package(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _parse(data, package)
    except Unsupported:
        raise
    except MemoryError:
        raise
    except Exception as error:
        # The library raises whatever a broken part makes of it: KeyError, ValueError, its own, the XML parser's.
        raise Unsupported("Damaged: it cannot be read as a workbook.") from error


def _parse(data: bytes, package: zipfile.ZipFile) -> Parsed:
    values = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    facts = sheet_facts(package)
    has_formulas = any(item.has_formulas for item in facts.values())
    formulas = load_workbook(io.BytesIO(data), read_only=True) if has_formulas else None
    out, hidden, counts = Output(), [], _Counts()
    for sheet in values.worksheets:
        if sheet.sheet_state != "visible":
            hidden.append(sheet.title)
            continue
        known = facts.get(sheet.title, SheetFacts())
        # What a file says of its own size is often wrong, and padding a row to it costs memory.
        sheet.reset_dimensions()
        written = None
        if formulas is not None and known.has_formulas:
            written = formulas[sheet.title]
            written.reset_dimensions()
        _sheet(out, sheet.title, _filled(_rows(sheet, written, counts), known), known)
    problems = []
    if hidden:
        problems.append(f"Hidden sheets not read: {', '.join(hidden)}.")
    if counts.formulas:
        problems.append(f"Formulas without a stored value, kept as formulas: {counts.formulas}.")
    if not out.blocks:
        raise Unsupported(problems[0] if problems else "Its sheets are blank.")
    title = heading_text(values.properties.title or "") or None
    return Parsed(out.text(), title, tuple(out.blocks), MIME, None, tuple(problems))


def _sheet(out: Output, name: str, rows: Iterator[tuple[int, list[str]]], facts: SheetFacts) -> None:
    for table, group in _tables(rows, facts.tables):
        path = (heading_text(name),) if table is None else (heading_text(name), heading_text(table.name))
        where = Block(0, 0, path, "table", sheet=name, table=None if table is None else table.name)
        if table is None:
            _loose(out, _trimmed(group, slice(None)), where)
        else:
            write_table(out, _trimmed(group, slice(None)), where, headed=table.headed)


def _loose(out: Output, rows: list[Row], where: Block) -> None:
    """Titles of a single cell may stand above the head."""
    above = 0
    while above < len(rows) - 1 and sum(1 for cell in rows[above][1] if cell.strip()) == 1:
        above += 1
    if above and above < len(rows) - 1:
        write_table(out, rows[:above], where, headed=False)
        rows = rows[above:]
    write_table(out, rows, where, headed=None if len(rows) > 1 else False)
