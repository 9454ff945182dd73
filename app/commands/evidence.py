"""`muniment evidence`."""

import asyncio
import os
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from app.assembly.services import Services
from app.commands.running import Organisation, err, require_known, with_services
from app.domain.instant import parse_instant
from app.domain.principal import parse_id
from app.evidence.report_files import ReportFormat, report
from app.evidence.reports import Filter
from app.identity.development import ORGANISATION
from app.providers.private_file import FILE_MODE


def evidence_(
    format: Annotated[
        ReportFormat, typer.Option(help="csv: a table. jsonl: the recorded bytes with their MACs and hashes.")
    ] = ReportFormat.JSONL,
    target: Annotated[Path | None, typer.Option("--out", help="File to write; standard output by default.")] = None,
    category: Annotated[str | None, typer.Option(help="Only records of this category.")] = None,
    client: Annotated[str | None, typer.Option(help="Only of the program with this verified id.")] = None,
    space: Annotated[str | None, typer.Option(help="Only those asked in this space, by key path or id.")] = None,
    subject: Annotated[str | None, typer.Option(help="Only those that name this subject, by its own name.")] = None,
    pseudonym: Annotated[str | None, typer.Option(help="The same by its pseudonym.")] = None,
    start: Annotated[str | None, typer.Option("--from", help="Made at this instant or later.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Made before this instant.")] = None,
    organisation: Organisation = ORGANISATION,
) -> None:
    """Write the records of evidence that meet a filter, in the order of the chain, as a report."""
    named_by_id = space is not None and parse_id(space) is not None
    wanted = Filter(
        category=category,
        client_id=client,
        space_id=space if named_by_id else None,
        space_key=None if named_by_id else space,
        subject_id=subject,
        subject_pseudonym=pseudonym,
        start=None if start is None else parse_instant(start, "from"),
        end=None if end is None else parse_instant(end, "to"),
    )

    async def work(parts: Services) -> int:
        await require_known(parts, organisation)
        await parts.sequencer.finish()
        count = 0

        def written(records: int) -> None:
            nonlocal count
            count += records

        async def write(file: BinaryIO) -> None:
            async with aclosing(report(parts.database, organisation, format, wanted, written)) as pieces:
                async for piece in pieces:
                    await asyncio.to_thread(file.write, piece)
            file.flush()

        if target is None:
            await write(sys.stdout.buffer)
            return count
        temporary = target.with_name(f".{target.name}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(temporary, flags, FILE_MODE), "wb") as file:
                await write(file)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        return count

    try:
        records = with_services(work)
    except BrokenPipeError:
        # Whoever reads has seen enough, as `head` has.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    err.print(f"{records} records.")
