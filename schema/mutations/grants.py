"""Granting permissions and taking them back."""

from typing import Annotated

import strawberry

from app.domain.principal import Permission
from app.identity.grants import grant_permissions, revoke_permissions
from schema.context import Info
from schema.inputs.grants import PermissionsInput
from schema.permissions import needs
from schema.types.grants import Grant


@strawberry.type
class GrantMutations:
    @needs(Permission.ADMIN, Permission.ORG_ADMIN)
    @strawberry.mutation(
        description=(
            "Grant permissions on a space and below; the answer is what is believed of them now. Nobody grants what "
            "they do not hold there themselves, nor for longer than they do, nor with a key for longer than the key "
            "lasts. It counts from the next request on, and stays when who granted it, a person or a key, is revoked "
            "later."
        )
    )
    async def grant_permissions(
        self, info: Info, input: Annotated[PermissionsInput, strawberry.argument(description="Who is to hold what.")]
    ) -> list[Grant]:
        context = info.context
        made = await grant_permissions(
            context.services.database,
            context.principal,
            input.wish,
            space_id=None if input.space_id is None else str(input.space_id),
            space_key=input.space_key,
            client_key=input.client_key,
        )
        return [Grant.of(grant) for grant in made]

    @needs(Permission.ADMIN, Permission.ORG_ADMIN)
    @strawberry.mutation(
        description=(
            "Take permissions back that were granted on that very space; the answer is the ids of the grants that are "
            "believed otherwise now, none where there was nothing to take. CONFLICT when nobody would hold `ORG_ADMIN` "
            "any more. `AUDIT_READ` and `ORG_ADMIN` are taken back by who holds `ORG_ADMIN`."
        )
    )
    async def revoke_permissions(
        self,
        info: Info,
        input: Annotated[PermissionsInput, strawberry.argument(description="Who is no longer to hold what.")],
    ) -> list[strawberry.ID]:
        context = info.context
        changed = await revoke_permissions(
            context.services.database,
            context.principal,
            input.wish,
            space_id=None if input.space_id is None else str(input.space_id),
            space_key=input.space_key,
            client_key=input.client_key,
        )
        return [strawberry.ID(str(id)) for id in changed]
