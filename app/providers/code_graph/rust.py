"""Rust. `crate::` begins at the folder `src`; methods stand in `impl` blocks, wherever the type is."""

import re
from itertools import pairwise
from pathlib import PurePosixPath

import tree_sitter_rust
from tree_sitter import Language as Grammar
from tree_sitter import Node

from app.domain.code import CodeFacts
from app.providers.code_graph.base import Language
from app.providers.code_graph.walk import (
    Around,
    Bound,
    Called,
    Made,
    Member,
    Named,
    Rules,
    Scope,
    Shape,
    This,
    Walk,
    text_of,
)

NAME = "rust"

_GRAMMAR = Grammar(tree_sitter_rust.language())
_TYPES = frozenset({"struct_item", "enum_item", "trait_item", "union_item"})
_TEST = re.compile(r"#\[\s*(\w+\s*::\s*)*(test|rstest|test_case|proptest|quickcheck)\b")
#: What holds one value of the type that is meant.
_WRAPPERS = frozenset({"Box", "Rc", "Arc", "RefCell", "Cell", "Mutex", "RwLock", "Option", "Result", "Cow", "Pin"})
#: Crates of the language itself.
_OUTSIDE = frozenset({"std", "core", "alloc"})
_COMMON = frozenset(
    """
    and_then as_bytes as_deref as_mut as_ref as_slice as_str binary_search clone_from cloned collect contains_key
    copied count_ones drain_filter ends_with entry_or exists_ok extend_from_slice filter_map find_map flat_map
    for_each from_str get_mut get_or_insert_with into_inner into_iter is_empty is_err is_none is_ok is_some iter_mut
    map_err map_or map_or_else max_by min_by next_back ok_or ok_or_else or_default or_else or_insert or_insert_with
    parse_from push_back push_front push_str pop_back pop_front read_line read_to_end read_to_string remove_entry
    rsplit_once sort_by sort_by_key sort_unstable split_at split_off split_once split_whitespace starts_with step_by
    swap_remove take_while to_lowercase to_owned to_string to_uppercase to_vec trim_end trim_start try_from try_into
    unwrap_err unwrap_or unwrap_or_default unwrap_or_else with_capacity write_all write_fmt write_str
    """.split()  # noqa: SIM905
)


class _Rust(Rules):
    name = NAME
    open_classes = True
    common = _COMMON
    method_mark = "()"

    def enter(self, walk: Walk, node: Node, scope: Scope) -> Scope | None:
        if node.type in _TYPES:
            inner = walk.define(text_of(node.child_by_field_name("name")), "class", node, scope)
            body = node.child_by_field_name("body")
            for item in body.named_children if body is not None else ():
                if item.type == "field_declaration":
                    walk.declare(text_of(item.child_by_field_name("name")), inner, item.child_by_field_name("type"))
            return inner
        match node.type:
            case "impl_item":
                type_node = node.child_by_field_name("type")
                steps = [] if type_node is None else self.steps(type_node)
                if not steps:
                    return Scope(scope.qualified_name, "block", scope, None)
                outer = scope.qualified_name if scope.kind == "block" else ""
                return walk.class_scope(f"{outer}.{steps[-1]}" if outer else steps[-1], scope, None)
            case "mod_item":
                return self._module(walk, node, scope)
            case "function_item":
                return self._function(walk, node, scope)
            case "closure_expression":
                inner = Scope(scope.qualified_name, "function", scope, None)
                parameters = node.child_by_field_name("parameters")
                for item in parameters.named_children if parameters is not None else ():
                    pattern = item.child_by_field_name("pattern") if item.type == "parameter" else item
                    if pattern is not None and pattern.type == "identifier":
                        walk.declare(text_of(pattern), inner, item.child_by_field_name("type"))
                return inner
            case "block":
                return Scope(scope.qualified_name, "inner", scope, None)
            case "use_declaration":
                argument = node.child_by_field_name("argument")
                if argument is not None:
                    _use(walk, argument, [], node, scope)
            case "let_declaration":
                pattern = node.child_by_field_name("pattern")
                if pattern is not None and pattern.type == "identifier":
                    type_node, value = node.child_by_field_name("type"), node.child_by_field_name("value")
                    walk.declare(text_of(pattern), scope, type_node, value)
            case "call_expression":
                function = node.child_by_field_name("function")
                if function is not None:
                    walk.call(function, scope)
            case "token_tree":
                for item, following in pairwise(node.children):
                    if item.type == "identifier" and following.type == "token_tree" and text_of(following)[:1] == "(":
                        walk.call(item, scope)
        return None

    def _module(self, walk: Walk, node: Node, scope: Scope) -> Scope | None:
        name = text_of(node.child_by_field_name("name"))
        if node.child_by_field_name("body") is None:
            # Its file lies in the folder of this one, where this one stands for its folder.
            scope.names.setdefault(name, Bound(f".{name}"))
            return None
        qualified = f"{scope.qualified_name}.{name}" if scope.qualified_name else name
        scope.names.setdefault(name, Bound(f":{qualified}"))
        return Scope(qualified, "block", scope, scope.definition)

    def _function(self, walk: Walk, node: Node, scope: Scope) -> Scope:
        name = text_of(node.child_by_field_name("name"))
        is_method = scope.kind == "class"
        inner = walk.define(
            name,
            "method" if is_method else "function",
            node,
            scope,
            is_test=_TEST.search(_attributes(node)) is not None,
            returns=node.child_by_field_name("return_type"),
        )
        parameters = node.child_by_field_name("parameters")
        for item in parameters.named_children if parameters is not None else ():
            pattern = item.child_by_field_name("pattern")
            if pattern is not None and pattern.type == "identifier":
                walk.declare(text_of(pattern), inner, item.child_by_field_name("type"))
        return inner

    def shape(self, node: Node) -> Shape | None:
        if node.type == "identifier" and node.parent is not None and node.parent.type == "token_tree":
            return self._in_macro(node)
        match node.type:
            case "identifier" | "type_identifier" | "super" | "crate":
                return Named(text_of(node))
            case "self":
                return This()
            case "scoped_identifier" | "scoped_type_identifier":
                inner = node.child_by_field_name("path")
                return None if inner is None else Member(inner, self._named(node, "name"))
            case "field_expression":
                inner = node.child_by_field_name("value")
                return None if inner is None else Member(inner, self._named(node, "field"))
            case "struct_expression":
                made = node.child_by_field_name("name")
                return None if made is None else Made(made)
            case "call_expression":
                function = node.child_by_field_name("function")
                return None if function is None else Called(function)
            case "generic_function":
                inner = node.child_by_field_name("function")
                return None if inner is None else Around(inner)
            case "try_expression" | "await_expression" | "parenthesized_expression" | "reference_expression":
                inner = node.child_by_field_name("value") or node.named_child(0)
                return None if inner is None else Around(inner)
        return None

    def _named(self, node: Node, field: str) -> str:
        """The last name of an expression, as that of a method where it is called."""
        name, around = text_of(node.child_by_field_name(field)), node.parent
        if around is None or around.type not in {"call_expression", "generic_function"}:
            return name
        return name + self.method_mark if around.child_by_field_name("function") == node else name

    def _in_macro(self, node: Node) -> Shape | None:
        """What is called in the arguments of a macro, which the grammar leaves as tokens."""
        before = node.prev_sibling
        sign = text_of(before)
        inner = before.prev_sibling if before is not None and sign in {".", "::"} else None
        if inner is None:
            return None if sign in {".", "fn"} else Named(text_of(node))
        following = node.next_sibling
        called = following is not None and following.type == "token_tree"
        return Member(inner, text_of(node) + (self.method_mark if called else ""))

    def steps(self, node: Node) -> list[str]:
        match node.type:
            case "type_identifier" | "identifier":
                return [text_of(node)]
            case "scoped_type_identifier" | "scoped_identifier":
                return re.sub(r"<.*|\s", "", text_of(node)).split("::")
            case "reference_type":
                inner = node.child_by_field_name("type")
                return [] if inner is None else self.steps(inner)
            case "generic_type":
                base, arguments = node.child_by_field_name("type"), node.child_by_field_name("type_arguments")
                found = [] if base is None else self.steps(base)
                if found and found[-1] in _WRAPPERS and arguments is not None and arguments.named_child(0) is not None:
                    return self.steps(arguments.named_children[0])
                return found
        return []

    def unbound(self, name: str, walk: Walk) -> str | None:
        if name == "crate":
            return "src"
        return None

    def made_by(self, path: str) -> str | None:
        owner, _, name = path.rpartition(".")
        is_type = owner.rsplit(".", 1)[-1].lstrip(":")[:1].isupper()
        return owner if is_type and name in {"new", "default", "with_capacity", "builder", "from", "open"} else None


