"""Looking up what a model was given, and checking the chain."""

from typing import Annotated

import strawberry

from app.domain.principal import Permission
from app.evidence import attribution, reports, runs
from app.evidence.attribution import Attribution as _Attribution
from app.evidence.verification import Stretch, verify_chain
from schema.context import Info
from schema.inputs.evidence import Wanted, to_filter
from schema.inputs.verification import FromSequence, SinceLastRun, ToSequence
from schema.permissions import TOKEN, needs
from schema.types.connection import Connection, bad_cursor, connect, decode_cursor, page_size
from schema.types.evidence import Attribution, ChainVerification, ChainVerificationRun

ATTRIBUTIONS = "attributions"
EVIDENCE = "evidence"
VERIFICATIONS = "chainVerifications"


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

    @needs(TOKEN)
    @strawberry.field(
        description=(
            "Records of evidence in the order of the chain, those that wait to be chained at its end; of those that "
            "the caller made, whose spaces they administer or audit. An auditor of the organisation sees all of them."
        )
    )
    async def evidence(
        self,
        info: Info,
        filter: Wanted = None,
        newest_first: Annotated[
            bool, strawberry.argument(description="From the end of the chain to its beginning.")
        ] = False,
        first: Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")] = None,
        after: Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")] = None,
    ) -> Connection[Attribution]:
        size = page_size(first)
        rows = await reports.page(
            info.context.services.database,
            info.context.principal,
            to_filter(filter),
            newest=newest_first,
            after=decode_cursor(EVIDENCE, after),
            limit=size + 1,
        )
        return connect(EVIDENCE, rows, size, after, node=Attribution.of, position=reports.position)

    @needs(Permission.AUDIT_READ)
    @strawberry.field(
        description="Check the organisation's chain, from its first record to its last unless a range is given. The "
        "run is recorded."
    )
    async def verify_chain(
        self,
        info: Info,
        from_sequence: FromSequence = None,
        to_sequence: ToSequence = None,
        since_last_run: SinceLastRun = False,
    ) -> ChainVerification:
        services, principal = info.context.services, info.context.principal
        return ChainVerification.of(
            await verify_chain(
                services.database,
                services.keys,
                services.heads,
                principal.organisation,
                requested_by=principal.id,
                stretch=Stretch(from_sequence, to_sequence, since_last_run),
                signed=await services.checkpoints.known(principal.organisation),
            )
        )

    @needs(Permission.AUDIT_READ)
    @strawberry.field(description="The verifications of the organisation's chain, the latest first.")
    async def chain_verifications(
        self,
        info: Info,
        first: Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")] = None,
        after: Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")] = None,
    ) -> Connection[ChainVerificationRun]:
        services, principal = info.context.services, info.context.principal
        size = page_size(first)
        place = runs.parse_place(decode_cursor(VERIFICATIONS, after))
        rows = await runs.page(services.database, principal.organisation, size + 1, place)
        return connect(VERIFICATIONS, rows, size, after, node=ChainVerificationRun.of, position=runs.place_of)


def _position(item: _Attribution) -> str:
    return str(item.id)
