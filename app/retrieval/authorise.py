"""R1. From the caller and the named space to the spaces and sources that may be searched, and the point of both clocks.

Old clocks never widen access: grants, spaces and sources count as they stand today, whatever `knownAt` says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from app.domain.contract import Exclusion
from app.domain.dlp.policy import DEFAULT_POLICY, Policy
from app.domain.dlp.scanning import Scanner
from app.domain.errors import Code, MunimentError
from app.domain.lens import Lens, TagSets, tag_sets
from app.domain.principal import Level, Permission, Source, Space, parse_id
from app.domain.scoring import LEVEL_WEIGHTS
from app.domain.temporal import AsOf
from app.identity.tokens import unauthenticated
from app.providers.redaction.scanner import SCANNER
from app.retrieval.admit import admit
from app.retrieval.lens import lens_id, looked_through, untagged
from app.retrieval.request import RetrievalRequest, clean
from app.storage import reach
from app.storage.engine import Session
from app.storage.scope import Scope


@dataclass(frozen=True, slots=True)
class Authorised:
    """What may be searched, and when; and what policy what is found of it passes on its way out."""

    scope: Scope
    target: Space | None
    spaces: Mapping[UUID, Space]
    weights: Mapping[Level, float]
    sources: Mapping[UUID, Source]
    exclusions: tuple[Exclusion, ...]
    historical: bool
    now: datetime
    clock: datetime
    lens: Lens | None = None
    tags: TagSets = ()
    policy: Policy = DEFAULT_POLICY
    scanner: Scanner = SCANNER


async def authorise(
    session: Session,
    request: RetrievalRequest,
    level_weights: Mapping[Level, float] = LEVEL_WEIGHTS,
    scanner: Scanner = SCANNER,
) -> Authorised:
    """SPACE_NOT_FOUND for a space that is unknown, malformed or invisible: one answer for all three; NOT_FOUND for
    such a lens."""
    principal = request.principal
    reached = await reach.reach(
        session,
        user=principal.id,
        principals=principal.identities,
        space_id=_named_id(request),
        key_path=_named_key(request),
        known_at=request.known_at,
        lens_id=lens_id(request),
        token=principal.token,
    )
    if reached is None:
        raise MunimentError(Code.FORBIDDEN, "the token's organisation does not exist")
    if reached.revoked:
        raise unauthenticated()
    named = request.space_id is not None or request.space_key is not None
    spaces = {UUID(row["id"]): space_of(row) for row in reached.spaces if _may_search(row)}
    target = None if reached.target is None else reached.target[-1]
    if named and not any(UUID(row["id"]) == target and (row["permissions"] or row["own"]) for row in reached.spaces):
        raise _not_found(request)
    lens = looked_through(request, reached.lens)
    tags = tag_sets(request.parameters.tags, None if lens is None else lens.tags)
    known = {UUID(row["id"]): source_of(row) for row in reached.sources}
    permitted = {id: source for id, source in known.items() if source.space_id in spaces}
    wanted, exclusions = admit(permitted, principal, request.parameters, lens)
    return Authorised(
        scope=Scope(
            session.organisation,
            AsOf(request.as_of or reached.now, reached.known_at),
            present=reached.known_at == reached.clock,
        ),
        target=spaces.get(target) if target else None,
        spaces={id: space for id, space in spaces.items() if lens is None or lens.admits_space(id)},
        weights={**level_weights, **{Level(level): float(weight) for level, weight in reached.weights.items()}},
        sources=wanted,
        exclusions=(*exclusions, *untagged(tags, wanted)),
        historical=reached.known_at < reached.clock or (request.as_of is not None and request.as_of < reached.now),
        now=reached.now,
        clock=reached.clock,
        lens=lens,
        tags=tags,
        policy=reached.policy,
        scanner=scanner,
    )


def _not_found(request: RetrievalRequest) -> MunimentError:
    return MunimentError(Code.SPACE_NOT_FOUND, "no such space", "spaceId" if request.space_key is None else "spaceKey")


def _named_id(request: RetrievalRequest) -> UUID | None:
    if request.space_id is None:
        return None
    named = parse_id(request.space_id)
    if named is None:
        raise _not_found(request)
    return named


def _named_key(request: RetrievalRequest) -> str | None:
    if request.space_key is None:
        return None
    try:
        key = clean(request.space_key, "spaceKey", 2000)
    except MunimentError as error:
        raise _not_found(request) from error
    if not key:
        raise _not_found(request)
    return key.strip("/") or "/"


def _may_search(row: Mapping[str, Any]) -> bool:
    return row["own"] or Permission.SEARCH.value in row["permissions"]


def space_of(row: Mapping[str, Any]) -> Space:
    return Space(
        id=UUID(row["id"]),
        level=Level(row["level"]),
        key_path=row["key_path"],
        name=row["name"],
        path=tuple(UUID(step) for step in row["path"]),
    )


def source_of(row: Mapping[str, Any]) -> Source:
    synced = row["synced_at"]
    return Source(
        id=UUID(row["id"]),
        space_id=UUID(row["space_id"]),
        kind=row["kind"],
        provider=row["provider"],
        name=row["name"],
        classification=row["classification"],
        language=row["language"],
        index_version=row["index_version"],
        access_policy=row["access_policy"],
        synced_at=datetime.fromisoformat(synced) if synced else None,
        flagged=row["flagged"],
    )
