"""Python. Names are looked up as Python does; receivers are known by imports, annotations and constructors."""

import builtins
import re
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

import tree_sitter_python
from tree_sitter import Language as Grammar
from tree_sitter import Node

from app.domain.code import CodeFacts, Definition, Import, Reference
from app.providers.code_graph.base import Language
from app.providers.code_graph.offsets import Offsets
from app.providers.code_graph.parsing import syntax_tree
from app.providers.code_graph.python_scopes import BUILTIN, Binding, Scope, Types, Variable, text_of

NAME = "python"

_GRAMMAR = Grammar(tree_sitter_python.language())
#: What is taken note of, as what. For those of a loop, what it binds.
_NOTED = {
    "function_definition": "definition",
    "class_definition": "definition",
    "lambda": "lambda",
    "call": "call",
    "import_statement": "import",
    "import_from_statement": "import",
    "assignment": "assignment",
    "named_expression": "walrus",
    "for_statement": "target",
    "for_in_clause": "target",
    "as_pattern": "as",
}

#: Of a file with more than this, only the first are kept.
MAX_REFERENCES = 20_000

_BUILTINS = frozenset(dir(builtins))
#: Attributes of the built-in types: called on something unknown, such a name says nothing.
_COMMON = frozenset(
    name
    for kind in (str, bytes, bytearray, list, dict, set, frozenset, tuple, int, float, slice, range, type(None), object)
    for name in dir(kind)
)
_STANDARD = sys.stdlib_module_names - {"test"} | {BUILTIN}
_DUNDER = re.compile(r"__\w+__$")


def extract(text: str) -> CodeFacts:
    """Definitions, calls and imports of a module; of broken code what the parser could make out."""
    data = text.encode("utf-8", "replace")
    return _Module(data, Offsets(text, data)).facts()


def is_test_file(name: str) -> bool:
    stem = PurePosixPath(name).stem
    return stem.startswith("test_") or stem.endswith("_test")