def _attributes(node: Node) -> str:
    found = []
    before = node.prev_named_sibling
    while before is not None and before.type in {"attribute_item", "line_comment", "block_comment"}:
        found.append(text_of(before))
        before = before.prev_named_sibling
    return "\n".join(found)


def _use(walk: Walk, node: Node, prefix: list[str], whole: Node, scope: Scope) -> None:
    match node.type:
        case "scoped_identifier" | "identifier" | "crate" | "self" | "super":
            steps = [*prefix, *text_of(node).replace(" ", "").split("::")]
            local = steps[-1]
            if local == "self" and len(steps) > 1:
                steps = steps[:-1]
                local = steps[-1]
            _bind(walk, local, steps, whole, scope)
        case "use_as_clause":
            path, alias = node.child_by_field_name("path"), text_of(node.child_by_field_name("alias"))
            if path is not None and alias:
                _bind(walk, alias, [*prefix, *text_of(path).split("::")], whole, scope)
        case "scoped_use_list":
            path, listed = node.child_by_field_name("path"), node.child_by_field_name("list")
            inner = [*prefix, *(text_of(path).split("::") if path is not None else [])]
            for item in listed.named_children if listed is not None else ():
                _use(walk, item, inner, whole, scope)
        case "use_list":
            for item in node.named_children:
                _use(walk, item, prefix, whole, scope)


def _bind(walk: Walk, local: str, steps: list[str], whole: Node, scope: Scope) -> None:
    """In a module inside the file, `super::` names what the file defines: that is seen from there anyway."""
    if scope is not walk.file and steps[0] == "super" and len(steps) == 2:
        return
    first, rest = steps[0], steps[1:]
    path: str | None
    match first:
        case "crate":
            path = ".".join(["src", *rest])
        case "self" | "super" if rest:
            path = "." + ".".join(rest) if "super" not in rest else None
        case _:
            path = None if first in _OUTSIDE else ".".join(steps)
    walk.import_(local, "::".join(steps[:-1]), steps[-1], path, whole)


def _is_test_file(name: str) -> bool:
    # Rust keeps tests beside what they test; a function says of itself that it is one.
    return PurePosixPath(name).suffix == ".rs"


def extract(text: str) -> CodeFacts:
    """Definitions, calls and imports of a file; of broken code what the parser could make out."""
    return Walk(_Rust(), _GRAMMAR, text).facts()


LANGUAGE = Language(NAME, frozenset({".rs"}), _is_test_file, extract)
