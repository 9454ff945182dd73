"""Java. Classes are known by their package; members of a class are seen by their plain names in it."""

import re
from pathlib import PurePosixPath

import tree_sitter_java
from tree_sitter import Language as Grammar
from tree_sitter import Node

from app.domain.code import CodeFacts
from app.providers.code_graph.base import Language
from app.providers.code_graph.walk import Around, Called, Made, Member, Named, Rules, Scope, Shape, This, Walk, text_of

NAME = "java"

_GRAMMAR = Grammar(tree_sitter_java.language())
_CLASSES = frozenset(
    {
        "class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
    }
)
_TESTS = re.compile(r"@(\w+\.)*(Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property)\b")
#: What methods are called that give an instance of their class.
_FACTORIES = frozenset({"create", "from", "getInstance", "instance", "newInstance", "of", "open", "valueOf"})
_TEST_FILE = re.compile(r"(^Test[A-Z_].*|.*(Test|Tests|TestCase|IT|ITCase|Spec))$")
#: Types of java.lang, which nobody imports.
_LANG = frozenset(
    """
    Boolean Byte Character Class ClassLoader Comparable Double Enum Error Exception Float IllegalArgumentException
    IllegalStateException Integer Iterable Long Math NullPointerException Number Object Override Process Record
    Runnable Runtime RuntimeException Short String StringBuffer StringBuilder System Thread ThreadLocal Throwable
    UnsupportedOperationException Void AutoCloseable CharSequence Cloneable Deprecated
    """.split()  # noqa: SIM905
)


class _Java(Rules):
    name = NAME
    implicit_members = True
    method_mark = "()"

    def enter(self, walk: Walk, node: Node, scope: Scope) -> Scope | None:
        if node.type in _CLASSES:
            return self._class(walk, node, scope)
        match node.type:
            case "package_declaration":
                named = node.named_child(node.named_child_count - 1)
                walk.package = text_of(named)
            case "import_declaration":
                _import(walk, node)
            case "method_declaration" | "constructor_declaration":
                return self._method(walk, node, scope)
            case "lambda_expression":
                inner = Scope(scope.qualified_name, "function", scope, None)
                parameters = node.child_by_field_name("parameters")
                for item in [parameters, *parameters.named_children] if parameters is not None else ():
                    if item.type == "identifier":
                        walk.declare(text_of(item), inner)
                    elif item.type == "formal_parameter":
                        walk.declare(text_of(item.child_by_field_name("name")), inner, item.child_by_field_name("type"))
                return inner
            case "block" | "for_statement" | "enhanced_for_statement" | "try_with_resources_statement" | "catch_clause":
                inner = Scope(scope.qualified_name, "block", scope, None)
                if node.type == "enhanced_for_statement":
                    walk.declare(text_of(node.child_by_field_name("name")), inner, node.child_by_field_name("type"))
                return inner
            case "local_variable_declaration" | "field_declaration":
                type_node = node.child_by_field_name("type")
                for item in node.children_by_field_name("declarator"):
                    inferred = text_of(type_node) == "var"
                    value = item.child_by_field_name("value")
                    walk.declare(
                        text_of(item.child_by_field_name("name")), scope, None if inferred else type_node, value
                    )
            case "resource":
                value = node.child_by_field_name("value")
                walk.declare(text_of(node.child_by_field_name("name")), scope, node.child_by_field_name("type"), value)
            case "method_invocation":
                name = node.child_by_field_name("name")
                if name is not None:
                    walk.call(name, scope)
        return None

    def _class(self, walk: Walk, node: Node, scope: Scope) -> Scope:
        inner = walk.define(text_of(node.child_by_field_name("name")), "class", node, scope)
        for part in ("superclass", "interfaces"):
            listed = node.child_by_field_name(part)
            for item in listed.named_children if listed is not None else ():
                inner.bases += item.named_children if item.type == "type_list" else [item]
        parameters = node.child_by_field_name("parameters")
        for item in parameters.named_children if parameters is not None else ():
            walk.declare(text_of(item.child_by_field_name("name")), inner, item.child_by_field_name("type"))
        return inner

    def _method(self, walk: Walk, node: Node, scope: Scope) -> Scope:
        name = text_of(node.child_by_field_name("name"))
        modifiers = next((child for child in node.named_children if child.type == "modifiers"), None)
        inner = walk.define(
            name,
            "method",
            node,
            scope,
            is_test=_TESTS.search(text_of(modifiers)) is not None,
            returns=node.child_by_field_name("type"),
            bind=node.type == "method_declaration",
        )
        parameters = node.child_by_field_name("parameters")
        for item in parameters.named_children if parameters is not None else ():
            walk.declare(text_of(item.child_by_field_name("name")), inner, item.child_by_field_name("type"))
        return inner

    def shape(self, node: Node) -> Shape | None:
        match node.type:
            case "identifier" | "type_identifier":
                call = node.parent
                if call is None or call.type != "method_invocation" or call.child_by_field_name("name") != node:
                    return Named(text_of(node))
                # A callee is no node of its own here: its name stands for it.
                inner, name = call.child_by_field_name("object"), text_of(node) + self.method_mark
                return Named(name) if inner is None else Member(inner, name)
            case "this" | "super":
                return This()
            case "method_invocation":
                called = node.child_by_field_name("name")
                return None if called is None else Called(called)
            case "field_access":
                inner = node.child_by_field_name("object")
                return None if inner is None else Member(inner, text_of(node.child_by_field_name("field")))
            case "object_creation_expression":
                made = node.child_by_field_name("type")
                return None if made is None else Made(made)
            case "cast_expression":
                made = node.child_by_field_name("type")
                return None if made is None else Made(made)
            case "parenthesized_expression":
                inner = node.named_child(0)
                return None if inner is None else Around(inner)
        return None

    def steps(self, node: Node) -> list[str]:
        match node.type:
            case "type_identifier" | "identifier":
                return [text_of(node)]
            case "scoped_type_identifier":
                return text_of(node).replace(" ", "").split(".")
            case "generic_type":
                inner = node.named_child(0)
                return [] if inner is None else self.steps(inner)
        return []

    def unbound(self, name: str, walk: Walk) -> str | None:
        """A class of the same package, wherever its folder begins."""
        if not name[:1].isupper() or name in _LANG:
            return None
        return f"{walk.package}.{name}" if walk.package else f".{name}"

    def made_by(self, path: str) -> str | None:
        owner, _, name = path.rpartition(".")
        return owner if name in _FACTORIES and owner.rsplit(".", 1)[-1].lstrip(":")[:1].isupper() else None


def _import(walk: Walk, node: Node) -> None:
    written = text_of(node)
    path = next(
        (text_of(child) for child in node.named_children if child.type in {"scoped_identifier", "identifier"}), ""
    )
    if not path:
        return
    module, _, name = path.rpartition(".")
    if any(child.type == "asterisk" for child in node.named_children):
        return
    outside = path.startswith(("java.", "javax.", "jdk."))
    static = re.match(r"import\s+static\b", written) is not None
    local = f"{name}{_Java.method_mark}" if static else name
    walk.import_(local, path if not static else module, name if static else None, None if outside else path, node)


def _is_test_file(name: str) -> bool:
    path = PurePosixPath(name)
    return _TEST_FILE.match(path.stem) is not None or "src/test/" in name


def extract(text: str) -> CodeFacts:
    """Definitions, calls and imports of a file; of broken code what the parser could make out."""
    return Walk(_Java(), _GRAMMAR, text).facts()


LANGUAGE = Language(NAME, frozenset({".java"}), _is_test_file, extract)