class _Module:
    """One pass over what is taken note of builds the scopes, a second resolves the calls."""

    def __init__(self, data: bytes, offsets: Offsets) -> None:
        self._offsets = offsets
        self._definitions: list[Definition] = []
        self._imports: list[Import] = []
        self._calls: list[tuple[Node, Scope]] = []
        self._module = Scope("", "module", None, None)
        self._types = Types(self._module)
        # Held as long as its nodes are.
        self._tree = syntax_tree(_GRAMMAR, data)
        nodes = [(node.start_byte, -node.end_byte, kind, node) for kind, node in _noted(self._tree.root_node)]
        nodes.sort(key=lambda item: item[:3])
        open_scopes: list[tuple[int, int, Scope]] = [(0, len(data) + 1, self._module)]
        for start, minus_end, kind, node in nodes:
            while open_scopes[-1][1] <= start:
                open_scopes.pop()
            # Decorators, defaults and annotations are read where the definition stands, not inside it.
            scope = next(inner for begins, _, inner in reversed(open_scopes) if begins <= start)
            if kind == "definition":
                self._define(node, scope, -minus_end, open_scopes)
            else:
                self._note(kind, node, scope)

    def _define(self, node: Node, scope: Scope, end: int, open_scopes: list[tuple[int, int, Scope]]) -> None:
        name, body = text_of(node.child_by_field_name("name")), node.child_by_field_name("body")
        if not name or body is None:
            return
        parent = node.parent
        decorated = parent is not None and parent.type == "decorated_definition"
        whole = parent if decorated and parent is not None else node
        is_class = node.type == "class_definition"
        kind = "class" if is_class else "method" if scope.kind == "class" else "function"
        qualified = f"{scope.qualified_name}.{name}" if scope.qualified_name else name
        outer = None if scope.definition is None else self._definitions[scope.definition]
        named_so = name.startswith("Test") if is_class else re.match(r"test(_|[A-Z]|$)", name) is not None
        is_test = named_so or (outer is not None and outer.is_test)
        inner = Scope(qualified, "class" if is_class else "function", scope, len(self._definitions), node)
        self._definitions.append(
            Definition(
                name, qualified, kind, self._offsets.at(whole.start_byte), self._offsets.at(node.end_byte), is_test
            )
        )
        scope.bind(name, Binding("definition", f":{qualified}"))
        self._types.define(f":{qualified}", inner)
        if not is_class:
            self._parameters(node, inner, _first_is(name, _head(whole)) if kind == "method" else None)
        open_scopes.append((body.start_byte, end, inner))

    def _parameters(self, node: Node, scope: Scope, first: str | None) -> None:
        """`first` is what the first parameter is bound to, where it is bound to something."""
        parameters = node.child_by_field_name("parameters")
        for item in parameters.named_children if parameters is not None else ():
            if item.type in {"comment", "keyword_separator", "positional_separator"}:
                continue
            named = item.child_by_field_name("name") or (item if item.type == "identifier" else item.named_child(0))
            if named is None:
                continue
            if first and item.type == "identifier" and scope.parent is not None:
                scope.bind(text_of(named), Binding(first, f":{scope.parent.qualified_name}"))
            elif named.type == "identifier":
                annotation = item.child_by_field_name("type")
                scope.bind(text_of(named), Binding("variable", variable=Variable(annotation, None, scope.outer)))
            else:
                self._unknown(named, scope)
            first = None

    def _note(self, kind: str, node: Node, scope: Scope) -> None:
        match kind:
            case "call":
                self._calls.append((node, scope))
            case "import":
                self._import(node, scope)
            case "assignment":
                self._assign(node, scope)
            case "walrus":
                self._variable(node.child_by_field_name("name"), None, node.child_by_field_name("value"), scope)
            case "as":
                alias = node.child_by_field_name("alias")
                target = alias.named_child(0) if alias is not None else node.named_child(node.named_child_count - 1)
                self._variable(target, None, node.named_child(0), scope)
            case "target":
                self._unknown(node, scope)
            case "lambda":
                parameters = node.child_by_field_name("parameters")
                if parameters is not None:
                    self._unknown(parameters, scope)

    def _assign(self, node: Node, scope: Scope) -> None:
        left, annotation = node.child_by_field_name("left"), node.child_by_field_name("type")
        if left is None:
            return
        value = node.child_by_field_name("right")
        if left.type == "attribute":
            owner, name = left.child_by_field_name("object"), text_of(left.child_by_field_name("attribute"))
            if owner is not None and owner.type == "identifier":
                self._types.attribute(text_of(owner), name, Variable(annotation, value, scope), scope)
        else:
            self._variable(left, annotation, value, scope)

    def _variable(self, target: Node | None, annotation: Node | None, value: Node | None, scope: Scope) -> None:
        if target is None:
            return
        if target.type == "identifier":
            scope.bind(text_of(target), Binding("variable", variable=Variable(annotation, value, scope)))
        elif target.type not in {"attribute", "subscript"}:
            self._unknown(target, scope)

    def _unknown(self, node: Node, scope: Scope) -> None:
        """Every name that a pattern binds."""
        waiting = [node]
        while waiting:
            item = waiting.pop()
            if item.type == "identifier":
                scope.bind(text_of(item), Binding("variable"))
            elif item.type in {"default_parameter", "typed_default_parameter"}:
                waiting += [named for named in [item.child_by_field_name("name")] if named is not None]
            elif item.type not in {"attribute", "subscript", "call", "type"}:
                waiting += item.named_children

    def _import(self, node: Node, scope: Scope) -> None:
        module_node = node.child_by_field_name("module_name")
        module = text_of(module_node).replace(" ", "")
        offset = self._offsets.at(node.start_byte)
        if any(child.type == "wildcard_import" for child in node.children):
            self._imports.append(Import("*", module, "*", offset))
        for item in node.children_by_field_name("name"):
            aliased = item.type == "aliased_import"
            name = text_of(item.child_by_field_name("name") if aliased else item)
            local = text_of(item.child_by_field_name("alias")) if aliased else name
            if not name or not local:
                continue
            if module_node is not None:
                path = f"{module}{name}" if module.endswith(".") else f"{module}.{name}"
                self._imports.append(Import(local, module, name, offset))
            elif aliased:
                path = name
                self._imports.append(Import(local, name, None, offset))
            else:
                local = path = name.split(".", 1)[0]
                self._imports.append(Import(local, name, None, offset))
            scope.bind(local, Binding("import", path))

    def facts(self) -> CodeFacts:
        references = (self._reference(node, scope) for node, scope in self._calls[:MAX_REFERENCES])
        return CodeFacts(
            NAME,
            tuple(self._definitions),
            tuple(reference for reference in references if reference is not None),
            tuple(self._imports),
        )

    def _reference(self, call: Node, scope: Scope) -> Reference | None:
        """None where the callee is known to lie outside the sources, or cannot be known at all."""
        function = call.child_by_field_name("function")
        if function is None:
            return None
        if function.type == "identifier":
            return self._plain(text_of(function), function, scope)
        if function.type == "attribute":
            return self._dotted(function, scope)
        return None

    def _plain(self, name: str, node: Node, scope: Scope) -> Reference | None:
        binding = scope.lookup(name)
        if binding is None:
            return None if name in _BUILTINS else self._made(name, None, None, node, scope)
        if binding.path is None or binding.kind not in {"definition", "import"}:
            return None
        return self._known(binding.path, None, node, scope)

    def _dotted(self, function: Node, scope: Scope) -> Reference | None:
        receiver, attribute = function.child_by_field_name("object"), function.child_by_field_name("attribute")
        name = text_of(attribute)
        if receiver is None or attribute is None or not name:
            return None
        owner = self._types.owner(receiver, scope)
        qualifier = _last_name(receiver)
        if owner is not None:
            path = self._types.member(owner, name)
            return None if path is None else self._known(path, qualifier, attribute, scope)
        if name in _COMMON or _DUNDER.match(name):
            return None
        return self._made(name, qualifier, None, attribute, scope)

    def _known(self, path: str, qualifier: str | None, node: Node, scope: Scope) -> Reference | None:
        if not path.startswith((":", ".")) and path.split(".", 1)[0] in _STANDARD:
            return None
        return self._made(re.split(r"[.:]", path)[-1], qualifier, path, node, scope)

    def _made(self, name: str, qualifier: str | None, target: str | None, node: Node, scope: Scope) -> Reference | None:
        return Reference(name, qualifier, target, scope.definition, self._offsets.at(node.start_byte)) if name else None


