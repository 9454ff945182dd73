"""Who was granted what."""

from typing import Self

import strawberry

from app.storage import grants
from schema.scalars import Instant
from schema.types.enums import GranteeKind, Permission


@strawberry.type(description="Whom a permission was granted to.")
class GrantPrincipal:
    id: strawberry.ID = strawberry.field(description="Id of the principal, as in `me { id }`.")
    kind: GranteeKind | None = strawberry.field(description="What it is; null where its name was never stored.")
    name: str | None = strawberry.field(description="The token's subject, the group's name, or the id of the key.")


@strawberry.type(description="A permission on a space and below, as it was believed for one valid period.")
class Grant:
    id: strawberry.ID = strawberry.field(description="Id of the fact, whose `history` can be read.")
    version_id: strawberry.ID = strawberry.field(description="Id of this version.")
    grantee: GrantPrincipal = strawberry.field(description="Who holds it.")
    space_id: strawberry.ID = strawberry.field(description="The space; it holds there and below.")
    permission: Permission = strawberry.field(description="What may be done.")
    granted_by: strawberry.ID | None = strawberry.field(
        description="Id of the principal that granted it; null: the operator of the deployment."
    )
    valid_from: Instant | None = strawberry.field(description="Since when it holds; null: always.")
    valid_to: Instant | None = strawberry.field(description="Until when it holds; null: no end is known.")
    system_from: Instant = strawberry.field(description="Since when it is believed.")
    system_to: Instant | None = strawberry.field(description="Until when it was believed; null: it still is.")

    @classmethod
    def of(cls, grant: grants.Grant) -> Self:
        assert grant.system.start is not None
        return cls(
            id=strawberry.ID(str(grant.id)),
            version_id=strawberry.ID(str(grant.version_id)),
            grantee=GrantPrincipal(
                id=strawberry.ID(str(grant.principal_id)),
                kind=None if grant.grantee is None else grant.grantee.kind,
                name=None if grant.grantee is None else grant.grantee.name,
            ),
            space_id=strawberry.ID(str(grant.space_id)),
            permission=grant.permission,
            granted_by=None if grant.granted_by is None else strawberry.ID(str(grant.granted_by)),
            valid_from=grant.valid.start,
            valid_to=grant.valid.end,
            system_from=grant.system.start,
            system_to=grant.system.end,
        )
