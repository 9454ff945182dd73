"""The policy against leaks, and what was found."""

from typing import Annotated

import strawberry

from app.domain.errors import bad_input
from app.domain.principal import Permission, parse_id
from app.ingestion.policy import read_findings, read_policy
from schema.context import Info
from schema.permissions import needs
from schema.scalars import Instant
from schema.types.connection import Connection, bad_cursor, connect, decode_cursor, page_size
from schema.types.dlp import DlpPolicy, SourceFindings

FINDINGS = "dlpFindings"


@strawberry.type
class DlpQueries:
    @needs(Permission.ORG_ADMIN)
    @strawberry.field(
        description="What is done with texts in which detectors find something, by class. Answers always pass today's."
    )
    async def dlp_policy(
        self,
        info: Info,
        known_at: Annotated[
            Instant | None, strawberry.argument(description="Point of system time; now by default.")
        ] = None,
    ) -> DlpPolicy:
        services, principal = info.context.services, info.context.principal
        return DlpPolicy.of(await read_policy(services.database, principal, known_at))

    @needs(Permission.ORG_ADMIN)
    @strawberry.field(description="What detectors found in each source, by id: numbers, never what was found.")
    async def dlp_findings(
        self,
        info: Info,
        source_id: Annotated[
            strawberry.ID | None, strawberry.argument(description="One source only; by default all.")
        ] = None,
        first: Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")] = None,
        after: Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")] = None,
    ) -> Connection[SourceFindings]:
        size, position = page_size(first), decode_cursor(FINDINGS, after)
        behind = None if position is None else parse_id(position)
        if position is not None and behind is None:
            raise bad_cursor()
        source = None if source_id is None else parse_id(str(source_id))
        if source_id is not None and source is None:
            raise bad_input("no id of a source", "sourceId")
        services, principal = info.context.services, info.context.principal
        policy, rows = await read_findings(
            services.database,
            principal.organisation,
            after=behind,
            limit=size + 1,
            source=source,
            providers=principal.allowed_providers,
        )
        return connect(
            FINDINGS,
            rows,
            size,
            after,
            node=lambda row: SourceFindings.of(row, policy),
            position=lambda row: str(row.id),
        )
