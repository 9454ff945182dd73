"""JavaScript and TypeScript, with and without JSX."""

import re
from functools import partial
from pathlib import PurePosixPath

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Language as Grammar
from tree_sitter import Node

from app.domain.code import CodeFacts
from app.providers.code_graph.base import Language
from app.providers.code_graph.walk import Around, Called, Made, Member, Named, Rules, Scope, Shape, This, Walk, text_of

_JAVASCRIPT = Grammar(tree_sitter_javascript.language())
_TYPESCRIPT = Grammar(tree_sitter_typescript.language_typescript())
_TSX = Grammar(tree_sitter_typescript.language_tsx())

_CLASSES = frozenset(
    {"class_declaration", "abstract_class_declaration", "class", "interface_declaration", "enum_declaration"}
)
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_DECLARED = frozenset({"function_declaration", "generator_function_declaration"})
_CASES = frozenset({"it", "test", "specify", "bench"})
_SUFFIX = re.compile(r"\.(d\.ts|[cm]?[jt]sx?)$")
_TEST_FILE = re.compile(r"\.(test|spec)$|[-_]test$")


class _Script(Rules):
    def __init__(self, name: str) -> None:
        self.name = name

    def enter(self, walk: Walk, node: Node, scope: Scope) -> Scope | None:
        if node.type in _CLASSES:
            return self._class(walk, node, scope)
        if node.type in _DECLARED:
            whole = node.parent if node.parent is not None and node.parent.type == "export_statement" else node
            name = text_of(node.child_by_field_name("name"))
            return self._inside(walk, node, walk.define(name, "function", whole, scope, returns=_returned(node)))
        if node.type in _FUNCTIONS:
            return self._function(walk, node, scope)
        match node.type:
            case "method_definition":
                return self._method(walk, node, scope)
            case "public_field_definition" | "field_definition":
                name = text_of(node.child_by_field_name("name") or node.child_by_field_name("property"))
                value = node.child_by_field_name("value")
                if scope.kind == "class" and (value is None or value.type not in _FUNCTIONS):
                    walk.declare(name, scope, _annotated(node), value)
            case "import_statement":
                _import(walk, node)
            case "variable_declarator":
                self._variable(walk, node, scope)
            case "for_in_statement":
                inner = Scope(scope.qualified_name, "block", scope, None)
                target = node.child_by_field_name("left")
                if (
                    target is not None
                    and target.type == "identifier"
                    and text_of(node.child_by_field_name("operator")) == "of"
                ):
                    walk.declare(text_of(target), inner, None, node.child_by_field_name("right"), scope)
                elif target is not None:
                    _unknown(walk, target, inner)
                return inner
            case "statement_block" | "for_statement" | "catch_clause" | "switch_body":
                return Scope(scope.qualified_name, "block", scope, None)
            case "call_expression":
                return self._call(walk, node, scope)
            case "assignment_expression":
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                if left is not None and left.type == "member_expression" and right is not None:
                    self._field(walk, left, right, scope)
        return None

    def _class(self, walk: Walk, node: Node, scope: Scope) -> Scope | None:
        name = text_of(node.child_by_field_name("name"))
        if not name:
            return Scope(scope.qualified_name, "block", scope, None)
        whole = node.parent if node.parent is not None and node.parent.type == "export_statement" else node
        inner = walk.define(name, "class", whole, scope)
        heritage = next((child for child in node.named_children if child.type == "class_heritage"), None)
        for item in heritage.named_children if heritage is not None else ():
            base = item.child_by_field_name("value") if item.type == "extends_clause" else item
            if base is not None and item.type != "implements_clause":
                inner.bases.append(base)
        return inner

    def _method(self, walk: Walk, node: Node, scope: Scope) -> Scope:
        name = text_of(node.child_by_field_name("name"))
        if scope.kind != "class":
            return self._inside(walk, node, Scope(scope.qualified_name, "function", scope, None))
        inner = walk.define(name, "method", node, scope, returns=_returned(node), bind=name != "constructor")
        parameters = node.child_by_field_name("parameters")
        for item in parameters.named_children if parameters is not None and name == "constructor" else ():
            # A parameter with a modifier is a field too.
            if any(child.type in {"accessibility_modifier", "readonly"} for child in item.children):
                walk.declare(text_of(item.child_by_field_name("pattern")), scope, _annotated(item))
        return self._inside(walk, node, inner)

    def _function(self, walk: Walk, node: Node, scope: Scope) -> Scope:
        parent = node.parent
        if parent is not None and parent.type == "variable_declarator" and scope.kind == "file":
            name, whole = text_of(parent.child_by_field_name("name")), parent.parent or parent
            if whole.parent is not None and whole.parent.type == "export_statement":
                whole = whole.parent
            if whole.named_child_count > 1 and whole.type != "export_statement":
                whole = parent
            return self._inside(walk, node, walk.define(name, "function", whole, scope, returns=_returned(node)))
        if (
            parent is not None
            and parent.type in {"public_field_definition", "field_definition"}
            and scope.kind == "class"
        ):
            name = text_of(parent.child_by_field_name("name") or parent.child_by_field_name("property"))
            return self._inside(walk, node, walk.define(name, "method", parent, scope, returns=_returned(node)))
        if parent is not None and parent.type == "assignment_expression" and scope.kind == "file":
            defined = _exported(text_of(parent.child_by_field_name("left")))
            if defined is not None:
                owner, name = defined
                kind = "method" if owner else "function"
                return self._inside(walk, node, walk.define(name, kind, parent, scope, owner=owner))
        return self._inside(walk, node, Scope(scope.qualified_name, "function", scope, None))

    def _inside(self, walk: Walk, node: Node, inner: Scope) -> Scope:
        single = node.child_by_field_name("parameter")
        if single is not None:
            walk.declare(text_of(single), inner)
        parameters = node.child_by_field_name("parameters")
        for item in parameters.named_children if parameters is not None else ():
            pattern = item.child_by_field_name("pattern") or item
            if pattern.type == "identifier":
                walk.declare(text_of(pattern), inner, _annotated(item))
            else:
                _unknown(walk, pattern, inner)
        return inner

    def _variable(self, walk: Walk, node: Node, scope: Scope) -> None:
        target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if target is None:
            return
        module = _required(value)
        if module is not None:
            _bind_required(walk, target, module, node)
        elif target.type == "identifier":
            if value is None or value.type not in _FUNCTIONS or scope.kind != "file":
                walk.declare(text_of(target), scope, _annotated(node), value)
        else:
            _unknown(walk, target, scope)

    def _field(self, walk: Walk, left: Node, right: Node, scope: Scope) -> None:
        owner, path = left.child_by_field_name("object"), walk.class_around(scope)
        name = text_of(left.child_by_field_name("property"))
        if owner is None or owner.type != "this" or path is None:
            return
        members = walk.class_scope(path.lstrip(":"), walk.file, None)
        if name not in members.names:
            walk.declare(name, members, None, right, scope)

    def _call(self, walk: Walk, node: Node, scope: Scope) -> Scope | None:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None:
            return None
        walk.call(function, scope)
        base = text_of(function).split(".", 1)[0].split("(", 1)[0]
        if base in _CASES and walk.lookup(base, scope) is None and arguments is not None and arguments.named_children:
            titled = arguments.named_children[0]
            if titled.type in {"string", "template_string"} and len(arguments.named_children) > 1:
                name = " ".join(text_of(titled)[1:-1].split())[:120] or base
                return walk.define(name, "function", node, scope, is_test=True, bind=False)
        return None

    def shape(self, node: Node) -> Shape | None:
        match node.type:
            case "identifier" | "type_identifier" | "property_identifier":
                return Named(text_of(node))
            case "this":
                return This()
            case "member_expression":
                inner = node.child_by_field_name("object")
                return None if inner is None else Member(inner, text_of(node.child_by_field_name("property")))
            case "new_expression":
                made = node.child_by_field_name("constructor")
                return None if made is None else Made(made)
            case "call_expression":
                function = node.child_by_field_name("function")
                return None if function is None else Called(function)
            case "await_expression" | "parenthesized_expression" | "non_null_expression":
                inner = node.named_child(0)
                return None if inner is None else Around(inner)
            case "as_expression" | "satisfies_expression":
                # `as const` names no type.
                made = node.named_child(1) if node.named_child_count > 1 else None
                return None if made is None else Made(made)
        return None

    def steps(self, node: Node) -> list[str]:
        match node.type:
            case "type_identifier" | "identifier":
                return [text_of(node)]
            case "nested_type_identifier" | "member_expression":
                return text_of(node).replace(" ", "").split(".")
            case "type_annotation" | "parenthesized_type":
                inner = node.named_child(0)
                return [] if inner is None else self.steps(inner)
            case "array_type":
                # What is called on the items of a list; on the list itself nothing of their class is.
                return self.steps(node.named_children[0]) if node.named_children else []
            case "generic_type":
                base, arguments = node.child_by_field_name("name"), node.child_by_field_name("type_arguments")
                if (
                    text_of(base) in {"Promise", "Readonly", "Partial", "Array", "ReadonlyArray"}
                    and arguments is not None
                    and arguments.named_children
                ):
                    return self.steps(arguments.named_children[0])
                return [] if base is None else self.steps(base)
            case "union_type":
                sides = [child for child in node.named_children if text_of(child) not in {"null", "undefined"}]
                return self.steps(sides[0]) if len(sides) == 1 else []
        return []


