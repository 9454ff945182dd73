"""What permissions are granted and taken back with."""

import strawberry

from app.domain import grant as domain
from app.domain.temporal import Period
from app.identity.grants import Wish
from schema.scalars import Instant
from schema.types.enums import GranteeKind, Permission


@strawberry.input(description="Whom something is granted to. They need not have been seen before.")
class GranteeInput:
    kind: GranteeKind = strawberry.field(description="What it is.")
    name: str = strawberry.field(
        description="The token's subject, the group as the token's `groups` claim names it, or the id of the key."
    )

    @property
    def named(self) -> domain.Grantee:
        return domain.Grantee(self.kind, self.name)


@strawberry.input(description="Permissions of one principal on one space, for a valid period.")
class PermissionsInput:
    grantee: GranteeInput = strawberry.field(description="Whose permissions.")
    permissions: list[Permission] = strawberry.field(description="Which.")
    space_id: strawberry.ID | None = strawberry.field(default=None, description="On which space, by id.")
    space_key: str | None = strawberry.field(
        default=None, description="The same by key path; the organisation's own space when none is named."
    )
    valid_from: Instant | None = strawberry.field(
        default=strawberry.UNSET, description="Start of the period: this write by default; null: always."
    )
    valid_to: Instant | None = strawberry.field(default=None, description="End of the period; none by default.")
    client_key: str | None = strawberry.field(
        default=None, description="The client's own key: the same call again does nothing and answers the same."
    )

    @property
    def wish(self) -> Wish:
        from_now = self.valid_from is strawberry.UNSET
        period = Period(None if from_now else self.valid_from, self.valid_to)
        return Wish(self.grantee.named, self.permissions, period, from_now)
