"""Every place of the schema that takes a string, and strings that broke other systems.

`places` enumerates the arguments and input fields of type String or ID, in lists too, from the schema itself: a new
field is covered as soon as it has an operation in `tests/fixtures/operations.py`.
"""

import base64
import copy
import json
import os
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    OperationDefinitionNode,
    get_named_type,
    is_composite_type,
    is_required_argument,
    is_scalar_type,
    parse,
    print_ast,
    value_from_ast_untyped,
)

from schema.build import graphql_schema
from tests.fixtures.inhabited import Names
from tests.fixtures.operations import OPERATIONS, Operation

ROOT = Path(__file__).parents[2]
NAUGHTY = Path(os.environ.get("MUNIMENT_TEST_DATA", ROOT.parent / "shared" / "data")) / "text" / "blns.json"
SCHEMA = graphql_schema._schema

STRINGS = ("String", "ID")
#: What is found by this name is given as it is, so a fresh one is needed to see what is made.
FOUND_BY = {"createGroup": "key", "ensureSpace": "spaceKey"}
#: Of two that name the same thing one is given.
EITHER = (
    ("spaceId", "spaceKey"),
    ("parentId", "parentKey"),
    ("itemId", "contentSha256"),
    ("subjectId", "groupKey"),
    ("subjectId", "subjectPseudonym"),
    ("tokenId", "subject"),
    ("text", "content"),
)


def naughty() -> list[str]:
    found: list[str] = json.loads(NAUGHTY.read_text(encoding="utf-8"))
    return found


def generated(seed: int = 1) -> list[str]:
    """Each control character, each plane, marks, directions, halves of pairs, and what is long."""
    chance = Random(seed)
    controls = [chr(point) for point in (*range(32), *range(127, 160))]
    planes = [chr(plane << 16 | chance.randrange(0x10000)) for plane in range(17) for _ in range(6)]
    planes = [character for character in planes if not unicodedata.category(character).startswith("Cs")]
    ends = [chr(plane << 16 | low) for plane in range(17) for low in (0, 0xFFFE, 0xFFFF)]
    invisible = (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A))
    directions = [f"a{chr(point)}b" for point in invisible]
    marks = ["e\u0301", "\u00e9", "e" + "\u0301" * 200, "\u0301", "\u1100\u1161\u11a8", "\u05d0\u05b7", "\ufb01"]
    halves = ["\ud800", "a\udfffb", "\udc00\ud800", "\ud83d", "x\ud83d\ude00\ud83d"]
    shapes = ["", " ", "/", "//", "~", ".", "..", "a/b", "a/../b", "%00", "\\", "\\u0000", "{}", "[]", "null", "-1"]
    long = ["x" * 129, "x" * 2001, "y " * 5_000, "é" * 30_000, "\U0001f600" * 20_000, "/".join("a" * 40)]
    return [*(f"a{one}b" for one in controls), *controls, *planes, *ends, *directions, *marks, *halves, *shapes, *long]


@dataclass(frozen=True)
class Place:
    """`path` leads from an argument to the string; `[]` is the one item of a list."""

    operation: Operation
    path: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.operation.field}.{'.'.join(self.path)}"

    @property
    def leaf(self) -> str:
        return next(part for part in reversed(self.path) if part != "[]")

    @property
    def field(self) -> GraphQLField:
        roots = {
            "query": SCHEMA.query_type,
            "mutation": SCHEMA.mutation_type,
            "subscription": SCHEMA.subscription_type,
        }
        root = roots[self.operation.root]
        assert root is not None
        return root.fields[self.operation.field]

    def asked(self, names: Names, value: str) -> tuple[str, dict[str, Any]]:
        """The operation with the string in its place: everything comes as variables."""
        node = _field(self.operation)
        variables = dict(self.operation.variables(names))
        given = {
            argument.name.value: value_from_ast_untyped(argument.value, variables) for argument in node.arguments or ()
        }
        given = copy.deepcopy(given)
        if self.leaf == "name" and self.operation.field in FOUND_BY:
            given[FOUND_BY[self.operation.field]] = uuid4().hex
        _put(given, self.path, value)
        signature = ", ".join(f"${name}: {self.field.args[name].type}" for name in given)
        passed = ", ".join(f"{name}: ${name}" for name in given)
        document = f"{self.operation.root}({signature}) {{ {node.name.value}({passed}) {self._selection(node)} }}"
        return document, given

    def _selection(self, node: FieldNode) -> str:
        """That of the operation, with what is named as the place is, and the id, as far as there are any."""
        if node.selection_set is None:
            return ""
        own = print_ast(node.selection_set)
        return f"{own[:-1]} {' '.join(self._echoes(get_named_type(self.field.type)))} }}"

    def _echoes(self, type_: Any, depth: int = 0) -> Iterator[str]:
        if not isinstance(type_, GraphQLObjectType):
            return
        for name, field in type_.fields.items():
            named = get_named_type(field.type)
            if name in {"id", self.leaf} and is_scalar_type(named):
                yield name
            elif depth == 0 and is_composite_type(named) and not any(map(is_required_argument, field.args.values())):
                below = " ".join(self._echoes(named, 1))
                if below:
                    yield f"{name} {{ {below} }}"


