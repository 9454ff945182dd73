"""A verification of the chain while it runs."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import strawberry

from app.domain.chain import Verdict
from app.domain.principal import Permission
from app.evidence.verification import Stretch, verify_chain
from schema.context import Info
from schema.inputs.verification import FromSequence, SinceLastRun, ToSequence
from schema.permissions import needs
from schema.scalars import BigInt
from schema.types.evidence import ChainVerification

#: Seconds between two events of progress.
PACE = 0.25


@strawberry.type(description="How far a verification has come; the last event carries the verdict.")
class ChainVerificationEvent:
    checked_records: BigInt = strawberry.field(description="Records checked so far.")
    total_records: BigInt = strawberry.field(description="Records to check, as far as is known.")
    verification: ChainVerification | None = strawberry.field(description="What was found, in the last event.")


@strawberry.type
class VerificationSubscriptions:
    @needs(Permission.AUDIT_READ)
    @strawberry.subscription(
        description="Check the organisation's chain as `verifyChain` does, and tell how far the check has come."
    )
    async def chain_verification(
        self,
        info: Info,
        from_sequence: FromSequence = None,
        to_sequence: ToSequence = None,
        since_last_run: SinceLastRun = False,
    ) -> AsyncGenerator[ChainVerificationEvent, None]:
        run = _Run(info, Stretch(from_sequence, to_sequence, since_last_run))
        return run.events()


class _Run:
    def __init__(self, info: Info, stretch: Stretch) -> None:
        self._services = info.context.services
        self._principal = info.context.principal
        self._stretch = stretch
        self._checked = self._total = 0

    async def events(self) -> AsyncGenerator[ChainVerificationEvent, None]:
        """Progress at a pace that a page can show, then the verdict. Who goes away ends the check."""
        task = asyncio.create_task(self._verify())
        try:
            yield self._event(None)
            while not task.done():
                await asyncio.wait({task}, timeout=PACE)
                if not task.done():
                    yield self._event(None)
            yield self._event(task.result())
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task

    async def _verify(self) -> Verdict:
        services, principal = self._services, self._principal
        return await verify_chain(
            services.database,
            services.keys,
            services.heads,
            principal.organisation,
            requested_by=principal.id,
            stretch=self._stretch,
            signed=await services.checkpoints.known(principal.organisation),
            total=self._set_total,
            progress=self._set_checked,
        )

    def _set_total(self, count: int) -> None:
        self._total = count

    def _set_checked(self, count: int) -> None:
        self._checked = count

    def _event(self, verdict: Verdict | None) -> ChainVerificationEvent:
        checked = self._checked if verdict is None else verdict.checked_records
        return ChainVerificationEvent(
            checked_records=BigInt(checked),
            total_records=BigInt(max(self._total, checked)),
            verification=None if verdict is None else ChainVerification.of(verdict),
        )
