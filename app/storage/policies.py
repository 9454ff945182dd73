"""An organisation's policy against leaks, as a fact: one policy, believed from the moment that it was set."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import text

from app.domain.dlp.policy import DEFAULT_POLICY, Action, Classification, Policy
from app.domain.temporal import ALWAYS, Assert
from app.storage.engine import AnyRow, Session, WriteSession
from app.storage.facts import Family
from app.storage.scope import believed_now


def policy_of(number: int, actions: Mapping[str, str]) -> Policy:
    """A policy from what is stored."""
    return Policy.of(number, {Classification(kind): Action(action) for kind, action in actions.items()})


def _encode(policy: Policy) -> Mapping[str, Any]:
    return {"number": policy.number, "actions": json.dumps({kind.value: done.value for kind, done in policy.actions})}


def _decode(row: AnyRow) -> Policy:
    return policy_of(row.number, row.actions)


POLICIES: Family[Policy] = Family("dlp_policies", "policy_id", {"number": "", "actions": "jsonb"}, _encode, _decode)

#: What is read of today's policy inside another statement: NULL while none was set.
TODAY = (
    f"SELECT jsonb_build_object('number', d.number, 'actions', d.actions) FROM dlp_policies d WHERE {believed_now('d')}"
)


def flagged(source: str, classification: str) -> str:
    """Whether something is found in a source of a class that is then blocked whole. `source` is its id. No chunk is
    looked for where the class is not."""
    return f"""(coalesce((SELECT d.actions ->> {classification} FROM dlp_policies d WHERE {believed_now("d")})
        = '{Action.BLOCK_SOURCE.value}', false) AND EXISTS (SELECT FROM chunks c WHERE {believed_now("c")}
        AND c.source_id = {source} AND c.findings IS NOT NULL))"""


def today(row: Mapping[str, Any] | None) -> Policy:
    """From what `TODAY` read."""
    return DEFAULT_POLICY if row is None else policy_of(row["number"], row["actions"])


def policy_id(organisation: UUID) -> UUID:
    return uuid5(organisation, "dlp")


async def current(session: Session) -> Policy:
    """Today's; the default while none was set."""
    id = policy_id(session.organisation)
    rows = (await POLICIES.believed(session, [id]))[id]
    return rows[0].portion.value if rows else DEFAULT_POLICY


async def known(session: Session, known_at: datetime) -> tuple[Policy, datetime | None]:
    """As it was known then, and since when."""
    versions = await POLICIES.timeline(session, policy_id(session.organisation), known_at)
    return (versions[0][1].value, versions[0][1].system.start) if versions else (DEFAULT_POLICY, None)


async def change(session: WriteSession, actions: Mapping[Classification, Action]) -> Policy:
    """The policy from now on; the same again changes nothing."""
    before = await current(session)
    after = Policy.of(before.number + 1, actions)
    if after.actions == before.actions:
        return before
    await POLICIES.change(session, policy_id(session.organisation), Assert(ALWAYS, after))
    return after


_STANDING = text(
    f"SELECT o.classification, ({TODAY}) AS policy FROM sources o "
    f"WHERE {believed_now('o')} AND o.id = CAST(:source AS uuid)"
)


async def masks(session: Session, source: UUID) -> bool:
    """Whether the index of a source is to be without what is found in its texts, by today's policy and class."""
    row = await session.row(_STANDING, {"organisation": session.organisation, "source": source})
    return row is None or today(row.policy).masks_index(row.classification)
