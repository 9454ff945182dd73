"""The scopes of a Python module: which name is bound to what, and of which class a value is."""

from dataclasses import dataclass, field

from tree_sitter import Node

#: Stands for the module of built-in types in a path.
BUILTIN = "builtins"

#: Steps from a value to its class; code that needs more is not worth it.
MAX_STEPS = 12

_LITERALS = {
    "string": "str",
    "concatenated_string": "str",
    "integer": "int",
    "float": "float",
    "list": "list",
    "list_comprehension": "list",
    "dictionary": "dict",
    "dictionary_comprehension": "dict",
    "set": "set",
    "set_comprehension": "set",
    "tuple": "tuple",
    "generator_expression": "generator",
    "true": "bool",
    "false": "bool",
    "none": "object",
    "comparison_operator": "bool",
    "not_operator": "bool",
}
#: Around the type that is meant.
_WRAPPERS = {"Optional", "Annotated", "Final", "ClassVar", "Required", "NotRequired"}


def text_of(node: Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Variable:
    """A name with a value: its class is that of its annotation, else that of what is assigned."""

    annotation: Node | None
    value: Node | None
    scope: "Scope"


@dataclass(frozen=True, slots=True)
class Binding:
    """What a name stands for: a definition or import (its path), `self` (the class's path), or a variable."""

    kind: str
    path: str | None = None
    variable: Variable | None = None


@dataclass(eq=False, slots=True)
class Scope:
    """A module, class or function; `definition` is the number of the definition that it is the inside of."""

    qualified_name: str
    kind: str
    parent: "Scope | None"
    definition: int | None
    node: Node | None = None
    names: dict[str, Binding] = field(default_factory=dict)

    def bind(self, name: str, binding: Binding) -> None:
        """The last definition of a name stands for all. Names that are bound to different things are unknown."""
        held = self.names.get(name)
        if held is not None and held != binding:
            same = {held.kind, binding.kind} == {"definition"} and held.path == binding.path
            annotated = held.variable is not None and held.variable.annotation is not None
            if annotated and binding.kind == "variable":
                binding = held
            elif not same:
                binding = Binding("variable")
        self.names[name] = binding

    def lookup(self, name: str) -> Binding | None:
        """As Python does: the scopes of classes are seen from their own body only. None: not bound in the file."""
        scope: Scope | None = self
        while scope is not None:
            if (scope is self or scope.kind != "class") and name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    @property
    def outer(self) -> "Scope":
        return self.parent or self


class Types:
    """The classes of a module, and of which class its values are."""

    def __init__(self, module: Scope) -> None:
        self._module = module
        self._scopes: dict[str, Scope] = {}
        self._attributes: dict[tuple[str, str], Variable | None] = {}

    def define(self, path: str, scope: Scope) -> None:
        self._scopes[path] = scope

    def attribute(self, owner: str, name: str, variable: Variable, scope: Scope) -> None:
        """`owner.name = …` inside a method, where `owner` is its first parameter."""
        binding = scope.lookup(owner)
        if binding is None or binding.kind != "self" or binding.path is None:
            return
        key = (binding.path, name)
        held = self._attributes.get(key, variable)
        if held is not variable and not (held is not None and held.annotation is not None):
            held = variable if variable.annotation is not None else None
        self._attributes[key] = held

    def owner(self, node: Node, scope: Scope) -> str | None:
        """What an attribute of `node` belongs to: a module or class that it names, or else the class it is of."""
        if node.type == "call" and text_of(node.child_by_field_name("function")) == "super":
            around = self._class_around(scope)
            return None if around is None else f"super{around}"
        return self.value(node, scope) or self.class_of(node, scope)

    def value(self, node: Node, scope: Scope, steps: int = MAX_STEPS) -> str | None:
        """The path of the module, class or function that an expression names."""
        if steps < 0:
            return None
        if node.type == "identifier":
            binding = scope.lookup(text_of(node))
            if binding is None:
                return f"{BUILTIN}.{text_of(node)}" if text_of(node) in _BUILTIN_TYPES else None
            return binding.path if binding.kind in {"definition", "import"} else None
        if node.type in {"attribute", "member_type"}:
            inner = node.named_child(0)
            name = text_of(node.child_by_field_name("attribute") or node.named_child(1))
            owner = None if inner is None else self.value(inner, scope, steps - 1)
            return None if owner is None else self.member(owner, name)
        return None

    def class_of(self, node: Node | None, scope: Scope, steps: int = MAX_STEPS) -> str | None:
        """The path of the class that an expression's value is an instance of."""
        if node is None or steps < 0:
            return None
        if node.type in _LITERALS:
            return f"{BUILTIN}.{_LITERALS[node.type]}"
        match node.type:
            case "identifier":
                binding = scope.lookup(text_of(node))
                if binding is None:
                    return None
                return binding.path if binding.kind == "self" else self._variable(binding.variable, steps)
            case "attribute":
                return self._attribute_class(node, scope, steps)
            case "await" | "parenthesized_expression":
                return self.class_of(node.named_child(0), scope, steps - 1)
            case "named_expression":
                return self.class_of(node.child_by_field_name("value"), scope, steps - 1)
            case "call":
                return self._made(node, scope, steps)
        return None

    def annotated(self, node: Node | None, scope: Scope, steps: int = MAX_STEPS) -> str | None:
        """The class that an annotation names; of `X | None` X."""
        if node is None or steps < 0:
            return None
        match node.type:
            case "type" | "parenthesized_expression":
                return self.annotated(node.named_child(0), scope, steps - 1)
            case "binary_operator" | "union_type":
                sides = [child for child in node.named_children if text_of(child) != "None"]
                return self.annotated(sides[0], scope, steps - 1) if len(sides) == 1 else None
            case "generic_type" | "subscript":
                return self._generic(node, scope, steps)
            case "string":
                return self._quoted(text_of(node).strip("\"'"), scope)
        return self.value(node, scope, steps - 1)

    def member(self, owner: str, name: str) -> str | None:
        """The path of an attribute. Of a class of this file the method, be it inherited; None when it has none."""
        if owner.startswith("super:"):
            return self._inherited(owner.removeprefix("super"), name, MAX_STEPS)
        if not owner.startswith(":"):
            return f"{owner}.{name}"
        return self._member(owner, name, MAX_STEPS)

    def _member(self, owner: str, name: str, steps: int) -> str | None:
        scope = self._scopes.get(owner)
        if scope is None or scope.kind != "class" or steps < 0:
            return None
        binding = scope.names.get(name)
        if binding is not None:
            return binding.path if binding.kind == "definition" else None
        if (owner, name) in self._attributes:
            return None
        return self._inherited(owner, name, steps - 1)

    def _inherited(self, owner: str, name: str, steps: int) -> str | None:
        outside = []
        for base in self._bases(owner):
            if base.startswith(":"):
                found = self._member(base, name, steps)
                if found is not None:
                    return found
            else:
                outside.append(base)
        return f"{outside[0]}.{name}" if len(outside) == 1 else None

    def _bases(self, owner: str) -> list[str]:
        scope = self._scopes.get(owner)
        listed = None if scope is None or scope.node is None else scope.node.child_by_field_name("superclasses")
        if scope is None or listed is None:
            return []
        named = (self.annotated(node, scope.outer) for node in listed.named_children if node.type != "keyword_argument")
        return [base for base in named if base is not None]

    def _class_around(self, scope: Scope) -> str | None:
        inside: Scope | None = scope
        while inside is not None:
            if inside.kind == "class":
                return f":{inside.qualified_name}"
            inside = inside.parent
        return None

    def _variable(self, variable: Variable | None, steps: int) -> str | None:
        if variable is None:
            return None
        if variable.annotation is not None:
            return self.annotated(variable.annotation, variable.scope, steps - 1)
        return self.class_of(variable.value, variable.scope, steps - 1)

    def _attribute_class(self, node: Node, scope: Scope, steps: int) -> str | None:
        inner, name = node.child_by_field_name("object"), text_of(node.child_by_field_name("attribute"))
        owner = self.class_of(inner, scope, steps - 1)
        for _ in range(MAX_STEPS):
            held = None if owner is None else self._scopes.get(owner)
            if owner is None or held is None:
                return None
            if name in held.names:
                return self._declared(held.names[name], steps)
            if (owner, name) in self._attributes:
                return self._variable(self._attributes[owner, name], steps - 1)
            owner = next((base for base in self._bases(owner) if base.startswith(":")), None)
        return None

    def _declared(self, binding: Binding, steps: int) -> str | None:
        """The class of a field, or of what a property returns."""
        if binding.kind == "variable":
            return self._variable(binding.variable, steps - 1)
        scope = self._scopes.get(binding.path or "")
        around = None if scope is None or scope.node is None else scope.node.parent
        if scope is None or around is None or b"property" not in (around.text or b"")[:200]:
            return None
        return self._returned(scope, steps)

    def _made(self, node: Node, scope: Scope, steps: int) -> str | None:
        """A class's name makes an instance of it; a function of this file what it says that it returns."""
        function = node.child_by_field_name("function")
        if function is None:
            return None
        path = self.value(function, scope, steps - 1)
        if path is None and function.type == "attribute":
            inner = function.child_by_field_name("object")
            owner = self.class_of(inner, scope, steps - 1)
            path = None if owner is None else self.member(owner, text_of(function.child_by_field_name("attribute")))
        if path is None:
            return None
        if path.startswith(":"):
            held = self._scopes.get(path)
            if held is None:
                return None
            return path if held.kind == "class" else self._returned(held, steps)
        last = path.rsplit(".", 1)[-1]
        return path if last[:1].isupper() or path.startswith(f"{BUILTIN}.") else None

    def _returned(self, scope: Scope, steps: int) -> str | None:
        annotation = None if scope.node is None else scope.node.child_by_field_name("return_type")
        if annotation is not None and text_of(annotation) in {"Self", '"Self"'}:
            return self._class_around(scope)
        return self.annotated(annotation, scope.outer, steps - 1)

    def _generic(self, node: Node, scope: Scope, steps: int) -> str | None:
        base = node.named_child(0)
        if base is None:
            return None
        if text_of(base).rsplit(".", 1)[-1] in _WRAPPERS:
            inner = node.named_child(1)
            if inner is not None and inner.type == "type_parameter":
                inner = inner.named_child(0)
            return self.annotated(inner, scope, steps - 1)
        return self.value(base, scope, steps - 1)

    def _quoted(self, written: str, scope: Scope) -> str | None:
        """A name in quotation marks: a class that is defined further down."""
        plain = written.removesuffix("| None").strip()
        binding = scope.lookup(plain.split(".", 1)[0]) if plain.replace(".", "").isidentifier() else None
        if binding is None or binding.path is None or binding.kind not in {"definition", "import"}:
            return None
        rest = plain.split(".")[1:]
        path: str | None = binding.path
        for name in rest:
            path = None if path is None else self.member(path, name)
        return path


_BUILTIN_TYPES = frozenset(
    {"bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "memoryview", "object"}
    | {"range", "set", "str", "tuple", "type"}
)
