"""What one source file says of itself: what it defines, what it calls and from where, what it imports.

All of it follows from the text alone. A path is dotted: `a.b.name` as imports write it, `.b.name` relative to the
file's package (one more dot for each package further out), `:Class.name` within the file.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, method or class at [start, end) in code points, decorators included. `is_test`: named as a test is;
    whether it is one depends on the file's name too."""

    name: str
    qualified_name: str
    kind: str
    start: int
    end: int
    is_test: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """A call. `name` is the callee's own name, whatever the file calls it. `target` is the callee's path where imports,
    the file's own names and its annotations tell it. `qualifier` is the name before the last dot, None for a plain
    name. `within` numbers the definition that it stands in, None at module level."""

    name: str
    qualifier: str | None
    target: str | None
    within: int | None
    offset: int


@dataclass(frozen=True, slots=True)
class Import:
    """`local` stands for `name` of `module`, or for the module itself. `*` for all of a module's names."""

    local: str
    module: str
    name: str | None
    offset: int


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """The facts of one content, in the order of the text."""

    language: str
    definitions: tuple[Definition, ...] = ()
    references: tuple[Reference, ...] = ()
    imports: tuple[Import, ...] = ()


@dataclass(frozen=True, slots=True)
class ContentGraph:
    """What one content points at: `reader` says which language or markup it was read as; `links` are as written."""

    reader: str
    code: CodeFacts | None = None
    links: tuple[str, ...] = ()
