"""Every field of the roots says what it needs; a test fails when one does not.

Where a permission holds depends on the space in question, so the features check it there. What stands here is the
declaration, and the check that comes first: a valid credential.
"""

from collections.abc import Callable
from inspect import isawaitable
from typing import Any, Final, TypeVar

import strawberry
from strawberry.extensions import FieldExtension
from strawberry.types.field import StrawberryField

from app.domain.principal import Permission

F = TypeVar("F")

#: Only a valid credential is needed.
TOKEN: Final = "token"


class Needs(FieldExtension):
    """Refuses a call without a valid credential, and carries the declared permission for tests and documents."""

    def __init__(self, permission: Permission | str) -> None:
        self.permission = str(permission)

    async def resolve_async(self, next_: Any, source: Any, info: Any, **kwargs: Any) -> Any:
        _ = info.context.principal
        result = next_(source, info, **kwargs)
        # A subscription may give its events at once.
        return await result if isawaitable(result) else result


def needs(permission: Permission | str) -> Callable[[F], F]:
    """Declare what a root field needs."""

    def declare(field: F) -> F:
        if not isinstance(field, StrawberryField):
            raise TypeError("only a field can need a permission")
        field.extensions = [*field.extensions, Needs(permission)]
        return field

    return declare


def needed(schema: strawberry.Schema, root: str) -> dict[str, str | None]:
    """What each field of a root type needs, by its name in the schema; None where nothing is declared."""
    definition: Any = schema.schema_converter.type_map[root].definition
    return {
        schema.config.name_converter.from_field(field): next(
            (item.permission for item in field.extensions if isinstance(item, Needs)), None
        )
        for field in definition.fields
    }
