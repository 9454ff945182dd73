"""Ingesting a place: find or make its source, read it to its end, count its words, note the synchronisation."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from uuid import UUID

from app.ingestion.folder_source import folder_drafts
from app.ingestion.frequencies import refresh_frequencies
from app.ingestion.git_source import git_drafts
from app.ingestion.prepare import Preparer
from app.ingestion.report import Report
from app.ingestion.runner import Draft, Ingestion, Progress
from app.providers.git_history import head
from app.providers.ids import new_id
from app.storage import documents, sources
from app.storage.engine import Database
from app.storage.sources import StoredSource


class Provider(StrEnum):
    """How a place is read."""

    GIT = "git"
    FILESYSTEM = "filesystem"


def provider_of(place: Path) -> Provider:
    """A folder with a `.git` of its own is read with its history."""
    return Provider.GIT if (place / ".git").exists() else Provider.FILESYSTEM


async def ensure_source(
    database: Database,
    organisation: UUID,
    space: UUID,
    provider: Provider,
    *,
    name: str,
    kind: str,
    classification: str = "internal",
    language: str = "english",
) -> StoredSource:
    """The source of that name in the space, made when it is not there."""
    async with database.write(organisation) as session:
        found = await sources.find_source(session, space, provider.value, name)
        if found is not None:
            return found
        return await sources.create_source(
            session,
            id=new_id(),
            space=space,
            kind=kind,
            provider=provider.value,
            name=name,
            classification=classification,
            access_policy={"provider": provider.value, "mode": "space"},
            language=language,
        )


async def ingest_place(
    database: Database,
    organisation: UUID,
    source: StoredSource,
    place: Path,
    preparer: Preparer,
    *,
    embed: bool,
    tags: Sequence[str] | None = None,
    total: Progress = lambda count: None,
    progress: Progress = lambda count: None,
) -> Report:
    """Read the place to its end. Text is searchable when this returns; embeddings follow when `embed`. `tags` are put
    on every document; with None each keeps those that it carries."""
    now = datetime.now(UTC)
    report = Report()
    provider = Provider(source.provider)
    cursor = await asyncio.to_thread(head, place) if provider is Provider.GIT else None
    async with database.snapshot(organisation) as session:
        last = await sources.last_sync(session, source.id)
    if cursor is None or last is None or cursor != last.cursor or tags is not None:
        drafts = await _drafts(database, organisation, source, place, now, report)
        total(len(drafts))
        run = Ingestion(
            database, organisation, source, preparer, embed, None if tags is None else tuple(dict.fromkeys(tags))
        )
        await run.run(drafts, report, progress)
    async with database.write(organisation) as session:
        # Of two that ran at once neither knows whose writes came last: the next one reads all again.
        alone = await sources.last_sync(session, source.id) == last
        await sources.record_sync(session, source.id, cursor if alone else None)
    await refresh_frequencies(database, organisation, source.space_id)
    return report


async def _drafts(
    database: Database, organisation: UUID, source: StoredSource, place: Path, now: datetime, report: Report
) -> list[Draft]:
    async with database.snapshot(organisation) as session:
        known = await documents.external_keys(session, source.id)
    if source.provider == Provider.GIT:
        return await asyncio.to_thread(lambda: list(git_drafts(place, known, report)))
    return await asyncio.to_thread(lambda: list(folder_drafts(place, known, now, report)))
