"""Go. A package is a folder: what one of its files defines, all see by its plain name."""

import re

import tree_sitter_go
from tree_sitter import Language as Grammar
from tree_sitter import Node

from app.domain.code import CodeFacts
from app.providers.code_graph.base import Language
from app.providers.code_graph.walk import Around, Called, Made, Member, Named, Rules, Scope, Shape, Walk, text_of

NAME = "go"

_GRAMMAR = Grammar(tree_sitter_go.language())
_BUILTINS = frozenset(
    {
        "append",
        "cap",
        "clear",
        "close",
        "complex",
        "copy",
        "delete",
        "imag",
        "len",
        "make",
        "max",
        "min",
        "new",
        "panic",
    }
    | {"print", "println", "real", "recover", "any", "bool", "byte", "comparable", "complex64", "complex128", "error"}
    | {"float32", "float64", "int", "int8", "int16", "int32", "int64", "rune", "string", "uint", "uint8", "uint16"}
    | {"uint32", "uint64", "uintptr", "nil", "true", "false", "iota"}
)
_TEST = re.compile(r"(Test|Benchmark|Fuzz|Example)([^a-z].*)?$")
_VERSION = re.compile(r"v\d+$")
#: Whose first step has no dot is the standard library's, or a module that is nowhere published.
_STANDARD = frozenset(
    """
    archive bufio builtin bytes cmp compress container context crypto database debug embed encoding errors expvar
    flag fmt go hash html image index io iter log maps math mime net os path plugin reflect regexp runtime slices
    sort strconv strings structs sync syscall testing text time unicode unique unsafe weak
    """.split()  # noqa: SIM905
)


class _Go(Rules):
    name = NAME
    local = "."
    open_classes = True

    def enter(self, walk: Walk, node: Node, scope: Scope) -> Scope | None:
        match node.type:
            case "function_declaration":
                name = text_of(node.child_by_field_name("name"))
                inner = walk.define(
                    name, "function", node, scope, is_test=bool(_TEST.match(name)),
                    returns=_first_result(node), bind=name not in {"init", "_"},
                )  # fmt: skip
                _parameters(walk, node, inner)
                return inner
            case "method_declaration":
                receiver = node.child_by_field_name("receiver")
                declared = receiver.named_child(0) if receiver is not None else None
                owner = [] if declared is None else self.steps(declared)
                if not owner:
                    return None
                name = text_of(node.child_by_field_name("name"))
                inner = walk.define(name, "method", node, walk.file, owner=owner[0], returns=_first_result(node))
                if declared is not None:
                    walk.declare(text_of(declared.child_by_field_name("name")), inner, declared)
                _parameters(walk, node, inner)
                return inner
            case "func_literal":
                inner = Scope(scope.qualified_name, "function", scope, None)
                _parameters(walk, node, inner)
                return inner
            case "type_spec":
                return self._type(walk, node, scope)
            case "import_spec":
                _import(walk, node)
            case "var_spec" | "const_spec":
                values = node.child_by_field_name("value")
                names = node.children_by_field_name("name")
                value = values.named_child(0) if values is not None and len(names) == 1 else None
                for name_node in names:
                    walk.declare(text_of(name_node), scope, node.child_by_field_name("type"), value)
            case "short_var_declaration" | "range_clause":
                _short(walk, node, scope)
            case "block":
                return Scope(scope.qualified_name, "block", scope, None)
            case "call_expression":
                function = node.child_by_field_name("function")
                if function is not None:
                    walk.call(function, scope)
        return None

    def _type(self, walk: Walk, node: Node, scope: Scope) -> Scope | None:
        name, body = text_of(node.child_by_field_name("name")), node.child_by_field_name("type")
        if body is None or scope is not walk.file:
            return None
        parent = node.parent
        alone = parent is not None and parent.type == "type_declaration" and parent.named_child_count == 1
        inner = walk.define(name, "class", parent if alone and parent is not None else node, scope)
        for item in body.named_children[0].named_children if body.type == "struct_type" and body.named_children else ():
            if item.type == "field_declaration":
                names = item.children_by_field_name("name")
                type_node = item.child_by_field_name("type")
                for field_name in names:
                    walk.declare(text_of(field_name), inner, type_node)
                if not names and type_node is not None:
                    inner.bases.append(type_node)
                    steps = self.steps(type_node)
                    walk.declare(steps[-1] if steps else "", inner, type_node)
        return inner

    def shape(self, node: Node) -> Shape | None:
        match node.type:
            case "identifier" | "type_identifier" | "field_identifier" | "package_identifier":
                return Named(text_of(node))
            case "selector_expression":
                inner = node.child_by_field_name("operand")
                return None if inner is None else Member(inner, text_of(node.child_by_field_name("field")))
            case "composite_literal":
                made = node.child_by_field_name("type")
                return None if made is None else Made(made)
            case "call_expression":
                function = node.child_by_field_name("function")
                if function is None:
                    return None
                arguments = node.child_by_field_name("arguments")
                if text_of(function) == "new" and arguments is not None and arguments.named_child(0) is not None:
                    return Made(arguments.named_children[0])
                return Called(function)
            case "unary_expression" | "parenthesized_expression":
                inner = node.child_by_field_name("operand") or node.named_child(0)
                return None if inner is None else Around(inner)
            case "index_expression" | "slice_expression":
                inner = node.child_by_field_name("operand")
                return None if inner is None else Around(inner)
            case "type_assertion_expression":
                made = node.child_by_field_name("type")
                return None if made is None else Made(made)
        return None

    def steps(self, node: Node) -> list[str]:
        match node.type:
            case "type_identifier" | "identifier":
                return [text_of(node)]
            case "qualified_type":
                package, name = node.child_by_field_name("package"), node.child_by_field_name("name")
                return [text_of(package), text_of(name)]
            case "pointer_type" | "parenthesized_type":
                return self._steps_of(node.named_child(0))
            case "slice_type" | "array_type":
                # A collection has no methods of its own: it stands for what it holds.
                return self._steps_of(node.child_by_field_name("element"))
            case "map_type" | "channel_type":
                return self._steps_of(node.child_by_field_name("value"))
            case "generic_type" | "parameter_declaration":
                return self._steps_of(node.child_by_field_name("type"))
        return []

    def _steps_of(self, node: Node | None) -> list[str]:
        return [] if node is None else self.steps(node)

    def unbound(self, name: str, walk: Walk) -> str | None:
        return None if name in _BUILTINS else f".{name}"

    def made_by(self, path: str) -> str | None:
        package, _, name = path.rpartition(".")
        if name.startswith("New") and name[3:4].isupper():
            return f"{package}.{name[3:]}"
        return None


