"""DOCX: paragraphs under the headings of their styles, tables row by row, notes at the end."""

import io
import re
from collections.abc import Iterator
from typing import Any

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml

from app.providers.parsers.blocks import Block, Parsed, Unsupported, heading_text
from app.providers.parsers.output import Output
from app.providers.parsers.package import open_package
from app.providers.parsers.tables import Row, write_table

MIME = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
#: What is deleted by a tracked change, or a second rendering of what was read already.
_DROPPED = frozenset({f"{_W}del", f"{_W}moveFrom", f"{_W}pPr", f"{_W}rPr", _FALLBACK})
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_MAX_BASES = 20
_MAX_SPAN = 1000
_NOTES = (("footnotes", "footnote", "Footnotes"), ("endnotes", "endnote", "Endnotes"))


def _text(element: Any) -> str:
    """The text of a paragraph with that of its links, fields, content controls and tracked insertions."""
    parts: list[str] = []
    waiting = [element]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        match item.tag:
            case tag if tag in _DROPPED:
                continue
            case tag if tag == f"{_W}t":
                parts.append(item.text or "")
            case tag if tag == f"{_W}tab":
                parts.append("\t")
            case tag if tag in {f"{_W}br", f"{_W}cr"}:
                parts.append("\n")
            case tag if tag == f"{_W}noBreakHyphen":
                parts.append("-")
            case _:
                if item.tag == f"{_W}p" and item is not element:
                    # A paragraph in a text box.
                    waiting.append("\n")
                waiting.extend(reversed(item))
    return "".join(parts).strip()


class _Document:
    def __init__(self, data: bytes) -> None:
        self._document = docx.Document(io.BytesIO(data))
        self._styles = {style.style_id: style for style in self._document.styles}
        self._levels: dict[str, int | None] = {}
        self._out = Output()
        self._open: list[tuple[int, str]] = []
        self._tables = 0
        self._caption = ""
        self._first_heading: str | None = None

    def parsed(self) -> Parsed:
        self._body(self._document.element.body)
        self._notes()
        if not self._out.blocks:
            raise Unsupported("It holds no text.")
        title = heading_text(self._document.core_properties.title or "") or self._first_heading
        return Parsed(self._out.text(), title, tuple(self._out.blocks), MIME, None)

    def _path(self) -> tuple[str, ...]:
        return tuple(text for _, text in self._open)

    def _body(self, body: Any) -> None:
        waiting = list(reversed(body))
        while waiting:
            item = waiting.pop()
            if item.tag == f"{_W}p":
                self._paragraph(item)
            elif item.tag == f"{_W}tbl":
                self._table(item)
            elif item.tag not in _DROPPED and not str(item.tag).endswith("}sectPr"):
                # Content controls and the like: what they hold stands in the text.
                waiting.extend(reversed(item))

    def _paragraph(self, element: Any) -> None:
        text = _text(element)
        if not text:
            return
        level, style = self._level(element), self._style_of(element)
        if level is not None:
            while self._open and self._open[-1][0] >= level:
                self._open.pop()
            self._open.append((level, heading_text(text)))
            if level <= 1:
                self._first_heading = self._first_heading or heading_text(text)
        self._caption = text if style == "Caption" else ""
        self._out.block(text, Block(0, 0, self._path(), "paragraph" if level is None else "heading"))

    def _style_of(self, element: Any) -> str | None:
        found = element.find(f"{_W}pPr/{_W}pStyle")
        return None if found is None else found.get(f"{_W}val")

    def _level(self, element: Any) -> int | None:
        """0 for the title, 1 to 9 for headings, None for text."""
        outline = element.find(f"{_W}pPr/{_W}outlineLvl")
        if outline is not None and str(outline.get(f"{_W}val")).isdigit():
            number = int(outline.get(f"{_W}val"))
            return number + 1 if number < 9 else None
        style = self._style_of(element)
        if style is None:
            return None
        if style not in self._levels:
            self._levels[style] = self._style_level(style)
        return self._levels[style]

    def _style_level(self, id: str) -> int | None:
        style = self._styles.get(id)
        for _ in range(_MAX_BASES):
            if style is None:
                return None
            if match := _HEADING.fullmatch(style.name or ""):
                return int(match[1])
            if (style.name or "").lower() == "title":
                return 0
            outline = style.element.find(f"{_W}pPr/{_W}outlineLvl")
            if outline is not None and str(outline.get(f"{_W}val")).isdigit():
                number = int(outline.get(f"{_W}val"))
                return number + 1 if number < 9 else None
            style = getattr(style, "base_style", None)
        return None

    def _table(self, element: Any) -> None:
        self._tables += 1
        name = heading_text(self._caption) or f"Table {self._tables}"
        where = Block(0, 0, self._path(), "table", table=name)
        rows = list(_rows(element))
        write_table(self._out, rows, where, headed=None if len(rows) > 1 else False)

    def _notes(self) -> None:
        for relation, tag, heading in _NOTES:
            kind = getattr(RELATIONSHIP_TYPE, relation.upper())
            for part in (item.target_part for item in self._document.part.rels.values() if item.reltype == kind):
                for note in parse_xml(part.blob).iter(f"{_W}{tag}"):
                    if note.get(f"{_W}type") in {None, "normal"}:
                        text = "\n".join(filter(None, map(_text, note.iter(f"{_W}p"))))
                        self._out.block(text, Block(0, 0, (heading,), "paragraph"))


def _rows(table: Any) -> Iterator[Row]:
    """The rows; a cell that is merged over several of them is read in each."""
    above: dict[int, str] = {}
    for number, row in enumerate((item for item in table.iter(f"{_W}tr") if _owner(item) is table), 1):
        cells: list[str] = []
        for cell in (item for item in row.iter(f"{_W}tc") if _owner(item) is table):
            text = "\n".join(filter(None, map(_text, cell.iter(f"{_W}p"))))
            merged = cell.find(f"{_W}tcPr/{_W}vMerge")
            if merged is not None and merged.get(f"{_W}val") != "restart":
                text = above.get(len(cells), text)
            above[len(cells)] = text
            span = cell.find(f"{_W}tcPr/{_W}gridSpan")
            width = str(span.get(f"{_W}val")) if span is not None else "1"
            cells += [text, *[""] * (min(int(width), _MAX_SPAN) - 1 if width.isdigit() else 0)]
        yield number, cells


def _owner(item: Any) -> Any:
    """The table that a row or cell is of: tables stand inside cells too."""
    while item is not None and item.tag != f"{_W}tbl":
        item = item.getparent()
    return item


def parse_word(data: bytes) -> Parsed:
    """Headings are known by their styles; what a tracked change deleted is gone, what it inserted is there."""
    open_package(data)
    try:
        return _Document(data).parsed()
    except (Unsupported, MemoryError):
        raise
    except Exception as error:
        # The library raises whatever a broken part makes of it: KeyError, ValueError, its own, the XML parser's.
        raise Unsupported("Damaged: it cannot be read as a document.") from error
