"""Hearing of it when something that was delivered moves."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

import strawberry

from app.evidence.staleness import Stale, moved_of
from app.evidence.watching import context_changed
from schema.context import Info
from schema.permissions import TOKEN, needs
from schema.types.impact import StaleAttribution


@strawberry.type
class ContextSubscriptions:
    @needs(TOKEN)
    @strawberry.subscription(
        description=(
            "Tells when an item of a delivery is corrected, changed, retracted, erased, or removed with its source: at "
            "once what has moved already, then each movement, until the credential expires. For who retrieved, who "
            "administers its space, or an auditor."
        )
    )
    async def context_changed(
        self,
        info: Info,
        attribution_id: Annotated[strawberry.ID, strawberry.argument(description="Id of the record.")],
    ) -> AsyncGenerator[StaleAttribution, None]:
        context = info.context
        services, principal, id = context.services, context.principal, str(attribution_id)
        # What cannot be followed is told before the stream begins.
        await moved_of(services.database, principal, id)
        return _shown(context_changed(services.database, services.watch, principal, id, context.expires_at))


async def _shown(changes: AsyncGenerator[Stale, None]) -> AsyncGenerator[StaleAttribution, None]:
    async with aclosing(changes) as events:
        async for event in events:
            yield StaleAttribution.of(event)
