"""Keys that are gone while what they made is still there: a fresh one in their place would hide the loss."""

from app.storage import evidence, merkle, tenancy
from app.storage.engine import Database


async def is_chained(database: Database) -> bool:
    """Whether any organisation has a chained record, and so the evidence keys are needed."""
    return await _any(database, chained=True)


async def is_signed(database: Database) -> bool:
    """Whether any organisation has a signed checkpoint."""
    return await _any(database, chained=False)


async def _any(database: Database, *, chained: bool) -> bool:
    async with database.across() as session:
        found = await tenancy.organisations(session)
    for organisation in found:
        async with database.snapshot(organisation) as session:
            if chained and (await evidence.head(session)).sequence > 0:
                return True
            if not chained and await merkle.latest(session) is not None:
                return True
    return False
