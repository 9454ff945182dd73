"""Looking up what a model was given, and checking the chain."""

from typing import Annotated

import strawberry

from app.domain.principal import Permission
from app.evidence import attribution
from app.evidence.attribution import Attribution as _Attribution
from app.evidence.verification import verify_chain
from app.identity.authorisation import require
from schema.context import Info
from schema.permissions import TOKEN, needs
from schema.types.connection import Connection, bad_cursor, connect, decode_cursor, page_size
from schema.types.evidence import Attribution, ChainVerification

ATTRIBUTIONS = "attributions"


@strawberry.type
class EvidenceQueries:
    @needs(TOKEN)
    @strawberry.field(
        description="One record, for who retrieved, who administers its space, or an auditor. QUEUED until chained."
    )
    async def attribution(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="Id of the record.")]
    ) -> Attribution:
        services = info.context.services
        return Attribution.of(await attribution.find(services.database, info.context.principal, str(id)))

    @needs(TOKEN)
    @strawberry.field(description="Every record of one retrieval that the caller may see, in chain order.")
    async def attributions(
        self,
        info: Info,
        request_id: Annotated[strawberry.ID, strawberry.argument(description="Id of the retrieval.")],
        first: Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")] = None,
        after: Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")] = None,
    ) -> Connection[Attribution]:
        size = page_size(first)
        services, principal = info.context.services, info.context.principal
        found = await attribution.find_all(services.database, principal, str(request_id))
        position, start = decode_cursor(ATTRIBUTIONS, after), 0
        if position is not None:
            ids = [_position(item) for item in found]
            if position not in ids:
                raise bad_cursor()
            start = ids.index(position) + 1
        rows = found[start : start + size + 1]
        return connect(ATTRIBUTIONS, rows, size, after, node=Attribution.of, position=_position)

    @needs(Permission.AUDIT_READ)
    @strawberry.field(
        description="Check the organisation's chain from its first record to its last. The run is recorded."
    )
    async def verify_chain(self, info: Info) -> ChainVerification:
        services, principal = info.context.services, info.context.principal
        await require(services.database, principal, Permission.AUDIT_READ)
        return ChainVerification.of(
            await verify_chain(
                services.database,
                services.keys,
                services.heads,
                principal.organisation,
                requested_by=principal.id,
            )
        )


def _position(item: _Attribution) -> str:
    return str(item.id)
