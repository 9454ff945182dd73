"""Keeping document frequencies near the truth: counted anew when a space has changed by a tenth."""

from uuid import UUID

from app.storage import lexical_statistics
from app.storage.engine import Database


async def refresh_frequencies(database: Database, organisation: UUID, space: UUID) -> bool:
    """Count and store when it is due; False when the last count still serves."""
    async with database.snapshot(organisation) as session:
        chunks, counted = await lexical_statistics.growth(session, space)
        if abs(chunks - counted) * 10 <= counted:
            return False
        # Counting reads every posting of the space: it happens before the write that holds the clock.
        found = await lexical_statistics.count_frequencies(session, space)
    async with database.write(organisation) as write:
        await lexical_statistics.replace_frequencies(write, space, found)
    return True
