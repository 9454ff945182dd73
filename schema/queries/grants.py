"""Who holds what on a space."""

from typing import Annotated

import strawberry

from app.domain.principal import Permission, parse_id
from app.identity.grants import list_grants
from app.storage.memories import FIRST_ID
from schema.context import Info
from schema.inputs.grants import GranteeInput
from schema.permissions import needs
from schema.scalars import Instant
from schema.types.connection import Connection, bad_cursor, connect, decode_cursor, page_size
from schema.types.grants import Grant

GRANTS = "grants"


@strawberry.type
class GrantQueries:
    @needs(Permission.ADMIN, Permission.ORG_ADMIN)
    @strawberry.field(
        description="What was granted on the space itself, as it was believed to hold then. What was granted above it "
        "holds there too."
    )
    async def grants(
        self,
        info: Info,
        space_id: Annotated[strawberry.ID | None, strawberry.argument(description="The space, by id.")] = None,
        space_key: Annotated[
            str | None,
            strawberry.argument(description="The space, by key path; the organisation's own when none is named."),
        ] = None,
        grantee: Annotated[GranteeInput | None, strawberry.argument(description="Only what this one holds.")] = None,
        as_of: Annotated[
            Instant | None, strawberry.argument(description="Point of valid time; now by default.")
        ] = None,
        known_at: Annotated[
            Instant | None, strawberry.argument(description="Point of system time; now by default.")
        ] = None,
        first: Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")] = None,
        after: Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")] = None,
    ) -> Connection[Grant]:
        size, cursor = page_size(first), decode_cursor(GRANTS, after)
        behind = FIRST_ID if cursor is None else parse_id(cursor)
        if behind is None:
            raise bad_cursor()
        found = await list_grants(
            info.context.services.database,
            info.context.principal,
            space_id=None if space_id is None else str(space_id),
            space_key=space_key,
            grantee=None if grantee is None else grantee.named,
            as_of=as_of,
            known_at=known_at,
            after=behind,
            limit=size + 1,
        )
        return connect(GRANTS, found, size, after, node=Grant.of, position=lambda grant: str(grant.version_id))
