"""`muniment verify-chain`."""

from typing import Annotated

import typer

from app.assembly.services import Services
from app.commands.running import Organisation, out, progress_bar, require_known, with_services
from app.domain.chain import Outcome, Verdict
from app.evidence.verification import Occasion, Stretch, verify_chain
from app.identity.development import ORGANISATION


def verify_chain_(
    organisation: Organisation = ORGANISATION,
    first: Annotated[int | None, typer.Option("--from", help="First sequence to check.")] = None,
    last: Annotated[int | None, typer.Option("--to", help="Last sequence to check.")] = None,
    incremental: Annotated[
        bool, typer.Option("--incremental", help="Only what was chained since the last run that found all VALID.")
    ] = False,
    adopt: Annotated[
        bool,
        typer.Option("--adopt", help="Vouch for a valid chain whose recorded head is missing: its end is recorded."),
    ] = False,
) -> None:
    """Check the evidence chain; exit code 0 only when it is VALID."""
    stretch = Stretch(first, last, incremental)

    async def work(parts: Services) -> Verdict:
        await require_known(parts, organisation)
        await parts.sequencer.finish()
        with progress_bar() as progress:
            task = progress.add_task("Verifying", total=None)
            return await verify_chain(
                parts.database,
                parts.keys,
                parts.heads,
                organisation,
                occasion=Occasion.COMMAND,
                stretch=stretch,
                signed=await parts.checkpoints.known(organisation),
                adopt=adopt,
                total=lambda count: progress.update(task, total=count),
                progress=lambda checked: progress.update(task, completed=checked),
            )

    verdict = with_services(work)
    out.print(verdict.verdict.value)
    out.print(f"{verdict.checked_records} records checked. {verdict.reason}", soft_wrap=True, markup=False)
    if verdict.first_bad_sequence is not None:
        out.print(f"First bad sequence: {verdict.first_bad_sequence}")
    for span in verdict.unverifiable:
        out.print(f"Keys missing: {span.first} to {span.last}")
    raise typer.Exit(0 if verdict.verdict is Outcome.VALID else 1)
