"""Source code of the languages whose graph is read: cut at functions, classes and methods."""

from collections.abc import Iterator, Sequence

from app.domain.code import Definition
from app.providers.code_graph.registry import extract
from app.providers.parsers.blocks import Block, Parsed, fill_gaps, heading_text
from app.providers.parsers.plain import paragraphs, parse_plain

#: How a line begins that belongs to the definition below it: comments and attributes of these languages.
_LEADING = ("//", "/*", "*", "#[", "#![", "@")


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _with_comments(text: str, start: int, floor: int) -> int:
    """The start of the lines above that lead in to what begins at `start`, not above `floor`."""
    begin = _line_start(text, start)
    if text[begin:start].strip():
        return start
    while begin > floor:
        above = _line_start(text, begin - 1)
        if above < floor or not text[above:begin].strip().startswith(_LEADING):
            break
        begin = above
    return max(begin, floor)


def _blocks(text: str, definitions: Sequence[Definition]) -> Iterator[Block]:
    """Functions whole, with what is defined in them; classes as a head and then their members."""
    waiting = sorted(definitions, key=lambda item: (item.start, -item.end))
    open_classes: list[tuple[int, tuple[str, ...]]] = [(len(text), ())]
    position = 0
    for number, item in enumerate(waiting):
        if item.start < position:
            # Inside of a function that was taken whole.
            continue
        while len(open_classes) > 1 and item.start >= open_classes[-1][0]:
            end, path = open_classes.pop()
            yield from _between(text, position, end, path)
            position = max(position, end)
        path = open_classes[-1][1]
        start = _with_comments(text, item.start, position)
        yield from _between(text, position, start, path)
        inner = (*path, heading_text(item.name))
        following = waiting[number + 1] if number + 1 < len(waiting) else None
        if item.kind == "class" and following is not None and following.start < item.end:
            end = _with_comments(text, following.start, max(item.start, start))
            open_classes.append((item.end, inner))
        else:
            end = item.end
            rest = text[end : _line_end(text, end)]
            end += len(rest) if not rest.strip(" \t\r\n;,)") else 0
        yield Block(start, end, inner, "class" if item.kind == "class" else "function")
        position = end
    while open_classes:
        end, path = open_classes.pop()
        yield from _between(text, position, end, path)
        position = max(position, end)


def _between(text: str, start: int, end: int, path: tuple[str, ...]) -> Iterator[Block]:
    for block in paragraphs(text[start:end], "code"):
        yield Block(start + block.start, start + block.end, path, "code")


def parse_source(name: str, text: str, mime: str, language: str) -> Parsed:
    """A file of code with its facts; of a language whose grammar is not known the stretches between blank lines."""
    facts = extract(name, text)
    if facts is None:
        return parse_plain(text, mime, language)
    return Parsed(text, None, fill_gaps(text, _blocks(text, facts.definitions), "code"), mime, language, code=facts)
