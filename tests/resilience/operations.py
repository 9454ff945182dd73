"""Random operations over the whole schema: valid in shape, and now and then not."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
    is_composite_type,
    is_required_argument,
    is_required_input_field,
)

INSTANTS = (
    "2026-03-01T12:00:00Z",
    "2026-03-01T12:00:00.123456+02:00",
    "1970-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999Z",
    "2999-01-01T00:00:00-14:00",
    "2026-03-01",
    "now",
    "2026-03-01T12:00:60Z",
)
NUMBERS = (0, 1, 2, 5, 20, 50, 101, -1, 2**31 - 1, -(2**31))
#: What fits an argument of that name; in a tame operation nothing else is drawn.
FITTING: dict[str, tuple[Any, ...]] = {
    "query": ("refunds", "where do zebras graze", "which tier authorises refunds", None),
    "spaceKey": ("project", "/", None),
    "spaceId": (None,),
    "subjectId": ("ada", None),
    "groupKey": ("team", None),
    "key": ("team", "crew"),
    "sourceKinds": (["docs"], None),
    "providers": (["filesystem"], None),
    "tags": (["here"], None),
    "lensId": (None,),
    "sessionId": ("session", None),
    "asOf": ("2999-01-01T00:00:00Z", None, None),
    "knownAt": ("2999-01-01T00:00:00Z", None, None),
    "after": (None,),
    "minScore": (0.0, 0.1, None),
    "mmrLambda": (0.5, 1.0, None),
    "text": ("zebras graze by night", "refunds are slow"),
    "clientKey": (None, "once"),
    "expectedSystemFrom": (None,),
}
FLOATS = (0.0, 0.5, 1.0, -1.0, 1e308, 1e-320, 2)


@dataclass
class Fuzzer:
    """`ids` and `texts` are what arguments are drawn from."""

    schema: GraphQLSchema
    random: Random
    ids: list[str]
    texts: Sequence[str]
    depth: int = 4
    variables: dict[str, Any] = field(default_factory=dict)
    declared: list[str] = field(default_factory=list)
    tame: bool = False

    def operation(self) -> tuple[str, dict[str, Any]]:
        """A document and its variables."""
        self.variables, self.declared = {}, []
        kind = self.random.choices(("query", "mutation", "subscription"), (68, 27, 5))[0]
        roots = {
            "query": self.schema.query_type,
            "mutation": self.schema.mutation_type,
            "subscription": self.schema.subscription_type,
        }
        root = roots[kind]
        assert root is not None
        self.tame = self.random.random() < 0.6
        weights = [{"retrieve": 12, "compareRetrievals": 4}.get(name, 1) for name in root.fields]
        many = 1 if kind == "subscription" else self.random.choice((1, 1, 1, 2, 3))
        names = self.random.choices(list(root.fields), weights, k=many)
        fields = " ".join(f"f{number}: {self._field(name, root.fields[name], 0)}" for number, name in enumerate(names))
        variables = f"({', '.join(self.declared)})" if self.declared else ""
        document = f"{kind} Fuzz{variables} {{ {fields} }}"
        if not self.tame and self.random.random() < 0.05:
            document = self._damaged(document)
        return document, self.variables

    def _damaged(self, document: str) -> str:
        at = self.random.randrange(len(document))
        return (
            document[:at]
            + self.random.choice(("", "{", "}", "\x00", '"', "…", "$", "@skip(if: 1)"))
            + document[at + 1 :]
        )

    def _field(self, name: str, definition: GraphQLField, depth: int) -> str:
        arguments = []
        for argument, item in definition.args.items():
            if is_required_argument(item) or self.random.random() < 0.4:
                if not self.tame and self.random.random() < 0.02:
                    continue
                arguments.append(f"{argument}: {self._given(item.type, argument)}")
        named = get_named_type(definition.type)
        below = self._selection(named, depth + 1) if is_composite_type(named) else ""
        inside = f"({', '.join(arguments)})" if arguments else ""
        return f"{name}{inside} {below}".strip()

    def _given(self, type_: GraphQLInputType, argument: str) -> str:
        """As a variable, whose value comes as JSON."""
        name = f"v{len(self.declared)}"
        self.declared.append(f"${name}: {type_}")
        self.variables[name] = self._value(type_, argument)
        return f"${name}"

    def _selection(self, type_: Any, depth: int) -> str:
        assert isinstance(type_, GraphQLObjectType)
        chosen = []
        for name, definition in type_.fields.items():
            required = any(is_required_argument(item) for item in definition.args.values())
            composite = is_composite_type(get_named_type(definition.type))
            always = name in {"attributionId", "left", "right", "edges", "node"}
            if required or (composite and depth >= self.depth):
                continue
            if always or self.random.random() < 0.5:
                chosen.append(self._field(name, definition, depth))
        return f"{{ __typename {' '.join(chosen)} }}"

    def _value(self, type_: Any, name: str) -> Any:
        random = self.random
        if self.tame and name in FITTING:
            fitting = [item for item in FITTING[name] if item is not None or not isinstance(type_, GraphQLNonNull)]
            if fitting:
                return random.choice(fitting)
        if not self.tame and random.random() < 0.02:
            return random.choice((None, "", 1.5, [], {}, True, {"a": [None]}))
        if isinstance(type_, GraphQLNonNull):
            return self._value(type_.of_type, name)
        if random.random() < 0.1:
            return None
        if isinstance(type_, GraphQLList):
            return [self._value(type_.of_type, "") for _ in range(random.choice((0, 1, 1, 2, 3)))]
        if isinstance(type_, GraphQLInputObjectType):
            return {
                key: self._value(item.type, key)
                for key, item in type_.fields.items()
                if is_required_input_field(item) or random.random() < 0.3
            }
        if isinstance(type_, GraphQLEnumType):
            return random.choice(list(type_.values))
        return self._scalar(str(type_))

    def _scalar(self, name: str) -> Any:
        random = self.random
        if self.tame and name in {"Int", "Instant", "BigInt"}:
            return "2026-03-01T12:00:00Z" if name == "Instant" else random.choice((1, 2, 5, 20))
        match name:
            case "ID":
                return random.choice(self.ids) if random.random() < 0.8 else random.choice(self.texts)
            case "Int":
                return random.choice(NUMBERS)
            case "Float":
                return random.choice(FLOATS)
            case "Boolean":
                return random.random() < 0.5
            case "Instant":
                return random.choice(INSTANTS)
            case "BigInt":
                return random.choice((*NUMBERS, 2**53, str(2**60), "-1", str(2**64), "x"))
            case "JSON":
                return random.choice(({}, {"a": 1}, [], "x", 1, None))
            case _:
                return random.choice(self.texts)
