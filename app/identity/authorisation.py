"""Permissions that do not depend on one space: held anywhere from the organisation's space down, or not at all."""

from app.domain.errors import Code, MunimentError
from app.domain.principal import Permission, Principal
from app.storage import permissions
from app.storage.engine import Database


async def require(database: Database, principal: Principal, *anyof: Permission) -> None:
    """FORBIDDEN unless today's grants give one of the permissions on the organisation's own space."""
    async with database.snapshot(principal.organisation) as session:
        for permission in anyof:
            if await permissions.holds_at_root(session, principal.identities, permission):
                return
    raise MunimentError(Code.FORBIDDEN, f"this needs {' or '.join(anyof)}")
