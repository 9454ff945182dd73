"""Which definition a call means, and which places of the code are worth showing beside a passage. Precision first: a
call that may mean two things means nothing."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from uuid import UUID

from app.domain.selection import Relation

#: Of each relation beside one passage, and of all beside one answer.
PER_RELATION = 2
MOST = 6

#: Files that stand for their folder.
_INDEX_FILES = {"__init__", "index", "mod", "__main__"}
_ROOTS = {(".rs", "lib"), (".rs", "main")}
_PYTHON = {".py", ".pyi"}
#: Languages whose packages are folders.
_PACKAGES = {".go", ".java"}
#: Hosts of Go modules that name an owner and a repository before a package.
_HOSTS = {"github", "gitlab", "bitbucket"}
#: Where others keep what many modules use.
_SHARED = {("golang", "org"), ("google", "golang"), ("k8s", "io")}
_WORDS = re.compile(r"[a-z]{2,}[a-z0-9]*_[a-z]{2,}")


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere in a document of a source: a definition, or with `qualified_name` None what runs when it is loaded.
    `path` is the document's name in its source."""

    document: UUID
    path: str
    name: str
    qualified_name: str | None
    kind: str
    start: int
    is_test: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call as its file tells it (`app.domain.code.Reference`), in the document `caller` is a place of."""

    name: str
    qualifier: str | None
    target: str | None
    caller: Place
    offset: int


class Names:
    """The definitions of one source, by their own names."""

    def __init__(self, definitions: Iterable[Place]) -> None:
        self._by_name: dict[str, list[Place]] = {}
        for item in definitions:
            self._by_name.setdefault(item.name, []).append(item)

    def __getitem__(self, name: str) -> Sequence[Place]:
        return self._by_name.get(name, ())


def resolve(call: Call, names: Names) -> Place | None:
    """The definition that the call means, of all in its source that have its name; None where that is not certain."""
    named = names[call.name]
    if call.target is None:
        return _by_name(call, named)
    if call.target.startswith(":"):
        wanted = call.target[1:]
        return _last(item for item in named if item.document == call.caller.document and item.qualified_name == wanted)
    return _by_path(_absolute(call.target, call.caller.path), call.caller.path, named)


def module_of(path: str) -> tuple[str, ...]:
    """The steps of the path by which a document is imported: folders, then its name unless it stands for them. Of Go
    and Java the folder alone: all its files are one package. A dot in a name is a step too, as in what is imported."""
    pure = PurePosixPath(path)
    folders = tuple(part for part in pure.parts[:-1] if part not in {"/", "."})
    if pure.suffix in _PYTHON:
        return folders if pure.stem in _INDEX_FILES else (*folders, pure.stem)
    alone = pure.suffix in _PACKAGES or pure.stem in _INDEX_FILES or (pure.suffix, pure.stem) in _ROOTS
    return tuple(step for part in (folders if alone else (*folders, pure.stem)) for step in part.split(".") if step)


def _absolute(target: str, path: str) -> tuple[str, ...]:
    """The steps of a path; a relative one begins at the folder of the document it stands in."""
    plain = target.lstrip(".")
    steps = tuple(plain.split("."))
    dots = len(target) - len(plain)
    if not dots:
        return steps
    folder = tuple(part for part in PurePosixPath(path).parts[:-1] if part not in {"/", "."})
    if PurePosixPath(path).suffix not in _PYTHON:
        folder = tuple(step for part in folder for step in part.split(".") if step)
    further = dots - 1
    return (*folder[: len(folder) - further], *steps) if further <= len(folder) else ()


def _by_path(target: Sequence[str], caller: str, named: Sequence[Place]) -> Place | None:
    """Whose module and qualified name are the path; else the only one whose module ends so (a source may begin above
    the folder that imports begin at); else the only one of that name below the package that the path begins with (a
    package hands on what its modules define); else, of a class that has no such method of its own, the only such method
    in its module, which it inherits. The paths of Go begin with where its module is published, which no folder is named
    after: there the folder is the end of the path."""
    target = tuple(target)
    if len(target) < 2:
        return None
    exact, ending, below, inherited = [], [], [], []
    for item in named:
        module, inner = module_of(item.path), tuple((item.qualified_name or "").split("."))
        whole = (*module, *inner)
        package = target[: -len(inner)] if target[-len(inner) :] == inner else ()
        if whole == target:
            exact.append(item)
        elif whole[-len(target) :] == target or _published(target, module, inner, item.path):
            ending.append(item)
        elif package and (module[: len(package)] == package or _contains(module, package)):
            below.append(item)
        elif item.kind == "method" and module == target[:-2]:
            inherited.append(item)
    for found in (exact, _nearest(ending, caller), below, inherited):
        if found:
            return _only(found)
    return None


def _published(target: Sequence[str], module: Sequence[str], inner: Sequence[str], path: str) -> bool:
    """Whether a path of Go ends with this folder and what stands in it, after enough to name a module."""
    whole = (*module, *inner)
    before = len(target) - len(whole)
    if not path.endswith(".go") or not module or before < 1 or tuple(target[before:]) != whole:
        return False
    if tuple(target[:2]) in _SHARED:
        return False
    return before >= (4 if target[0] in _HOSTS else 1)


def _contains(module: Sequence[str], package: Sequence[str]) -> bool:
    """Whether the package stands somewhere in the module's steps, and is more than one common word."""
    size = len(package)
    return size > 1 and any(tuple(module[at : at + size]) == tuple(package) for at in range(1, len(module) - size + 1))


