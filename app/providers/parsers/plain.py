"""Text without markup that we read: its blocks are what blank lines separate."""

import re
from collections.abc import Iterator

from app.providers.parsers.blocks import Block, Parsed

#: A run of lines that each hold a visible character. Every line is looked at once, so the time is linear.
_BLANK_LINE = re.compile(r"(?:\r\n|\n|\r)(?:[^\S\r\n]*(?:\r\n|\n|\r))+")


def paragraphs(text: str, kind: str) -> Iterator[Block]:
    """The stretches between blank lines, without a heading path."""
    start = 0
    for gap in _BLANK_LINE.finditer(text):
        if text[start : gap.start()].strip():
            yield Block(start, gap.start(), (), kind)
        start = gap.end()
    if text[start:].strip():
        yield Block(start, len(text), (), kind)


def parse_plain(text: str, mime: str = "text/plain", language: str | None = None) -> Parsed:
    """Any text; `language` names the programming language where it is source code."""
    return Parsed(text, None, tuple(paragraphs(text, "code" if language else "paragraph")), mime, language)
