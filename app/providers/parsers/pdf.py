"""PDF: the text of each page, under the outline's headings where there is one."""

import re
from collections.abc import Iterator

import pypdfium2

from app.providers.parsers.blocks import Block, Parsed, Unsupported, heading_text
from app.providers.parsers.output import Output
from app.providers.parsers.plain import paragraphs

MIME = "application/pdf"

MAX_PAGES = 20_000
#: Of an outline; books have hundreds.
MAX_HEADINGS = 20_000
_MAX_DEPTH = 15

# A word that was hyphenated at the end of a line; the library marks the hyphen with U+FFFE or U+0002.
_HYPHEN = re.compile("[\ufffe\x02]\r?\n?")
_LINE_END = re.compile(r"\r\n?")
# Signs of the kind that pages hold where a font does not say which characters it shows.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\uffff]")


def _outline(document: pypdfium2.PdfDocument) -> dict[int, list[tuple[int, str]]]:
    """Page, from 0 → the headings that begin on it, with their levels, in order."""
    found: dict[int, list[tuple[int, str]]] = {}
    for number, item in enumerate(document.get_toc(max_depth=_MAX_DEPTH)):
        if number >= MAX_HEADINGS:
            break
        target = item.get_dest()
        page, title = None if target is None else target.get_index(), heading_text(item.get_title())
        if page is not None and title:
            found.setdefault(page, []).append((item.level, title))
    return found


def _page_text(document: pypdfium2.PdfDocument, number: int) -> str:
    page = document[number]
    try:
        words = page.get_textpage()
        try:
            text = words.get_text_range()
        finally:
            words.close()
    finally:
        page.close()
    text = _LINE_END.sub("\n", _HYPHEN.sub("", text))
    return str(_CONTROLS.sub(" ", text)).strip()


def _sections(text: str, begins: list[tuple[int, str]]) -> Iterator[tuple[int, tuple[int, str] | None]]:
    """Where on a page each of its headings begins: at its words, else where the one before began."""
    position = 0
    for heading in begins:
        words = r"\s+".join(map(re.escape, heading[1].split()))
        match = re.compile(words).search(text, position)
        position = match.start() if match else position
        yield position, heading
    yield len(text), None


def parse_pdf(data: bytes) -> Parsed:
    """A block a paragraph; each stands on one page. Pages without text are counted in the problems."""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        reason = "Protected by a password." if "password" in str(error).lower() else "Damaged: it cannot be opened."
        raise Unsupported(reason) from error
    if len(document) > MAX_PAGES:
        raise Unsupported(f"It has {len(document)} pages; the limit is {MAX_PAGES}.")
    out, open_headings = Output(), list[tuple[int, str]]()
    empty, damaged = 0, 0
    outline = _outline(document)
    for number in range(len(document)):
        try:
            text = _page_text(document, number)
        except pypdfium2.PdfiumError:
            text, damaged = "", damaged + 1
        empty += not text
        begin = 0
        for end, heading in _sections(text, outline.get(number, [])):
            path = tuple(title for _, title in open_headings)
            _write(out, text[begin:end], path, number + 1)
            begin = end
            if heading is not None:
                while open_headings and open_headings[-1][0] >= heading[0]:
                    open_headings.pop()
                open_headings.append(heading)
    pages = len(document)
    if not out.blocks:
        raise Unsupported("Damaged: no page can be read." if damaged else "It holds no text: perhaps it was scanned.")
    problems = []
    if damaged:
        problems.append(f"Pages that cannot be read: {damaged} of {pages}.")
    if empty > damaged:
        problems.append(f"Pages without text: {empty - damaged} of {pages}.")
    title = heading_text(_CONTROLS.sub(" ", document.get_metadata_value("Title"))) or None
    return Parsed(out.text(), title, tuple(out.blocks), MIME, None, tuple(problems))


def _write(out: Output, text: str, path: tuple[str, ...], page: int) -> None:
    for block in paragraphs(text, "paragraph"):
        out.block(text[block.start : block.end].strip(), Block(0, 0, path, "paragraph", page=page))