def _nearest(found: Sequence[Place], caller: str) -> Sequence[Place]:
    """Of several projects in one source, the one that the caller is in."""
    if len({item.document for item in found}) < 2:
        return found
    top = PurePosixPath(caller).parts[:1]
    return [item for item in found if PurePosixPath(item.path).parts[:1] == top] or found


def _by_name(call: Call, named: Sequence[Place]) -> Place | None:
    """A plain call: the only one of its name, where a module defines it. A call on something: the method of the only
    class that has the something's name; else the only method of its name, where its class is called much like the
    something, or where the name is of several words and so hardly anybody else's."""
    if call.qualifier is None:
        only = _only(named)
        return only if only is not None and only.qualified_name == only.name else None
    methods = [item for item in named if item.kind == "method"]
    exact = [item for item in methods if _plain(_class_of(item)) == _plain(call.qualifier)]
    if exact:
        return _only(exact)
    only = _only(named)
    if only is None or only.kind != "method":
        return None
    return only if _named_after(call.qualifier, _class_of(only)) or _WORDS.search(call.name) else None


def _only(found: Sequence[Place]) -> Place | None:
    return _last(found) if len({(item.document, item.qualified_name) for item in found}) == 1 else None


def _class_of(method: Place) -> str:
    return (method.qualified_name or "").split(".")[-2]


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9]", "", word.lower())


def _named_after(qualifier: str, owner: str) -> bool:
    """`db_session` speaks of `Session`, `watch` of `Stopwatch`."""
    written, wanted = _plain(qualifier), _plain(owner)
    if len(written) < 3 or not wanted:
        return False
    return wanted.endswith(written) or wanted.startswith(written) or written.endswith(wanted)


def _last(found: Iterable[Place]) -> Place | None:
    """Of several definitions of one name the last stands."""
    return max(found, key=lambda item: item.start, default=None)


@dataclass(frozen=True, slots=True)
class Span:
    """A definition with the part of its document that it takes up."""

    place: Place
    end: int


def held(definitions: Iterable[Span], start: int, end: int) -> list[Place]:
    """What the text at [start, end) is about: the definitions that begin in it, and the function that it is further
    text of."""
    spans = list(definitions)
    begin = [span for span in spans if start <= span.place.start < end]
    around = [span for span in spans if span.place.start < start < span.end and span.place.kind != "class"]
    inner = max(around, key=lambda span: (span.place.start, -span.end), default=None)
    return [span.place for span in sorted([*begin, *([inner] if inner else [])], key=lambda span: span.place.start)]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A place that is related to a passage."""

    place: Place
    relation: Relation


def neighbours(
    about: Sequence[Place], inside: Sequence[Call], towards: Sequence[Call], names: Names
) -> list[Neighbour]:
    """Of a passage about these places, with these calls inside it and these calls that may mean one of them: what it
    calls in the order of its text, then what calls it (its own document first), then what tests it. A test that calls
    it tests it, and nothing is named twice."""
    own = {_key(place) for place in about}
    seen = set(own)
    found: dict[Relation, list[Place]] = {relation: [] for relation in Relation}
    here, called = {place.document for place in about}, {place.name for place in about}
    hopeful = [call for call in towards if call.name in called]
    for call in sorted(hopeful, key=lambda call: (call.caller.document not in here, call.caller.path, call.offset)):
        target = resolve(call, names)
        if target is not None and _key(target) in own and _key(call.caller) not in seen:
            seen.add(_key(call.caller))
            found[Relation.TESTED_BY if call.caller.is_test else Relation.CALLED_BY].append(call.caller)
    for call in sorted(inside, key=lambda call: call.offset):
        target = resolve(call, names)
        if target is not None and _key(target) not in seen:
            seen.add(_key(target))
            found[Relation.CALLS].append(target)
    return [Neighbour(place, relation) for relation, places in found.items() for place in places]


def _key(place: Place) -> tuple[UUID, str | None]:
    return place.document, place.qualified_name
