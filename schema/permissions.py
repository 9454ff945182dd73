"""What every field of the roots needs, and where that is checked; a test fails for a field that does not say so.

A permission of the whole organisation is checked here, before the field is resolved. Where a permission holds depends
on a space that is named, or on the item that an id stands for, the feature checks it there, in the transaction that
reads or writes: nothing can change in between. A valid credential is checked here for every field.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from enum import Enum
from inspect import isawaitable
from typing import Any, Final, TypeVar

import strawberry
from strawberry.extensions import FieldExtension
from strawberry.types.field import StrawberryField

from app.domain.errors import Code, MunimentError
from app.domain.principal import Permission
from app.identity.authorisation import require
from schema.streams import supervised

F = TypeVar("F")

#: Only a valid credential is needed.
TOKEN: Final = "token"
#: What reads as much as there is, and so takes as long as it takes.
UNHURRIED: Final = frozenset({"verifyChain"})


class Where(Enum):
    """Where a permission is checked. The value is how documents say it."""

    ORGANISATION = "on the organisation's own space, before the field is resolved"
    SPACE = "on the space that is named, the organisation's own by default"
    SEARCHED = "on each space that would contribute; the others do not"
    ITEM = "on the space of what the id names"
    CALLER = "what is given depends on who asks"


_USUALLY: Final = {
    TOKEN: Where.CALLER,
    Permission.AUDIT_READ: Where.ORGANISATION,
    Permission.ORG_ADMIN: Where.ORGANISATION,
}


class Needs(FieldExtension):
    """Refuses a call without a valid credential, or without a permission on the organisation as a whole; waits for the
    caller's turn, and ends what takes too long. `permissions`: one of them is enough."""

    def __init__(self, permissions: tuple[Permission | str, ...], where: Where) -> None:
        self.permissions = tuple(str(permission) for permission in permissions)
        self.where = where

    async def resolve_async(self, next_: Any, source: Any, info: Any, **kwargs: Any) -> Any:
        context = info.context
        principal = await context.authenticate(look_up=False)
        async with context.services.admission.turn(principal):
            try:
                async with asyncio.timeout_at(None if info.field_name in UNHURRIED else context.until):
                    # What is searched is settled by a look that finds out on the way whether the token was revoked.
                    await context.authenticate(look_up=self.where is not Where.SEARCHED)
                    await self._check(info)
                    result = next_(source, info, **kwargs)
                    # A subscription may give its events at once.
                    result = await result if isawaitable(result) else result
            except TimeoutError:
                raise MunimentError(Code.SEARCH_UNAVAILABLE, "the request took too long and was given up") from None
        if not isinstance(result, AsyncGenerator):
            return result
        context.services.streams.require_room(principal)
        return supervised(context, result, lambda: self._again(info))

    async def _again(self, info: Any) -> None:
        await info.context.look_again()
        await self._check(info)

    async def _check(self, info: Any) -> None:
        if self.where is Where.ORGANISATION:
            context = info.context
            await require(context.services.database, context.principal, *map(Permission, self.permissions))


def needs(first: Permission | str, *others: Permission, where: Where | None = None) -> Callable[[F], F]:
    """Declare what a root field needs: one of the permissions. `where` is, unless it is said, the organisation for what
    concerns the whole of it, else the space that is named."""
    place = where or _USUALLY.get(first, Where.SPACE)

    def declare(field: F) -> F:
        if not isinstance(field, StrawberryField):
            raise TypeError("only a field can need a permission")
        field.extensions = [*field.extensions, Needs((first, *others), place)]
        return field

    return declare


def needed(schema: strawberry.Schema, root: str) -> dict[str, Needs | None]:
    """What each field of a root type needs, by its name in the schema; None where nothing is declared."""
    definition: Any = schema.schema_converter.type_map[root].definition
    return {
        schema.config.name_converter.from_field(field): next(
            (item for item in field.extensions if isinstance(item, Needs)), None
        )
        for field in definition.fields
    }
