"""What keys of programs are made with."""

import strawberry

from app.domain.errors import bad_input
from app.domain.principal import ActorType
from app.identity.api_keys import Wanted
from schema.scalars import Instant
from schema.types.enums import Permission


@strawberry.input(description="A new key of a program. What is null is not narrowed, an empty list admits nothing.")
class CreateApiKeyInput:
    name: str = strawberry.field(description="What it is for: 1 to 256 characters.")
    actions: list[Permission] = strawberry.field(
        description="The permissions that it holds, on each of its spaces and below. The caller must hold them there."
    )
    allowed_providers: list[str] | None = strawberry.field(
        default=None, description="The providers whose sources it admits; all that the caller's own credential admits."
    )
    allowed_spaces: list[strawberry.ID] | None = strawberry.field(
        default=None,
        description="The spaces that it is for, by id or key path, 1 to 100; the organisation's own, and so all.",
    )
    actor_type: str = strawberry.field(default="application", description="person, agent, application or admin.")
    expires_at: Instant | None = strawberry.field(default=None, description="When it ends; not by itself.")

    @property
    def wanted(self) -> Wanted:
        return Wanted(
            name=self.name,
            actions=self.actions,
            providers=self.allowed_providers,
            spaces=None if self.allowed_spaces is None else [str(space) for space in self.allowed_spaces],
            actor_type=_actor(self.actor_type),
            expires_at=self.expires_at,
        )


def _actor(value: str) -> ActorType:
    try:
        return ActorType(value)
    except ValueError:
        raise bad_input(f"one of {', '.join(ActorType)}", "actorType") from None
