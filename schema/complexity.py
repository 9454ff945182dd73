"""How much an operation asks for, measured before it is validated or run, in time that is bounded by the limits.

A document is walked as it will be answered: a fragment counts wherever it is spread, and equal fields of one place are
one. The walk ends at the first limit that is passed, so fragments that multiply or run in circles cost no more than it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    ListValueNode,
    ObjectValueNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    ValueNode,
    VariableNode,
    get_named_type,
    is_composite_type,
    is_leaf_type,
)

from app.domain.limits import Limits
from schema.types.connection import DEFAULT_PAGE, MAX_PAGE

#: What a root field costs beyond 1: those that search, read chains or look through all deliveries.
DEAR: Final[Mapping[str, int]] = {
    "retrieve": 50,
    "compareRetrievals": 100,
    "replay": 100,
    "verifyChain": 100,
    "chainVerification": 100,
    "impact": 20,
    "staleAttributions": 20,
    "explainExclusion": 20,
}
#: What each root field of a mutation costs at least.
WRITE: Final = 10
INTROSPECTION: Final = frozenset({"__schema", "__type"})


class TooComplex(Exception):
    """A limit was passed: at least `actual` where `limit` are let in."""

    def __init__(self, measure: str, actual: int, limit: int) -> None:
        super().__init__(measure)
        self.measure = measure
        self.actual = actual
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured. `roots`: how often each root field is asked for, by its name in the schema."""

    depth: int
    aliases: int
    fields: int
    cost: int
    roots: Mapping[str, int]


def measure(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    variables: Mapping[str, Any],
    limits: Limits,
) -> Measured:
    """`TooComplex` with the first measure that is too great."""
    _check_lists(variables.values(), limits.list_items)
    return _Walk(schema, document, operation, variables, limits).measured()


class _Walk:
    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any],
        limits: Limits,
    ) -> None:
        self._schema = schema
        self._operation = operation
        self._limits = limits
        self._fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        self._variables = {
            definition.variable.name.value: variables.get(definition.variable.name.value, definition.default_value)
            for definition in operation.variable_definitions or ()
        }
        self._depth = self._aliases = self._fields = self._cost = 0
        self._roots: dict[str, int] = {}

    def measured(self) -> Measured:
        root = self._schema.get_root_type(self._operation.operation)
        self._level([(root, self._operation.selection_set)], 1, 1)
        return Measured(self._depth, self._aliases, self._fields, self._cost, self._roots)

    def _level(
        self, selections: Iterable[tuple[GraphQLNamedType | None, SelectionSetNode]], depth: int, times: int
    ) -> None:
        """All selections of one place of the answer; `times`: how often that place is there."""
        named: dict[str, list[tuple[GraphQLNamedType | None, FieldNode]]] = {}
        for parent, selection_set in selections:
            for owner, node in self._flat(parent, selection_set, frozenset()):
                key = node.alias.value if node.alias else node.name.value
                same = named.setdefault(key, [])
                same.append((owner, node))
                self._bound("repeats", len(same), self._limits.repeats)
        if named:
            self._depth = max(self._depth, depth)
            self._bound("depth", depth, self._limits.depth)
        for same in named.values():
            self._field(same, depth, times)

    def _flat(
        self, parent: GraphQLNamedType | None, selection_set: SelectionSetNode, within: frozenset[str]
    ) -> Iterator[tuple[GraphQLNamedType | None, FieldNode]]:
        """The fields of a selection with its fragments spread out."""
        for node in selection_set.selections:
            self._fields += 1
            self._bound("fields", self._fields, self._limits.fields)
            if isinstance(node, FieldNode):
                yield parent, node
            elif isinstance(node, InlineFragmentNode):
                condition = node.type_condition
                owner = self._schema.get_type(condition.name.value) if condition else parent
                yield from self._flat(owner, node.selection_set, within)
            elif isinstance(node, FragmentSpreadNode):
                name = node.name.value
                fragment = self._fragments.get(name)
                # A circle is refused by validation; here it only must not be walked for ever.
                if fragment is not None and name not in within:
                    owner = self._schema.get_type(fragment.type_condition.name.value)
                    yield from self._flat(owner, fragment.selection_set, within | {name})

    def _field(self, same: list[tuple[GraphQLNamedType | None, FieldNode]], depth: int, times: int) -> None:
        parent, node = same[0]
        name = node.name.value
        if node.alias is not None:
            self._aliases += 1
            self._bound("aliases", self._aliases, self._limits.aliases)
        for argument in node.arguments or ():
            _check_literal(argument.value, self._limits.list_items)
        if depth == 1:
            self._roots[name] = self._roots.get(name, 0) + 1
            self._bound("root fields", sum(self._roots.values()), self._limits.root_fields)
        definition = _definition(parent, name)
        named = None if definition is None else get_named_type(definition.type)
        if named is not None and is_leaf_type(named) and depth > 1:
            return
        self._cost += times * self._price(name, depth)
        self._bound("cost", self._cost, self._limits.cost)
        below = times * self._page(node, definition)
        child = named if named is not None and is_composite_type(named) else None
        self._level(((child, item.selection_set) for _, item in same if item.selection_set), depth + 1, below)

    def _price(self, name: str, depth: int) -> int:
        if depth > 1:
            return 1
        return max(DEAR.get(name, 1), WRITE if self._operation.operation is OperationType.MUTATION else 1)

    def _page(self, node: FieldNode, definition: GraphQLField | None) -> int:
        """How many items a page has at most: `first`, as it will be read. 1 where nothing is paged."""
        if definition is None or "first" not in definition.args:
            return 1
        given: Any = next((item.value for item in node.arguments or () if item.name.value == "first"), None)
        if isinstance(given, VariableNode):
            given = self._variables.get(given.name.value)
        if isinstance(given, IntValueNode):
            given = int(given.value) if len(given.value) < 12 else MAX_PAGE
        if not isinstance(given, int):
            return DEFAULT_PAGE
        return min(max(given, 0), MAX_PAGE)

    @staticmethod
    def _bound(measure: str, actual: int, limit: int) -> None:
        if actual > limit:
            raise TooComplex(measure, actual, limit)


def _definition(parent: GraphQLNamedType | None, name: str) -> GraphQLField | None:
    if isinstance(parent, GraphQLObjectType | GraphQLInterfaceType):
        definition: GraphQLField | None = parent.fields.get(name)
        return definition
    return None


def _check_lists(values: Iterable[Any], limit: int) -> None:
    """No list of a variable, however deep, may be longer."""
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            _Walk._bound("list items", len(value), limit)
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())


def _check_literal(value: ValueNode, limit: int) -> None:
    if isinstance(value, ListValueNode):
        _Walk._bound("list items", len(value.values), limit)
        for item in value.values:
            _check_literal(item, limit)
    elif isinstance(value, ObjectValueNode):
        for field in value.fields:
            _check_literal(field.value, limit)
