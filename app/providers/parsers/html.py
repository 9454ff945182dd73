"""HTML: the text a reader sees, with the headings h1 to h6 as the heading path."""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from app.providers.parsers.blocks import Block, Parsed, fill_gaps, heading_text
from app.providers.parsers.links import neighbours
from app.providers.parsers.plain import paragraphs

MIME = "text/html"

#: Browsers stop at 512 open elements; the parser's time grows with the square of the depth.
MAX_DEPTH = 1000

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_DROPPED = frozenset({"script", "style", "noscript", "template", "svg", "math", "head", "iframe", "object", "-comment"})
_BLOCKS = frozenset(
    {*_HEADINGS, "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details"}
    | {"dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html", "li"}
    | {"main", "menu", "nav", "ol", "option", "p", "pre", "section", "select", "summary", "table", "tbody", "tfoot"}
    | {"thead", "title", "tr", "ul", "video"}
)
_CELLS = frozenset({"td", "th"})
_KINDS = {"pre": "code", "table": "table"} | dict.fromkeys(_HEADINGS, "heading")

_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)")
_ANY_TAG = re.compile(r"<[^<>]*>")
# Elements that never stay open, or that the next of their kind closes.
_SHALLOW = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
    | {"p", "li", "dt", "dd", "tr", "td", "th", "tbody", "thead", "tfoot", "option", "optgroup", "rt", "rp"}
)


def _too_deep(source: str) -> bool:
    depth = 0
    for match in _TAG.finditer(source):
        if match[2].lower() not in _SHALLOW:
            depth = max(depth - 1, 0) if match[1] else depth + 1
            if depth > MAX_DEPTH:
                return True
    return False


class _Text:
    """Collects text with its white space collapsed, as blocks under the headings that are open."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.parts: list[str] = []
        self._length = 0
        self._block = (0, 0)  # where the open block starts: character, part
        self._space = False
        self._headings: list[tuple[int, str]] = []
        # The head of each open table, once its first row of nothing but `th` is read; and the cells of the open row.
        self._heads: list[tuple[int, int] | None] = []
        self._cells: list[str] = []

    def _put(self, text: str) -> None:
        self.parts.append(text)
        self._length += len(text)

    def add(self, text: str, preformatted: bool) -> None:
        if preformatted:
            self._put(text)
            return
        words = text.split()
        if words:
            if self._length > self._block[0] and (self._space or text[0].isspace()):
                self._put(" ")
            self._put(" ".join(words))
        self._space = text[-1:].isspace() or (self._space and not words)

    def cell(self, tag: str, opens: bool) -> None:
        self._space = True
        if opens:
            self._cells.append(tag)

    def table(self, opens: bool) -> None:
        if opens:
            self._heads.append(None)
        elif self._heads:
            self._heads.pop()
        self._cells = []

    def end_block(self, tag: str) -> None:
        self._space = False
        start, part = self._block
        if self._length == start:
            return
        if level := _HEADINGS.get(tag):
            while self._headings and self._headings[-1][0] >= level:
                self._headings.pop()
            if heading := heading_text("".join(self.parts[part:])):
                self._headings.append((level, heading))
        path = tuple(heading for _, heading in self._headings)
        header = self._heads[-1] if self._heads else None
        self.blocks.append(Block(start, self._length, path, _KINDS.get(tag, "paragraph"), header=header))
        if tag == "tr":
            if self._heads and header is None and len(self._cells) > 1 and set(self._cells) == {"th"}:
                self._heads[-1] = (start, self._length)
            self._cells = []
        self._put("\n" if tag in ("tr", "li", "br") else "\n\n")
        self._block = (self._length, len(self.parts))


def _visible(root: LexborNode) -> Iterator[tuple[str, str | None]]:
    """The tree in reading order, without recursion: (tag, "") where an element opens, (tag, None) where it closes,
    ("-text", characters)."""
    node, depth = root, 0
    while True:
        tag = node.tag or ""
        child = None
        if tag == "-text":
            yield tag, node.text_content or ""
        elif tag not in _DROPPED:
            yield tag, ""
            child = node.child
            if child is None:
                yield tag, None
        if child is not None:
            node, depth = child, depth + 1
            continue
        while depth and node.next is None:
            parent = node.parent
            assert parent is not None
            node, depth = parent, depth - 1
            yield node.tag or "", None
        if not depth:
            return
        following = node.next
        assert following is not None
        node = following


def _collect(root: LexborNode) -> _Text:
    out = _Text()
    inside = [""]  # the open elements that make blocks
    for tag, text in _visible(root):
        if tag == "-text":
            out.add(text or "", "pre" in inside[-2:])
        elif tag in _CELLS:
            out.cell(tag, text is not None)
        elif tag in _BLOCKS:
            out.end_block(inside[-1])
            if tag == "table":
                out.table(text is not None)
            if text is None:
                inside.pop()
            else:
                inside.append(tag)
    out.end_block("")
    return out


def parse_html(source: str) -> Parsed:
    """A page as its visible text: offsets count in that text, not in the source. Title: <title>, else the first h1."""
    if _too_deep(source):
        text = _ANY_TAG.sub(" ", source)
        problem = f"Elements nested deeper than {MAX_DEPTH}; read without structure."
        return Parsed(text, None, tuple(paragraphs(text, "paragraph")), MIME, None, (problem,))
    tree = LexborHTMLParser(source)
    out = _Text() if tree.root is None else _collect(tree.root)
    text = "".join(out.parts)
    titles = [node.text() for node in (tree.css_first("title"), tree.css_first("h1")) if node is not None]
    title = next((heading for heading in map(heading_text, titles) if heading), None)
    links = neighbours(node.attributes.get("href") for node in tree.css("a[href]"))
    return Parsed(text, title, fill_gaps(text, out.blocks), MIME, None, links=links)