def _annotated(node: Node) -> Node | None:
    return node.child_by_field_name("type")


def _returned(node: Node) -> Node | None:
    return node.child_by_field_name("return_type")


def _unknown(walk: Walk, node: Node, scope: Scope) -> None:
    """Every name that a pattern binds."""
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if item.type in {"identifier", "shorthand_property_identifier_pattern"}:
            walk.declare(text_of(item), scope)
        elif item.type in {"assignment_pattern", "object_assignment_pattern"}:
            waiting += [left for left in [item.child_by_field_name("left")] if left is not None]
        elif item.type == "pair_pattern":
            waiting += [value for value in [item.child_by_field_name("value")] if value is not None]
        elif item.type not in {"type_annotation", "member_expression", "subscript_expression"}:
            waiting += item.named_children


def _exported(left: str) -> tuple[str, str] | None:
    """(class, name) of what `exports.name = …` or `Class.prototype.name = …` defines."""
    if match := re.fullmatch(r"(?:module\.)?exports\.(\w+)", left):
        return "", match[1]
    if match := re.fullmatch(r"(\w+)\.prototype\.(\w+)", left):
        return match[1], match[2]
    return None


def _module_path(module: str) -> str | None:
    """The dotted path of a module that may be one of the sources'; None for a package."""
    plain = _SUFFIX.sub("", module)
    if plain.startswith("."):
        steps = plain.split("/")
        dots = 1 + steps.count("..")
        rest = [step for step in steps if step not in {"", ".", ".."}]
        return "." * dots + ".".join(rest)
    for start in ("@/", "~/", "src/"):
        if plain.startswith(start):
            return plain.removeprefix(start).replace("/", ".")
    return None


