"""R1 in one statement: the clock, and the spaces, weights and sources that a caller reaches from one space, with the
lens that they look through."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.domain.dlp.policy import DEFAULT_POLICY, Policy
from app.domain.principal import Token
from app.storage.engine import Session
from app.storage.permissions import stands
from app.storage.policies import TODAY, flagged, today
from app.storage.revocations import revoked, token_parameters
from app.storage.scope import believed_now, known, tenant, valid


def _on(path: str) -> str:
    """`h` holds on a space of that path: granted there or above, and where a key reaches."""
    return f"h.space_id = ANY({path}) AND (h.within IS NULL OR h.within && {path})"


# One row: the clock, and everything about spaces that the question needs. A space counts when it was known at :known_at
# and still exists today; permission is always today's, held where the space stands today. An active space and a lens
# are as they were known then, and count only for who may see their space today. The policy against leaks and the class
# of a source are today's.
_REACH = text(
    f"""
    WITH clock AS (
        SELECT system_at, least(CAST(:known_at AS timestamptz), system_at) AS asked, greatest(now(), system_at) AS now
        FROM organisation_clocks c WHERE {tenant("c")}
    ), at AS (
        SELECT system_at, coalesce(asked, system_at) AS known_at, now FROM clock
    ), held AS (
        SELECT g.space_id, g.permission, k.spaces AS within
        FROM at, grants g LEFT JOIN api_keys k ON {tenant("k")} AND k.principal_id = g.principal_id
        WHERE {believed_now("g")} AND {valid("g", "at.now")} AND g.principal_id = ANY(CAST(:principals AS uuid[]))
        AND (k.id IS NULL OR {stands("k")} AND g.permission = ANY(k.actions))
    ), tree AS (
        SELECT s.*, t.path AS path_today, t.owner_id AS owner_today
        FROM at, spaces s JOIN spaces t ON {believed_now("t")} AND t.id = s.id WHERE {known("s", "at.known_at")}
    ), active AS (
        SELECT t.id FROM at, active_spaces a JOIN tree t ON t.id = a.space_id
        WHERE {known("a", "at.known_at")} AND a.principal_id = :user
        AND (t.owner_today = :user
            OR t.owner_today IS NULL AND EXISTS (SELECT FROM held h WHERE {_on("t.path_today")}))
    ), target AS (
        SELECT path FROM tree WHERE (owner_today IS NULL OR owner_today = :user) AND (
            id = CAST(:space_id AS uuid) OR key_path = CAST(:key_path AS text)
            OR (CAST(:space_id AS uuid) IS NULL AND CAST(:key_path AS text) IS NULL AND (
                id = (SELECT id FROM active)
                OR NOT EXISTS (SELECT FROM active) AND parent_id IS NULL AND owner_id IS NULL)))
    ), chain AS (
        SELECT t.id, t.level, t.key_path, t.name, t.path,
            coalesce(t.owner_today = :user, false) AS own,
            ARRAY(SELECT DISTINCT h.permission FROM held h WHERE {_on("t.path_today")}) AS permissions
        FROM tree t
        WHERE t.id IN (SELECT unnest(path) FROM target) OR t.owner_today = :user
    )
    SELECT at.system_at, at.now,
        (SELECT path FROM target LIMIT 1) AS target,
        (SELECT jsonb_agg(to_jsonb(chain) ORDER BY cardinality(path), id) FROM chain) AS spaces,
        (SELECT jsonb_object_agg(w.level, w.weight) FROM level_weights w WHERE {known("w", "at.known_at")}) AS weights,
        (SELECT jsonb_agg(jsonb_build_object(
                'id', o.id, 'space_id', o.space_id, 'kind', o.kind, 'provider', o.provider, 'name', o.name,
                'classification', p.classification, 'flagged', {flagged("o.id", "p.classification")},
                'language', o.language, 'index_version', o.index_version,
                'access_policy', o.access_policy,
                'synced_at', (SELECT max(y.system_from) FROM source_syncs y WHERE {tenant("y")}
                    AND y.source_id = o.id AND y.system_from <= at.known_at)) ORDER BY o.id)
            FROM sources o JOIN sources p ON {believed_now("p")} AND p.id = o.id
            WHERE {known("o", "at.known_at")} AND o.space_id IN (SELECT id FROM chain)) AS sources,
        (SELECT to_jsonb(l) FROM lenses l JOIN spaces s ON {believed_now("s")} AND s.id = l.space_id
            WHERE {known("l", "at.known_at")} AND l.id = CAST(:lens_id AS uuid) AND (s.owner_id = :user
                OR s.owner_id IS NULL AND EXISTS (SELECT FROM held h WHERE {_on("s.path")}))) AS lens,
        {revoked()} AS revoked,
        ({TODAY}) AS policy
    FROM at
    """
)


@dataclass(frozen=True, slots=True)
class Reach:
    """What one caller can reach from one space, as the database holds it (JSON already decoded)."""

    clock: datetime
    known_at: datetime
    now: datetime
    target: list[UUID] | None
    spaces: list[dict[str, Any]]
    weights: dict[str, float]
    sources: list[dict[str, Any]]
    lens: dict[str, Any] | None = None
    revoked: bool = False
    policy: Policy = DEFAULT_POLICY


async def reach(
    session: Session,
    *,
    user: UUID,
    principals: Sequence[UUID],
    space_id: UUID | None,
    key_path: str | None,
    known_at: datetime | None,
    lens_id: UUID | None = None,
    token: Token | None = None,
) -> Reach | None:
    """None when the organisation does not exist. With neither space id nor key path, the caller's active space; the
    organisation's own when none is set, or when they may not see it. A lens that they may not see is None. `revoked`
    says that their token is."""
    rows = await session.fetch(
        _REACH,
        {
            "organisation": session.organisation,
            "user": user,
            "principals": list(principals),
            "space_id": space_id,
            "key_path": key_path,
            "known_at": known_at,
            "lens_id": lens_id,
            **token_parameters(user, token),
        },
    )
    if not rows:
        return None
    clock, now, target, spaces, weights, sources, lens, revoked_token, policy = rows[0]
    return Reach(
        clock=clock,
        # Not read back: the driver would return the first instant there is as one without an offset.
        known_at=clock if known_at is None else min(known_at, clock),
        now=now,
        target=target,
        spaces=spaces or [],
        weights=weights or {},
        sources=sources or [],
        lens=lens,
        revoked=revoked_token,
        policy=today(policy),
    )
