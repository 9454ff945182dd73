"""One walk over a file of any language: its scopes, then which path each call means. What a node of a grammar is, the
language's `Rules` say; a name that may mean two things means nothing."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

from tree_sitter import Language as Grammar
from tree_sitter import Node

from app.domain.code import CodeFacts, Definition, Import, Reference
from app.providers.code_graph.offsets import Offsets
from app.providers.code_graph.parsing import syntax_tree

#: Of a file with more than this, only the first are kept.
MAX_REFERENCES = 20_000
#: Steps from a value to its class; code that needs more is not worth it.
MAX_STEPS = 12


def text_of(node: Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Named:
    """An expression that is a plain name."""

    name: str


@dataclass(frozen=True, slots=True)
class This:
    """The instance that a method is called on."""


@dataclass(frozen=True, slots=True)
class Member:
    """`name` of what `inner` is."""

    inner: Node
    name: str


@dataclass(frozen=True, slots=True)
class Made:
    """A new instance of a type."""

    type: Node


@dataclass(frozen=True, slots=True)
class Called:
    """What a function gives."""

    function: Node


@dataclass(frozen=True, slots=True)
class Around:
    """An expression with the class of the one in it: parentheses, `await`, a reference."""

    inner: Node


Shape = Named | This | Member | Made | Called | Around


@dataclass(eq=False, slots=True)
class Bound:
    """What a name stands for: a path, or a value with its declared type, or else of the class of `value`."""

    path: str | None = None
    type: Node | None = None
    value: Node | None = None
    scope: "Scope | None" = None

    def same(self, other: "Bound") -> bool:
        return self.path is not None and self.path == other.path


@dataclass(eq=False, slots=True)
class Scope:
    """A file, class, function or block; `definition` is the number of the definition that it is the inside of."""

    qualified_name: str
    kind: str
    parent: "Scope | None"
    definition: int | None
    names: dict[str, Bound] = field(default_factory=dict)
    bases: list[Node] = field(default_factory=list)
    returns: Node | None = None

    def bind(self, name: str, bound: Bound) -> None:
        """Names that are bound to different things are unknown, but for a value with a type that is given again."""
        held = self.names.get(name)
        if held is not None and not held.same(bound):
            bound = held if held.type is not None and bound.path is None else Bound(scope=self)
        self.names[name] = bound


class Rules(ABC):
    """What one language brings to the walk."""

    name: str
    #: Before the path of what a file defines: `:` within the file, `.` within its folder.
    local = ":"
    #: Whether methods of a class may be defined in other files than the class.
    open_classes = False
    #: Whether the members of a class are seen by their names alone in its methods.
    implicit_members = False
    #: After the names of methods where a field may have the name of a method; `shape` puts it after those of callees.
    method_mark = ""
    #: Methods that values of the language's own types have: called on something unknown, such a name says nothing.
    common: frozenset[str] = frozenset()

    @abstractmethod
    def enter(self, walk: "Walk", node: Node, scope: Scope) -> Scope | None:
        """Take note of what the node defines, binds, imports or calls; the scope of its children where that is new."""

    @abstractmethod
    def shape(self, node: Node) -> Shape | None:
        """What an expression is; None: nothing that is followed."""

    @abstractmethod
    def steps(self, node: Node) -> list[str]:
        """The names that a type is written with, outermost first, without what it is wrapped in; empty: unknown."""

    def unbound(self, name: str, walk: "Walk") -> str | None:
        """The path of a name that the file does not bind; None: it lies outside or cannot be known."""
        return None

    def made_by(self, path: str) -> str | None:
        """The class that a function outside of the file gives, where its name tells."""
        return None


class Walk:
    """The facts of one file."""

    def __init__(self, rules: Rules, grammar: Grammar, text: str) -> None:
        data = text.encode("utf-8", "replace")
        self.rules = rules
        self.package = ""
        self.file = Scope("", "file", None, None)
        self._offsets = Offsets(text, data)
        self._definitions: list[Definition] = []
        self._imports: list[Import] = []
        self._calls: list[tuple[Node, Node, Scope]] = []
        self._classes: dict[str, Scope] = {}
        self._functions: dict[str, Scope] = {}
        tree = syntax_tree(grammar, data)
        waiting: list[tuple[Node, Scope]] = [(tree.root_node, self.file)]
        while waiting:
            node, scope = waiting.pop()
            inner = rules.enter(self, node, scope) or scope
            waiting.extend((child, inner) for child in reversed(node.named_children))

    # What the rules tell.

    def define(
        self,
        name: str,
        kind: str,
        whole: Node,
        scope: Scope,
        *,
        owner: str = "",
        is_test: bool = False,
        returns: Node | None = None,
        bind: bool = True,
    ) -> Scope:
        """A function, method or class in `scope`, or of the class `owner` of this file; the scope inside it."""
        outer = owner or scope.qualified_name
        qualified = f"{outer}.{name}" if outer else name
        tested = is_test or (scope.definition is not None and self._definitions[scope.definition].is_test)
        start, end = self._offsets.at(whole.start_byte), self._offsets.at(whole.end_byte)
        number = len(self._definitions)
        self._definitions.append(Definition(name, qualified, kind, start, end, tested))
        path = f"{self.rules.local}{qualified}"
        key = name + self.rules.method_mark if kind == "method" else name
        if bind and not owner:
            scope.bind(key, Bound(path))
        if kind == "class":
            return self.class_scope(qualified, scope, number)
        if owner:
            self.class_scope(owner, self.file, None).bind(key, Bound(path))
        inner = Scope(qualified, "function", self.class_scope(owner, scope, None) if owner else scope, number)
        inner.returns = returns
        self._functions[path] = inner
        return inner

    def class_scope(self, qualified: str, parent: Scope, definition: int | None) -> Scope:
        """The scope of the members of a class, of which a file may have several parts."""
        path = f"{self.rules.local}{qualified}"
        held = self._classes.get(path)
        if held is None:
            held = self._classes[path] = Scope(qualified, "class", parent, definition)
        if definition is not None:
            held.definition, held.parent = definition, parent
        return held

    def import_(self, local: str, module: str, name: str | None, path: str | None, node: Node) -> None:
        """`local` stands for `path`; None: for something that is none of the sources'."""
        self._imports.append(Import(self._plain(local), module, name, self._offsets.at(node.start_byte)))
        self.file.bind(local, Bound(path))

    def declare(
        self, name: str, scope: Scope, type: Node | None = None, value: Node | None = None, seen: Scope | None = None
    ) -> None:
        """A value in `scope`, whose type or value is written in `seen`, by default there too."""
        if name:
            scope.bind(name, Bound(None, type, value, seen or scope))

    def call(self, function: Node, scope: Scope, at: Node | None = None) -> None:
        if len(self._calls) < MAX_REFERENCES:
            self._calls.append((function, at or function, scope))

    # What follows from it.

    def facts(self) -> CodeFacts:
        made = (self._reference(function, at, scope) for function, at, scope in self._calls)
        references = tuple(reference for reference in made if reference is not None)
        return CodeFacts(self.rules.name, tuple(self._definitions), references, tuple(self._imports))

    def lookup(self, name: str, scope: Scope) -> Bound | None:
        """The innermost binding; members of classes count only where the language sees them so."""
        inside: Scope | None = scope
        while inside is not None:
            if name in inside.names and (inside.kind != "class" or self.rules.implicit_members):
                return inside.names[name]
            inside = inside.parent
        return None

    def class_around(self, scope: Scope) -> str | None:
        inside: Scope | None = scope
        while inside is not None:
            if inside.kind == "class":
                return f"{self.rules.local}{inside.qualified_name}"
            inside = inside.parent
        return None

    def type_path(self, node: Node | None, scope: Scope) -> str | None:
        steps = [] if node is None else self.rules.steps(node)
        if not steps:
            return None
        if steps[0] == "Self":
            path = self.class_around(scope)
        else:
            bound = self.lookup(steps[0], scope)
            path = bound.path if bound is not None else self.rules.unbound(steps[0], self)
        return None if path is None else ".".join([path, *steps[1:]])

    def member(self, owner: str, name: str, steps: int = MAX_STEPS) -> str | None:
        """The path of a member, inherited ones too; None where a class of this file has none."""
        scope = self._classes.get(owner)
        if scope is None:
            return f"{owner}.{self._plain(name)}"
        held = scope.names.get(name)
        if held is not None:
            return held.path
        if steps:
            for base in scope.bases:
                path = self.type_path(base, scope.parent or scope)
                found = None if path is None or path == owner else self.member(path, name, steps - 1)
                if found is not None:
                    return found
        return f"{owner}.{self._plain(name)}" if self.rules.open_classes else None

    def _plain(self, name: str) -> str:
        mark = self.rules.method_mark
        return name.removesuffix(mark) if mark else name

    def value_path(self, node: Node, scope: Scope, steps: int = MAX_STEPS) -> str | None:
        """The path of the module, class or function that an expression names."""
        match self.rules.shape(node):
            case Named("Self"):
                return self.class_around(scope)
            case Named(name):
                bound = self.lookup(name, scope)
                return bound.path if bound is not None else self.rules.unbound(name, self)
            case Member(inner, name) if steps:
                owner = self.value_path(inner, scope, steps - 1)
                return None if owner is None else self.member(owner, name)
        return None

    def class_of(self, node: Node | None, scope: Scope, steps: int = MAX_STEPS) -> str | None:
        """The path of the class that an expression's value is an instance of."""
        if node is None or not steps:
            return None
        match self.rules.shape(node):
            case This():
                return self.class_around(scope)
            case Named(name):
                return self._class_of_bound(self.lookup(name, scope), steps)
            case Member(inner, name):
                owner = self.class_of(inner, scope, steps - 1)
                return None if owner is None else self._class_of_bound(self._field(owner, name), steps)
            case Made(type):
                return self.type_path(type, scope)
            case Called(function):
                return self._given(function, scope, steps)
            case Around(inner):
                return self.class_of(inner, scope, steps - 1)
        return None

    def _class_of_bound(self, bound: Bound | None, steps: int) -> str | None:
        if bound is None or bound.path is not None or bound.scope is None:
            return None
        if bound.type is not None:
            return self.type_path(bound.type, bound.scope)
        return self.class_of(bound.value, bound.scope, steps - 1)

    def _field(self, owner: str, name: str) -> Bound | None:
        scope = self._classes.get(owner)
        return None if scope is None else scope.names.get(name)

    def _given(self, function: Node, scope: Scope, steps: int) -> str | None:
        path = self._meant(function, scope, steps)
        if path is None:
            return None
        if path in self._classes:
            return path
        held = self._functions.get(path)
        if held is None:
            return self.rules.made_by(path)
        return self.type_path(held.returns, held)

    def _meant(self, function: Node, scope: Scope, steps: int = MAX_STEPS) -> str | None:
        """The path of what is called."""
        path = self.value_path(function, scope)
        shape = self.rules.shape(function)
        if path is None and isinstance(shape, Named) and self.rules.implicit_members:
            around = self.class_around(scope) if self.lookup(shape.name, scope) is None else None
            path = None if around is None else self.member(around, shape.name)
        if path is None and isinstance(shape, Member) and steps:
            owner = self.class_of(shape.inner, scope, steps - 1)
            path = None if owner is None else self.member(owner, shape.name)
        return path

    def _reference(self, function: Node, at: Node, scope: Scope) -> Reference | None:
        """None where the callee is known to lie outside the sources, or cannot be known at all."""
        shape = self.rules.shape(function)
        if isinstance(shape, Around):
            return self._reference(shape.inner, at, scope)
        if not isinstance(shape, Named | Member):
            return None
        path = self._meant(function, scope)
        qualifier = self._last_name(shape.inner) if isinstance(shape, Member) else None
        offset = self._offsets.at(at.start_byte)
        if path is not None:
            name = path.lstrip(".:").rsplit(".", 1)[-1]
            return Reference(name, qualifier, path, scope_definition(scope), offset) if name else None
        if isinstance(shape, Named) or self._is_known(shape.inner, scope):
            return None
        name = self._plain(shape.name)
        known = not qualifier or name in self.rules.common
        return None if known else Reference(name, qualifier, None, scope_definition(scope), offset)

    def _is_known(self, node: Node, scope: Scope) -> bool:
        """Whether the receiver is something whose members are known not to be the sources'."""
        match self.rules.shape(node):
            case Named(name):
                bound = self.lookup(name, scope)
                if bound is not None and bound.path is None and (bound.scope is None or bound.type is not None):
                    return True
        return self.class_of(node, scope) is not None

    def _last_name(self, node: Node) -> str:
        """The name by which a reader knows the receiver."""
        for _ in range(MAX_STEPS):
            match self.rules.shape(node):
                case Named(name) | Member(_, name):
                    return self._plain(name)
                case Called(inner) | Around(inner):
                    node = inner
                case _:
                    return ""
        return ""


def scope_definition(scope: Scope) -> int | None:
    """The innermost definition around a place."""
    inside: Scope | None = scope
    while inside is not None:
        if inside.definition is not None:
            return inside.definition
        inside = inside.parent
    return None


def first_child(node: Node, kinds: Iterable[str]) -> Node | None:
    wanted = frozenset(kinds)
    return next((child for child in node.named_children if child.type in wanted), None)
