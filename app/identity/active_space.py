"""The caller's own default: the space that a question is asked from when neither it nor a header names one."""

from typing import Any

from app.domain.principal import Principal
from app.identity.spaces import named_visible
from app.storage import active_spaces
from app.storage.engine import Database


async def read_active_space(database: Database, principal: Principal) -> Any | None:
    """None when none is set, or the one that is set is not the caller's to see any more."""
    async with database.snapshot(principal.organisation) as session:
        return await active_spaces.read(session, principal.id, principal.identities)


async def set_active_space(
    database: Database, principal: Principal, *, space_id: str | None, space_key: str | None
) -> Any | None:
    """From now on the caller asks from this space; with neither name from none. SPACE_NOT_FOUND when they may not see
    it. To set the same again changes nothing."""
    async with database.write(principal.organisation) as session:
        wanted = None
        if space_id is not None or space_key is not None:
            wanted = await named_visible(session, principal, space_id=space_id, space_key=space_key)
        current = await active_spaces.read(session, principal.id, principal.identities)
        if wanted is None or current is None or current.id != wanted:
            await active_spaces.replace(session, principal.id, wanted)
        return await active_spaces.read(session, principal.id, principal.identities)
