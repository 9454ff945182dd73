"""What a workbook's package says of its sheets that is not in their cells: merged ranges, named tables, formulas."""

import posixpath
import re
import zipfile
from dataclasses import dataclass, field
from xml.etree import ElementTree

from openpyxl.utils.cell import range_boundaries

_WORKBOOK = "xl/workbook.xml"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=[\"']([A-Z]{1,3}\d{1,7}:[A-Z]{1,3}\d{1,7})[\"']")
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s>/]")
_PIECE = 1 << 20
_OVERLAP = 4096

#: Merged cells of one sheet that are looked at; and rows that one of them may fill.
MAX_MERGED, MAX_FILLED = 10_000, 10_000


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table with a name, over rows `first` to `last`."""

    name: str
    first: int
    last: int
    headed: bool


@dataclass(slots=True)
class SheetFacts:
    """`merged_from`: row → (first row, last row, column) of the ranges that begin in it and reach below it;
    `merged_at`: row → the columns that such a range fills."""

    has_formulas: bool = False
    tables: list[NamedTable] = field(default_factory=list)
    merged_from: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    merged_at: dict[int, list[int]] = field(default_factory=dict)


def sheet_facts(package: zipfile.ZipFile) -> dict[str, SheetFacts]:
    """Sheet name → what is known of it; a part that cannot be read says nothing."""
    found: dict[str, SheetFacts] = {}
    targets = _relations(package, _WORKBOOK)
    for element in _parsed(package, _WORKBOOK).iter():
        if element.tag.endswith("}sheet"):
            part = targets.get(element.get(_RELATION, ""), ("", ""))[1]
            if part in package.NameToInfo:
                found[element.get("name", "")] = _facts(package, part)
    return found


def _parsed(package: zipfile.ZipFile, part: str) -> ElementTree.Element:
    # No entities are declared in any part (`package.open_package`), and the library's expat bounds them besides.
    return ElementTree.fromstring(package.read(part))  # noqa: S314


def _relations(package: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Relation id → (its kind, the part that it names)."""
    folder, name = posixpath.split(part)
    listed = f"{folder}/_rels/{name}.rels"
    if listed not in package.NameToInfo:
        return {}
    return {
        element.get("Id", ""): (
            element.get("Type", "").rsplit("/", 1)[-1],
            posixpath.normpath(posixpath.join("/", folder, element.get("Target", ""))).lstrip("/"),
        )
        for element in _parsed(package, listed)
    }


def _facts(package: zipfile.ZipFile, part: str) -> SheetFacts:
    facts = SheetFacts()
    merged: dict[bytes, None] = {}
    with package.open(part) as file:
        kept = b""
        while piece := file.read(_PIECE):
            window = kept + piece
            facts.has_formulas = facts.has_formulas or _FORMULA.search(window) is not None
            if len(merged) < MAX_MERGED and b"mergeCell" in window:
                merged |= dict.fromkeys(_MERGED.findall(window))
            kept = window[-_OVERLAP:]
    for reference in list(merged)[:MAX_MERGED]:
        column, first, _, last = range_boundaries(reference.decode())
        if column is None or first is None or last is None or not 0 < last - first < MAX_FILLED:
            continue
        facts.merged_from.setdefault(first, []).append((first, last, column))
        for row in range(first + 1, last + 1):
            facts.merged_at.setdefault(row, []).append(column)
    for kind, target in _relations(package, part).values():
        if kind == "table" and target in package.NameToInfo:
            table = _parsed(package, target)
            _, first, _, last = range_boundaries(table.get("ref", ""))
            name = table.get("displayName") or table.get("name")
            if name and first is not None and last is not None:
                facts.tables.append(NamedTable(name, first, last, table.get("headerRowCount") != "0"))
    return facts
