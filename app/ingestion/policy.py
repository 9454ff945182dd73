"""The organisation's policy against leaks: reading it, setting it, and what follows for the indexes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.dlp.policy import Action, Classification, Policy
from app.domain.errors import Code, MunimentError, bad_input
from app.domain.instant import format_instant, parse_instant
from app.domain.principal import Permission, Principal
from app.identity.once import Outcome, check_client_key, once
from app.storage import findings, permissions, policies, reading, reindexing
from app.storage.engine import Database, Session
from app.storage.findings import SourceFindings


@dataclass(frozen=True, slots=True)
class PolicyThen:
    """A policy as known at a point of system time; `system_from` None: none was set, the default is in force."""

    policy: Policy
    known_at: datetime
    system_from: datetime | None


async def read_policy(database: Database, principal: Principal, known_at: datetime | None = None) -> PolicyThen:
    """As it was known then, today by default. What is given out always passes today's."""
    async with database.snapshot(principal.organisation) as session:
        _, at = await reading.point(session, None, known_at)
        return await _read(session, at)


async def set_policy(
    database: Database,
    principal: Principal,
    actions: Sequence[tuple[Classification, Action]],
    *,
    expected: datetime | None = None,
    client_key: str | None = None,
) -> PolicyThen:
    """The policy from now on: classes that are not named have the default. It holds for the very next answer; indexes
    that it makes stale follow in the background. The same again changes nothing. CONFLICT when it was changed after
    `expected`."""
    check_client_key(client_key)
    wanted: dict[Classification, Action] = {}
    for classification, action in actions:
        if classification in wanted:
            raise bad_input(f"the class {classification} is given twice", "classification")
        wanted[classification] = action
    async with database.write(principal.organisation) as session:
        if not await permissions.holds_at_root(session, principal.identities, Permission.ORG_ADMIN):
            raise MunimentError(Code.FORBIDDEN, f"this needs {Permission.ORG_ADMIN}")

        async def work() -> Outcome:
            before = await _read(session, session.stamp)
            if expected is not None and before.system_from is not None and before.system_from > expected:
                raise MunimentError(Code.CONFLICT, "the policy was changed meanwhile", "expectedSystemFrom")
            after = await policies.change(session, wanted)
            await reindexing.enqueue(session, await _concerned(session, before.policy, after), whole=False)
            return Outcome({"knownAt": format_instant(session.stamp)})

        call = {"setDlpPolicy": {kind.value: action.value for kind, action in wanted.items()}}
        made = await once(session, principal, client_key, call, work)
        return await _read(session, parse_instant(made["knownAt"]))


async def read_findings(
    database: Database,
    organisation: UUID,
    *,
    after: UUID | None = None,
    limit: int = 1000,
    source: UUID | None = None,
    providers: Collection[str] | None = None,
) -> tuple[Policy, list[SourceFindings]]:
    """Today's policy, and what was found in each source, by id; of some providers or (None) of any."""
    async with database.snapshot(organisation) as session:
        policy = await policies.current(session)
        return policy, await findings.by_source(
            session, policy, source=source, providers=providers, after=after, limit=limit
        )


async def _read(session: Session, known_at: datetime) -> PolicyThen:
    policy, since = await policies.known(session, known_at)
    return PolicyThen(policy, known_at, since)


async def _concerned(session: Session, before: Policy, after: Policy) -> list[UUID]:
    """Sources whose index, or whose embeddings, another policy makes others."""
    classes = [kind.value for kind, action in after.actions if before.action(kind.value) is not action]
    return await findings.sources_of(session, classes)
