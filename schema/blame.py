"""Which input an error speaks of: clients mark a form's field by it."""

from collections.abc import Mapping
from typing import Any

from graphql import (
    BREAK,
    ArgumentNode,
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    ListValueNode,
    Node,
    ObjectFieldNode,
    VariableDefinitionNode,
    Visitor,
    is_input_type,
    type_from_ast,
    validate_input_value,
    visit,
)


def blamed(
    error: GraphQLError, schema: GraphQLSchema, document: DocumentNode | None, variables: Mapping[str, Any] | None
) -> str | None:
    """The argument, input field or variable that a request error is about; None when it is about none."""
    node = error.nodes[0] if error.nodes else None
    if isinstance(node, VariableDefinitionNode):
        return _in_variable(error, schema, node, variables or {})
    if isinstance(node, ArgumentNode | ObjectFieldNode):
        return node.name.value
    if node is None or document is None:
        return None
    finder = _Holder(node)
    visit(document, finder)
    return finder.name


def _in_variable(
    error: GraphQLError, schema: GraphQLSchema, definition: VariableDefinitionNode, variables: Mapping[str, Any]
) -> str:
    """The library tells the place inside a variable's value only in its sentence: look for it once more."""
    name = definition.variable.name.value
    type_ = type_from_ast(schema, definition.type)
    found: list[tuple[str, list[str | int]]] = []
    if is_input_type(type_) and name in variables:
        validate_input_value(variables[name], type_, lambda problem, path: found.append((problem.message, list(path))))
    for message, path in found:
        names = [step for step in path if isinstance(step, str)]
        if message in error.message and names:
            return names[-1]
    return name


class _Holder(Visitor):
    """Finds the argument, input field or variable whose value a node is, alone or in a list."""

    def __init__(self, wanted: Node) -> None:
        super().__init__()
        self._wanted = wanted
        self.name: str | None = None

    def enter_argument(self, node: ArgumentNode, *_: Any) -> Any:
        return self._look(node.value, node.name.value)

    def enter_object_field(self, node: ObjectFieldNode, *_: Any) -> Any:
        return self._look(node.value, node.name.value)

    def enter_variable_definition(self, node: VariableDefinitionNode, *_: Any) -> Any:
        return self._look(node.default_value, node.variable.name.value)

    def _look(self, value: Node | None, name: str) -> Any:
        items = value.values if isinstance(value, ListValueNode) else ()
        if value is self._wanted or any(item is self._wanted for item in items):
            self.name = name
            return BREAK
        return None
