"""Keys of programs."""

from typing import Annotated

import strawberry

from app.domain.principal import Permission, parse_id
from app.identity.api_keys import list_api_keys
from schema.context import Info
from schema.permissions import Where, needs
from schema.types.connection import Connection, bad_cursor, connect, decode_cursor, page_size
from schema.types.credentials import ApiKey

API_KEYS = "apiKeys"


@strawberry.type
class CredentialQueries:
    @needs(Permission.ADMIN, where=Where.SEARCHED)
    @strawberry.field(description="The keys of programs whose spaces the caller administers, the oldest first.")
    async def api_keys(
        self,
        info: Info,
        revoked: Annotated[bool, strawberry.argument(description="Those that were revoked as well.")] = False,
        first: Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")] = None,
        after: Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")] = None,
    ) -> Connection[ApiKey]:
        services, principal = info.context.services, info.context.principal
        size, cursor = page_size(first), decode_cursor(API_KEYS, after)
        behind = None if cursor is None else parse_id(cursor)
        if cursor is not None and behind is None:
            raise bad_cursor()
        keys = await list_api_keys(services.database, principal, revoked=revoked, after=behind, limit=size + 1)
        return connect(API_KEYS, keys, size, after, node=ApiKey.of, position=lambda key: str(key.id))