def _first_result(node: Node) -> Node | None:
    result = node.child_by_field_name("result")
    return result.named_child(0) if result is not None and result.type == "parameter_list" else result


def _parameters(walk: Walk, node: Node, scope: Scope) -> None:
    parameters = node.child_by_field_name("parameters")
    for item in parameters.named_children if parameters is not None else ():
        for name in item.children_by_field_name("name"):
            plain = item.type == "parameter_declaration"
            walk.declare(text_of(name), scope, item.child_by_field_name("type") if plain else None)


def _short(walk: Walk, node: Node, scope: Scope) -> None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None:
        return
    values = right.named_children if right is not None and right.type == "expression_list" else []
    for place, name in enumerate(left.named_children):
        # Of several results of one call the first is the value, the others are errors and flags.
        single = len(values) == 1 and place == 0
        paired = values[place] if len(values) == len(left.named_children) else values[0] if single else None
        if name.type == "identifier" and node.type == "short_var_declaration":
            walk.declare(text_of(name), scope, None, paired)
        elif name.type == "identifier":
            # Of what is ranged over the first name is the place, the second what stands there.
            walk.declare(text_of(name), scope, None, right if place == 1 else None)


def _import(walk: Walk, node: Node) -> None:
    path = text_of(node.child_by_field_name("path")).strip('"`')
    steps = [step for step in path.split("/") if step]
    if not steps:
        return
    alias = text_of(node.child_by_field_name("name"))
    plain = steps[-2] if _VERSION.fullmatch(steps[-1]) and len(steps) > 1 else steps[-1]
    local = alias or re.sub(r"^go-|-go$|\.v\d+$", "", plain).replace("-", "_")
    if local in {"_", "."}:
        return
    outside = "." not in steps[0] and steps[0] in _STANDARD
    walk.import_(local, path, None, None if outside else ".".join(steps), node)


def _is_test_file(name: str) -> bool:
    return name.endswith("_test.go")


def extract(text: str) -> CodeFacts:
    """Definitions, calls and imports of a file; of broken code what the parser could make out."""
    return Walk(_Go(), _GRAMMAR, text).facts()


LANGUAGE = Language(NAME, frozenset({".go"}), _is_test_file, extract)
