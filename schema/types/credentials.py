"""Keys of programs, and tokens that were revoked."""

from typing import Self

import strawberry

from app.storage import api_keys
from schema.scalars import Instant
from schema.types.enums import Permission


@strawberry.type(description="A key that a program shows in place of a token, as `Authorization: Bearer …`.")
class ApiKey:
    id: strawberry.ID = strawberry.field(description="Id of the key.")
    principal_id: strawberry.ID = strawberry.field(description="Id of the key as a holder of grants.")
    prefix: str = strawberry.field(description="Its first 8 characters: what is kept of it, beside a hash.")
    name: str = strawberry.field(description="What it is for.")
    actions: list[Permission] = strawberry.field(
        description="The permissions that it may hold; what is granted to it beyond them does not count."
    )
    allowed_providers: list[str] | None = strawberry.field(
        description="The providers whose sources it admits; null: all."
    )
    allowed_spaces: list[strawberry.ID] | None = strawberry.field(
        description="Ids of the spaces in which, and below which, it counts; null: all of the organisation's."
    )
    actor_type: str = strawberry.field(description="person, agent, application or admin.")
    issued_at: Instant = strawberry.field(description="When it was made.")
    expires_at: Instant | None = strawberry.field(description="When it ends; null: it does not.")
    last_used_at: Instant | None = strawberry.field(description="When it was used last, to about a minute.")
    revoked_at: Instant | None = strawberry.field(description="When it was revoked; null: it was not.")

    @classmethod
    def of(cls, key: api_keys.ApiKey) -> Self:
        return cls(
            id=strawberry.ID(str(key.id)),
            principal_id=strawberry.ID(str(key.principal_id)),
            prefix=key.prefix,
            name=key.name,
            actions=[Permission(action) for action in key.actions],
            allowed_providers=None if key.providers is None else list(key.providers),
            allowed_spaces=None if key.spaces is None else [strawberry.ID(str(space)) for space in key.spaces],
            actor_type=key.actor_type.value,
            issued_at=key.made_at,
            expires_at=key.expires_at,
            last_used_at=key.used_at,
            revoked_at=key.revoked_at,
        )


@strawberry.type(description="A new key. This is the only time that its secret is shown.")
class CreatedApiKey:
    api_key: ApiKey = strawberry.field(description="The key.")
    secret: str = strawberry.field(description="What the program shows; it begins with the prefix. It is not kept.")


@strawberry.type(description="Tokens that count for nothing any more.")
class RevokedTokens:
    token_id: strawberry.ID | None = strawberry.field(description="The `jti` of the one token.")
    subject: str | None = strawberry.field(description="Whose tokens.")
    issued_before: Instant | None = strawberry.field(
        description="Those of the subject that were issued before this, or within 5 seconds after it."
    )
