"""Operations with what belongs to another organisation, beside the same with what does not exist.

`pairs` gives, for each operation and each name in its variables, the two; `normalised` cuts from an answer what differs
between any two calls.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

from tests.fixtures.inhabited import NAMES, Names
from tests.fixtures.operations import OPERATIONS, Operation

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@dataclass(frozen=True)
class Pair:
    """The same call by a name of another organisation, and by one that nothing has."""

    operation: Operation
    name: str
    theirs: str
    nobodys: str
    own: Names

    def variables(self, value: str) -> Mapping[str, Any]:
        return self.operation.variables(replace(self.own, **{self.name: value}))


def pairs(own: Names, other: Names) -> Iterator[Pair]:
    """Every name in every operation."""
    for operation in OPERATIONS:
        for name in operation.names:
            theirs = str(getattr(other, NAMES.get(name, name)))
            yield Pair(operation, name, theirs, nobodys(theirs), own)


def nobodys(like: str) -> str:
    """A name of the same form that nothing has."""
    try:
        UUID(like)
    except ValueError:
        return f"only-{uuid4().hex[: len(like) - len('only-')]}"
    return str(uuid4())


def normalised(body: Mapping[str, Any], given: str) -> str:
    said = json.dumps(body, sort_keys=True).replace(given, "<given>")
    return _INSTANT.sub("<instant>", _UUID.sub("<id>", said))
