"""CommonMark: headings make the heading path, block structure makes the blocks."""

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.providers.parsers.blocks import MAX_HEADING, Block, Parsed, fill_gaps, heading_text, line_starts
from app.providers.parsers.links import markdown_links

# Only line numbers are wanted. Inline markup is parsed for headings alone; a table has the lines of a paragraph; and a
# link definition is text like any other (the library's rule for them is quadratic in their number).
_STRUCTURE = MarkdownIt("commonmark").disable(["inline", "reference"])
_INLINE = MarkdownIt("commonmark")

_KINDS = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "fence": "code",
    "code_block": "code",
    "html_block": "html",
    "hr": "rule",
}
_MARKUP = re.compile(r"[\\`*_\[\]<>&!~]")
_TABLE_RULE = re.compile(r"[ >]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_FIELD = re.compile(r"[A-Za-z_][\w .-]*:(\s|$)")
_TITLE = re.compile(r"title:[ \t]*(.*)", re.IGNORECASE)
#: Front matter that has not ended after so many lines is a rule followed by text.
_FRONT_MATTER_LINES = 500


def _plain_heading(source: str) -> str:
    source = source.strip()[: 4 * MAX_HEADING]
    if not _MARKUP.search(source):
        return heading_text(source)
    parts: list[str] = []
    for token in _INLINE.parseInline(source)[0].children or []:
        if token.type in ("text", "code_inline", "image"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
    return heading_text("".join(parts))


def _front_matter(text: str, lines: list[int]) -> tuple[int, str | None]:
    """How many lines the YAML between `---` and `---` takes at the top (0: there is none), and its title."""

    def line(index: int) -> str:
        return text[lines[index] : lines[index + 1]].rstrip()

    if len(lines) < 3 or line(0) != "---":
        return 0, None
    title, fields = None, False
    for index in range(1, min(len(lines) - 1, _FRONT_MATTER_LINES)):
        content = line(index)
        if content in ("---", "..."):
            return (index + 1, title) if fields else (0, None)
        fields = fields or _FIELD.match(content) is not None
        if title is None and (match := _TITLE.match(content)):
            title = heading_text(match[1].strip().strip("\"'")) or None
    return 0, None


def _is_table(text: str, lines: list[int], first: int, end: int) -> bool:
    if end - first < 2:
        return False
    header, rule = (text[lines[at] : lines[at + 1]].rstrip() for at in (first, first + 1))
    return "|" in header and "-" in rule and _TABLE_RULE.match(rule) is not None


def _blocks(text: str, lines: list[int], tokens: list[Token], skipped: int) -> Iterator[Block]:
    open_headings: list[tuple[int, str]] = []
    path: tuple[str, ...] = ()
    for index, token in enumerate(tokens):
        kind = _KINDS.get(token.type)
        if kind is None or token.map is None:
            continue
        first, end = (min(line + skipped, len(lines) - 1) for line in token.map)
        header = None
        # A heading inside a quotation or a list does not open a section of the page.
        if kind == "heading" and token.level == 0:
            level = int(token.tag[1])
            while open_headings and open_headings[-1][0] >= level:
                open_headings.pop()
            if heading := _plain_heading(tokens[index + 1].content):
                open_headings.append((level, heading))
            path = tuple(text for _, text in open_headings)
        elif kind == "paragraph" and _is_table(text, lines, first, end):
            kind = "table"
            header = (lines[first], lines[first] + len(text[lines[first] : lines[first + 2]].rstrip()))
        yield Block(lines[first], lines[end], path, kind, header=header)


def parse_markdown(text: str) -> Parsed:
    """A page; its title is the front matter's or else its first level-one heading.

    Offsets come from the parser's line numbers, so a block holds whole lines, list markers and fences included.
    """
    lines = line_starts(text)
    front, title = _front_matter(text, lines)
    body = text[lines[front] :] if front else text
    tokens = _STRUCTURE.parse(body)
    found = [Block(0, lines[front], (), "front_matter")] if front else []
    found.extend(_blocks(text, lines, tokens, front))
    if title is None:
        title = next(
            (
                _plain_heading(tokens[index + 1].content) or None
                for index, token in enumerate(tokens)
                if token.type == "heading_open" and token.tag == "h1" and token.level == 0
            ),
            None,
        )
    blocks = fill_gaps(text, found)
    return Parsed(text, title, blocks, "text/markdown", None, links=markdown_links(text, blocks))
