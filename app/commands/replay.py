"""`muniment replay`."""

from typing import Annotated
from uuid import UUID

import typer

from app.assembly.services import Services
from app.commands.running import Organisation, out, require_known, with_services
from app.domain.replay import ReplayVerdict
from app.evidence.replay import Replay, replay_for_operator
from app.identity.development import ORGANISATION
from app.retrieval.again import rerun


def replay_(
    attribution_id: Annotated[UUID, typer.Argument(help="Id of the record: `attributionId` of an answer.")],
    query: Annotated[
        str | None, typer.Option(help="The question, where no trace of the retrieval is kept.", show_default=False)
    ] = None,
    now: Annotated[bool, typer.Option("--now", help="Against today's clocks and permissions.")] = False,
    organisation: Organisation = ORGANISATION,
) -> None:
    """Make a retrieval again and compare it with its record; exit code 0 only when it is REPRODUCED."""

    async def work(parts: Services) -> Replay:
        await require_known(parts, organisation)
        return await replay_for_operator(
            parts.database, parts.keys, rerun(parts.retriever), organisation, attribution_id, query, now
        )

    found = with_services(work)
    out.print(found.verdict.value)
    out.print(
        f"{found.compared} candidates compared, {'bit for bit' if found.traced else 'without a trace'}.",
        soft_wrap=True,
    )
    for reason in found.reasons:
        out.print(f"{reason.reason.value}: {reason.sentence}", soft_wrap=True, markup=False)
        for item in reason.items:
            out.print(f"  {item}")
    raise typer.Exit(0 if found.verdict is ReplayVerdict.REPRODUCED else 1)
