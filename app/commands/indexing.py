"""`muniment reindex` and `muniment backfill`: indexes and embeddings made anew from what is stored."""

from typing import Annotated
from uuid import UUID

import typer

from app.assembly.services import Services
from app.commands.running import Organisation, err, out, progress_bar, require_known, with_services
from app.identity.development import ORGANISATION
from app.ingestion.policy import read_findings
from app.storage import reindexing


def reindex_(
    source: Annotated[UUID, typer.Argument(help="Id of the source.")], organisation: Organisation = ORGANISATION
) -> None:
    """Index a source anew from the texts that are stored; each document is found by its former index until then."""

    async def work(parts: Services) -> None:
        await require_known(parts, organisation)
        await require_source(parts, organisation, source)
        async with parts.database.unstamped(organisation) as session:
            await reindexing.enqueue(session, [source], whole=True)
        with progress_bar() as progress:
            task = progress.add_task("Indexing", total=None)
            count = await parts.reindexer.drain(organisation, source, lambda done: progress.advance(task, done))
        out.print(f"{count} slices were indexed anew.")
        await print_findings(parts, organisation, source)

    with_services(work)


def backfill_(
    source: Annotated[UUID | None, typer.Option(help="Id of one source; all by default.")] = None,
    organisation: Organisation = ORGANISATION,
) -> None:
    """Embed what has no embedding of the current model and may have one, slices and memories."""

    async def work(parts: Services) -> None:
        await require_known(parts, organisation)
        count = await parts.reindexer.backfill(organisation, None if source is None else str(source))
        if parts.embedding is not None:
            with progress_bar() as progress:
                task = progress.add_task("Embedding", total=await parts.embedding.depth(organisation, source))
                await parts.embedding.drain(organisation, lambda done: progress.advance(task, done), source)
        out.print(f"{count} texts had no embedding of the current model.")

    with_services(work)


async def require_source(parts: Services, organisation: UUID, source: UUID) -> None:
    _, found = await read_findings(parts.database, organisation, source=source)
    if not found:
        raise typer.BadParameter(f"no source {source}", param_hint="source")


async def print_findings(parts: Services, organisation: UUID, source: UUID) -> None:
    """What detectors found in a source: numbers, never what was found."""
    policy, found = await read_findings(parts.database, organisation, source=source)
    for item in found:
        counts = ", ".join(f"{detector.name} {count}" for detector, count in item.counts.items())
        if counts:
            action = policy.action(item.classification).value
            err.print(f"Found in texts that are {item.classification} ({action}): {counts}.", soft_wrap=True)
