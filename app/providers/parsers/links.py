"""The links of a page to its neighbours, as written."""

import re
from collections.abc import Iterable, Sequence

from app.providers.parsers.blocks import Block

#: Of one page; an index of everything is no neighbour of everything.
MAX_LINKS = 200
MAX_TARGET = 1000

_INLINE = re.compile(rf"\]\([ \t]*<?([^\s()<>]{{1,{MAX_TARGET}}})>?[^()\n]{{0,300}}\)")
_REFERENCE = re.compile(rf"^ {{0,3}}\[[^\]\n]{{1,200}}\]:[ \t]*<?([^\s<>]{{1,{MAX_TARGET}}})", re.MULTILINE)
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#|\?")


def neighbours(targets: Iterable[str | None]) -> tuple[str, ...]:
    """Those that may name a document beside the page, each once: no other host, no place in the same page."""
    found = dict.fromkeys(
        target for target in targets if target and len(target) <= MAX_TARGET and not _ELSEWHERE.match(target)
    )
    return tuple(found)[:MAX_LINKS]


def markdown_links(text: str, blocks: Sequence[Block]) -> tuple[str, ...]:
    """Targets of inline links, images and link definitions, outside of code blocks."""
    if "](" not in text and "]:" not in text:
        return ()
    prose = "".join(text[block.start : block.end] for block in blocks if block.kind not in {"code", "front_matter"})
    return neighbours(match[1] for pattern in (_INLINE, _REFERENCE) for match in pattern.finditer(prose))
