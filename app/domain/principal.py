"""Who asks, what they may do, and the spaces in which they may do it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid5


class Permission(StrEnum):
    """What can be granted to a person, a group or a key, on a space and below."""

    SEARCH = "context:space:search"
    READ = "context:space:read"
    WRITE = "context:space:write"
    ADMIN = "context:space:admin"
    MEMORY_WRITE = "context:memory:write"
    AUDIT_READ = "audit:read"
    ORG_ADMIN = "org:admin"


class Level(StrEnum):
    """The levels of the tree of spaces."""

    ORGANISATION = "organisation"
    BUSINESS_UNIT = "business_unit"
    DEPARTMENT = "department"
    GROUP = "group"
    TEAM = "team"
    PROJECT = "project"
    SUBPROJECT = "subproject"
    PERSONAL = "personal"


class ActorType(StrEnum):
    """What kind of caller stands behind a credential."""

    AGENT = "agent"
    APPLICATION = "application"
    ADMIN = "admin"
    PERSON = "person"


def parse_id(value: str) -> UUID | None:
    """None when the text is no UUID: a thing so named is simply not found."""
    try:
        return UUID(value)
    except ValueError:
        return None


def principal_id(organisation: UUID, kind: str, external_id: str) -> UUID:
    """A principal's id follows from who they are, so that nothing need be written when they first appear."""
    return uuid5(organisation, f"{kind}:{external_id}")


@dataclass(frozen=True, slots=True)
class Client:
    """The calling program: `id` is verified (from the token), name and version are only declared."""

    id: str | None = None
    name: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """What a token says of itself, as far as its revocation goes by it."""

    id: str | None = None
    issued_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller. Organisation and user come from the credential and from nowhere else."""

    organisation: UUID
    id: UUID
    external_id: str
    actor_type: ActorType = ActorType.PERSON
    groups: tuple[UUID, ...] = ()
    api_key_id: UUID | None = None
    client: Client = Client()
    #: None admits sources of every provider.
    allowed_providers: frozenset[str] | None = None
    #: The token that was shown; None for a key, and for who is not here themselves (a past caller, a command).
    token: Token | None = None
    #: When the credential ends; None when it does not.
    expires_at: datetime | None = None

    @property
    def caller(self) -> UUID:
        """Whose calls are counted together: the key's, else the person's."""
        return self.api_key_id or self.id

    def admits(self, provider: str | None) -> bool:
        """Whether the credential lets its holder see what came from a provider; None came from none."""
        return provider is None or self.allowed_providers is None or provider in self.allowed_providers

    @property
    def identities(self) -> list[UUID]:
        """Every principal whose grants count for this caller."""
        return [self.id, *self.groups]


@dataclass(frozen=True, slots=True)
class Space:
    """A node of the tree, as it was known at the point of system time that was read."""

    id: UUID
    level: Level
    key_path: str
    name: str
    path: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Where documents come from, as far as retrieval needs it."""

    id: UUID
    space_id: UUID
    kind: str
    provider: str
    name: str
    classification: str
    language: str
    index_version: int
    access_policy: Mapping[str, Any] | None
    synced_at: datetime | None
    #: Something that the policy bars from delivery is found in it.
    flagged: bool = False
