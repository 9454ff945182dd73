"""The one form that every parser produces: the text and the blocks it is made of."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from app.domain.code import CodeFacts

#: The longest heading kept in a heading path, in characters; headings of people are far shorter.
MAX_HEADING = 200

_LINE_END = re.compile(r"\r\n|\n|\r")


class Unsupported(Exception):
    """The bytes are not a text this system reads; the message is one sentence for a report."""


#: A message or an issue's entry: it is cited alone, so it shares no slice with its neighbours.
MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of structure at [start, end) in code points of `Parsed.text`, under its headings, outermost first.

    `page`, `row_start` and `row_end` (both inclusive) count from 1. `header` is the place in the text of what a slice
    that begins inside the block, or after it in the same table, cannot be understood without: a table's head.
    """

    start: int
    end: int
    heading_path: tuple[str, ...]
    kind: str
    page: int | None = None
    sheet: str | None = None
    table: str | None = None
    row_start: int | None = None
    row_end: int | None = None
    header: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document's text, its blocks in order (disjoint; together they hold every non-blank character) and its origin.

    `language` is a programming language or None; `problems` are sentences about what was repaired; `links` are the
    targets of links to other documents nearby, as written; `code` is what its parser read of code.
    """

    text: str
    title: str | None
    blocks: tuple[Block, ...]
    mime: str
    language: str | None
    problems: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    code: CodeFacts | None = None


def line_starts(text: str) -> list[int]:
    """The offset of each line, then the text's length; a line ends at LF, CR LF or CR as in CommonMark and Python."""
    starts = [0]
    starts.extend(match.end() for match in _LINE_END.finditer(text))
    if starts[-1] != len(text):
        starts.append(len(text))
    return starts


def heading_text(text: str) -> str:
    """A heading as one line of at most `MAX_HEADING` characters."""
    return " ".join(text.split())[:MAX_HEADING].rstrip()


def fill_gaps(text: str, blocks: Iterable[Block], kind: str = "paragraph") -> tuple[Block, ...]:
    """`blocks` in order plus a block, under the headings before it, for each stretch of text that none of them holds.

    Blocks that are blank are dropped and those that reach into their forerunner are cut.
    """
    whole: list[Block] = []
    position = 0
    path: tuple[str, ...] = ()

    def gap(until: int) -> None:
        if text[position:until].strip():
            whole.append(Block(position, until, path, kind))

    for block in blocks:
        start = max(block.start, position)
        if start >= block.end or not text[start : block.end].strip():
            continue
        gap(start)
        whole.append(block if start == block.start else replace(block, start=start))
        position, path = block.end, block.heading_path
    gap(len(text))
    return tuple(whole)
