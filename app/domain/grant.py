"""Grants: a permission that a person, a group or a key holds on a space and below, for a valid period."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from app.domain.errors import bad_input
from app.domain.principal import Permission, principal_id
from app.domain.temporal import Period, clip, subtract

MAX_NAME = 256


class GranteeKind(StrEnum):
    """Whom something is granted to."""

    PERSON = "person"
    GROUP = "group"
    KEY = "key"


@dataclass(frozen=True, slots=True)
class Grantee:
    """`name` is the token's subject, the name that a token's `groups` claim gives the group, or the id of the key."""

    kind: GranteeKind
    name: str

    def id(self, organisation: UUID) -> UUID:
        """The principal's id, which follows from who they are."""
        return principal_id(organisation, self.kind.value, self.name)

    def check(self) -> None:
        """BAD_USER_INPUT for a name that no credential can have."""
        name = self.name
        if not 0 < len(name) <= MAX_NAME or "\x00" in name or any("\ud800" <= one <= "\udfff" for one in name):
            raise bad_input(f"1 to {MAX_NAME} characters, without NUL", "name")


def grant_id(principal: UUID, space: UUID, permission: Permission) -> UUID:
    """The id of the fact, as the database derives it; a name for three things, not a secret."""
    said = f"{principal} {space} {permission.value}"
    return UUID(bytes=hashlib.md5(said.encode(), usedforsecurity=False).digest())


def not_held(held: Iterable[Period], wanted: Period, since: datetime | None = None) -> tuple[Period, ...]:
    """The parts of a wanted period, from an instant on, that are in none of the others; empty where they cover it."""
    rest = clip([wanted], Period(since, None))
    for period in held:
        rest = subtract(rest, period)
    return rest


def left_without(before: Iterable[Period], after: Iterable[Period], now: datetime) -> bool:
    """Whether some instant from now on had a holder and has none any more."""
    rest = clip(before, Period(now, None))
    for period in after:
        rest = subtract(rest, period)
    return bool(rest)