def _noted(root: Node) -> Iterator[tuple[str, Node]]:
    """Walked here and not asked of the grammar's library: its queries are quadratic in brackets that nothing closes."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        kind = _NOTED.get(node.type)
        if kind == "target":
            yield from ((kind, item) for item in node.children_by_field_name("left"))
        elif kind is not None:
            yield kind, node
        waiting += node.named_children


def _first_is(name: str, decorators: bytes) -> str | None:
    """A method is given an instance, a method of the class the class, which is as good as its name."""
    if b"@staticmethod" in decorators:
        return None
    of_class = b"@classmethod" in decorators or name in {"__new__", "__init_subclass__", "__class_getitem__"}
    return "definition" if of_class else "self"


def _head(node: Node) -> bytes:
    """The decorators of a definition, where it has some."""
    return b" ".join(child.text or b"" for child in node.children if child.type == "decorator")


def _last_name(node: Node) -> str:
    """The name by which a reader knows the receiver."""
    while True:
        match node.type:
            case "identifier":
                return text_of(node)
            case "attribute":
                return text_of(node.child_by_field_name("attribute"))
            case "call":
                inner = node.child_by_field_name("function")
            case "await" | "parenthesized_expression":
                inner = node.named_child(0)
            case _:
                return ""
        if inner is None:
            return ""
        node = inner


LANGUAGE = Language(NAME, frozenset({".py", ".pyi"}), is_test_file, extract)