def called(operation: Operation, names: Names) -> dict[str, Any]:
    """The arguments of an operation, by name."""
    variables = dict(operation.variables(names))
    arguments = _field(operation).arguments or ()
    return copy.deepcopy({item.name.value: value_from_ast_untyped(item.value, variables) for item in arguments})


def _field(operation: Operation) -> FieldNode:
    definition = parse(operation.document).definitions[0]
    assert isinstance(definition, OperationDefinitionNode)
    node = definition.selection_set.selections[0]
    assert isinstance(node, FieldNode)
    return node


def _put(given: dict[str, Any], path: tuple[str, ...], value: str) -> None:
    """Set what the path leads to; what it leads through is made where it is not there. Of a list of inputs the first
    stays, for what it needs besides."""
    at: Any = given
    for part, following in zip(path, (*path[1:], None), strict=True):
        key: Any = 0 if part == "[]" else part
        for pair in EITHER:
            if part in pair:
                at.pop(pair[1 - pair.index(part)], None)
        if following is None:
            at[key] = value
        elif following == "[]":
            at[key] = (at.get(key) or [None])[:1]
        elif part == "[]":
            at[key] = at[key] if isinstance(at[key], dict) else {}
        else:
            at[key] = at.get(key) or {}
        at = at[key]


def places(*scalars: str) -> list[Place]:
    """Those of strings, or of other scalars: all of Query and Mutation, in the order of the operations, in which what
    is used up comes after what reads it."""
    found = []
    for operation in OPERATIONS:
        if operation.root == "subscription":
            continue
        field = Place(operation, ()).field
        for name, argument in field.args.items():
            found.extend(Place(operation, (name, *path)) for path in _scalars(argument.type, scalars or STRINGS))
    return found


def _scalars(type_: Any, scalars: Collection[str]) -> Iterator[tuple[str, ...]]:
    if isinstance(type_, GraphQLNonNull):
        yield from _scalars(type_.of_type, scalars)
    elif isinstance(type_, GraphQLList):
        yield from (("[]", *path) for path in _scalars(type_.of_type, scalars))
    elif isinstance(type_, GraphQLInputObjectType):
        for name, field in type_.fields.items():
            yield from ((name, *path) for path in _scalars(field.type, scalars))
    elif isinstance(type_, GraphQLScalarType) and type_.name in scalars:
        yield ()


def echoed(place: Place, data: Mapping[str, Any] | None) -> list[Any]:
    """What an answer gives back under the name of the place."""
    found: list[Any] = []

    def look(value: Any) -> None:
        if isinstance(value, dict):
            for name, item in value.items():
                if name == place.leaf and not isinstance(item, dict):
                    found.extend(item if isinstance(item, list) else [item])
                else:
                    look(item)
        elif isinstance(value, list):
            for item in value:
                look(item)

    look(data)
    return found


def cursor(like: str, position: str) -> str:
    """A cursor of the collection of another, at any position."""
    collection = base64.urlsafe_b64decode(like).decode().partition(":")[0]
    return base64.urlsafe_b64encode(f"{collection}:{position}".encode()).decode()
