"""Python source: cut at imports, functions, classes and methods."""

import ast
import threading
import warnings
from collections.abc import Iterator, Sequence

from app.providers.parsers.blocks import Block, Parsed, fill_gaps, line_starts
from app.providers.parsers.plain import parse_plain

MIME = "text/x-python"

#: The depth of a tree that is being built is counted once an interpreter (python/cpython, issue 106905): two threads at
#: it would end each other with a SystemError. What warnings are shown is the interpreter's, too.
_PARSING = threading.Lock()

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

#: (first line from 0, line after the last, heading path, kind)
_Span = tuple[int, int, tuple[str, ...], str]


def _first_line(statement: ast.stmt) -> int:
    decorators = statement.decorator_list if isinstance(statement, _Definition) else []
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)]) - 1


def _spans(body: Sequence[ast.stmt], path: tuple[str, ...]) -> Iterator[_Span]:
    """Statements in a row share a block; each function has its own; a class has a head, then its members."""
    for index, statement in enumerate(body):
        first, end = _first_line(statement), statement.end_lineno or statement.lineno
        if isinstance(statement, ast.ClassDef):
            inner = (*path, statement.name)
            yield first, max(first + 1, min(_first_line(statement.body[0]), end)), inner, "class"
            yield from _spans(statement.body, inner)
        elif isinstance(statement, _Definition):
            yield first, end, (*path, statement.name), "function"
        elif index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            yield first, end, path, "docstring"
        else:
            yield first, end, path, "import" if isinstance(statement, ast.Import | ast.ImportFrom) else "code"


def _merged(spans: Iterator[_Span]) -> Iterator[_Span]:
    last: _Span | None = None
    for span in spans:
        if last and last[2:] == span[2:] and span[3] in ("import", "code"):
            last = (last[0], span[1], *span[2:])
            continue
        if last:
            yield last
        last = span
    if last:
        yield last


def parse_python(text: str) -> Parsed:
    """A module; text that is not valid Python is read as plain text of that language, with the problem named.

    Comments and blank lines before a statement belong to it.
    """
    try:
        with _PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        plain = parse_plain(text, MIME, "python")
        return Parsed(text, None, plain.blocks, MIME, "python", ("Not valid Python; read as plain text.",))
    lines = line_starts(text)
    blocks: list[Block] = []
    position = 0
    for first, end, path, kind in _merged(_spans(module.body, ())):
        until = lines[min(end, len(lines) - 1)]
        start = lines[min(first, len(lines) - 1)]
        if until > position:
            # What stands between two statements (comments) leads in to the second.
            blocks.append(Block(min(position, start), until, path, kind))
            position = until
    return Parsed(text, None, fill_gaps(text, blocks), MIME, "python")