def _join(module: str | None, name: str) -> str | None:
    if module is None:
        return None
    return f"{module}{name}" if module.endswith(".") else f"{module}.{name}"


def _import(walk: Walk, node: Node) -> None:
    module = text_of(node.child_by_field_name("source")).strip("\"'")
    path = _module_path(module)
    clause = next((child for child in node.named_children if child.type == "import_clause"), None)
    for item in clause.named_children if clause is not None else ():
        match item.type:
            case "identifier":
                # A default export mostly has the name that it is imported by.
                walk.import_(text_of(item), module, "default", _join(path, text_of(item)), node)
            case "namespace_import":
                walk.import_(text_of(item.named_child(0)), module, None, path, node)
            case "named_imports":
                for part in item.named_children:
                    name, alias = text_of(part.child_by_field_name("name")), text_of(part.child_by_field_name("alias"))
                    if name:
                        walk.import_(alias or name, module, name, _join(path, name), node)


def _required(value: Node | None) -> str | None:
    if value is None or value.type != "call_expression" or text_of(value.child_by_field_name("function")) != "require":
        return None
    arguments = value.child_by_field_name("arguments")
    first = arguments.named_child(0) if arguments is not None else None
    return text_of(first).strip("\"'`") if first is not None and first.type == "string" else None


def _bind_required(walk: Walk, target: Node, module: str, node: Node) -> None:
    path = _module_path(module)
    if target.type == "identifier":
        walk.import_(text_of(target), module, None, path, node)
        return
    for item in target.named_children:
        name = text_of(item.child_by_field_name("key") if item.type == "pair_pattern" else item)
        local = text_of(item.child_by_field_name("value")) if item.type == "pair_pattern" else name
        walk.import_(local, module, name, _join(path, name), node)


def _is_test_file(name: str) -> bool:
    path = PurePosixPath(name)
    return _TEST_FILE.search(path.stem) is not None or not {"__tests__", "test", "tests"}.isdisjoint(path.parts[:-1])


def _extract(name: str, grammar: Grammar, text: str) -> CodeFacts:
    """Definitions, calls and imports of a file; of broken code what the parser could make out."""
    return Walk(_Script(name), grammar, text).facts()


LANGUAGES = tuple(
    Language(name, suffixes, _is_test_file, partial(_extract, name, grammar))
    for name, suffixes, grammar in (
        ("javascript", frozenset({".js", ".jsx", ".mjs", ".cjs"}), _JAVASCRIPT),
        ("typescript", frozenset({".ts", ".mts", ".cts"}), _TYPESCRIPT),
        ("typescript", frozenset({".tsx"}), _TSX),
    )
)
