"""Making a retrieval again, where an item went, and what has moved since."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import strawberry

from app.domain.principal import parse_id
from app.evidence import impact, replay, staleness
from app.evidence.impact import Use
from app.evidence.staleness import Stale
from app.retrieval.again import rerun
from schema.context import Info
from schema.permissions import TOKEN, needs
from schema.scalars import Instant
from schema.types.connection import Connection, bad_cursor, connect, decode_cursor, page_size
from schema.types.enums import ReplayAgainst
from schema.types.impact import Impact, StaleAttribution
from schema.types.replay import Replay

IMPACT = "impact"
STALE = "staleAttributions"


@strawberry.type
class ImpactQueries:
    @needs(TOKEN)
    @strawberry.field(
        description=(
            "A retrieval made again, within what was searched then and at its own clocks, or as it would come out now. "
            "For who retrieved, who administers its space, or an auditor. No text is given and no endpoint is asked."
        )
    )
    async def replay(
        self,
        info: Info,
        attribution_id: Annotated[strawberry.ID, strawberry.argument(description="Id of the record.")],
        query: Annotated[
            str | None,
            strawberry.argument(
                description="The question, where no trace is kept: its hash must be the one that was recorded."
            ),
        ] = None,
        against: Annotated[
            ReplayAgainst, strawberry.argument(description="Which clocks and permissions count.")
        ] = ReplayAgainst.RECORDED,
    ) -> Replay:
        services = info.context.services
        return Replay.of(
            await replay.replay(
                services.database,
                services.keys,
                rerun(services.retriever),
                info.context.principal,
                str(attribution_id),
                query,
                now=against is ReplayAgainst.NOW,
            )
        )

    @needs(TOKEN)
    @strawberry.field(
        description=(
            "Every retrieval that delivered an item, newest first, with the responses that used it; of those that the "
            "caller made, whose spaces they administer or audit. Either an item or a hash is given."
        )
    )
    async def impact(
        self,
        info: Info,
        item_id: Annotated[
            strawberry.ID | None,
            strawberry.argument(description="Id of a chunk, a document, a memory, or a version of a memory."),
        ] = None,
        content_sha256: Annotated[
            str | None, strawberry.argument(description="SHA-256 of a text as it was delivered, in hexadecimal.")
        ] = None,
        first: Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")] = None,
        after: Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")] = None,
    ) -> Connection[Impact]:
        size = page_size(first)
        found = await impact.impact(
            info.context.services.database,
            info.context.principal,
            item_id=None if item_id is None else str(item_id),
            sha256=content_sha256,
            after=_before(IMPACT, after),
            limit=size + 1,
        )
        return connect(IMPACT, found, size, after, node=Impact.of, position=_position)

    @needs(TOKEN)
    @strawberry.field(
        description=(
            "Deliveries of which something was corrected, changed, retracted, erased or removed with its source since "
            "an instant of system time, the newest delivery first; of those that the caller made, whose spaces they "
            "administer or audit. That somebody may no longer read an item is told by `grants` and their history."
        )
    )
    async def stale_attributions(
        self,
        info: Info,
        since: Annotated[Instant, strawberry.argument(description="Movements after this instant count.")],
        first: Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")] = None,
        after: Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")] = None,
    ) -> Connection[StaleAttribution]:
        size = page_size(first)
        moment: datetime = since
        found = await staleness.stale(
            info.context.services.database,
            info.context.principal,
            moment,
            after=_before(STALE, after),
            limit=size + 1,
        )
        return connect(STALE, found, size, after, node=StaleAttribution.of, position=_position)


def _before(collection: str, cursor: str | None) -> UUID | None:
    position = decode_cursor(collection, cursor)
    if position is None:
        return None
    id = parse_id(position)
    if id is None:
        raise bad_cursor()
    return id


def _position(item: Use | Stale) -> str:
    return str(item.attribution.id)
