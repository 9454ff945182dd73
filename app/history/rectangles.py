"""The history of any fact: every rectangle of valid and system time that was ever believed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from app.domain.dlp.policy import Action
from app.domain.dlp.scanning import Scanner
from app.domain.document import DocumentFacts
from app.domain.errors import Code, MunimentError
from app.domain.memory import MemoryFacts
from app.domain.principal import Permission, Principal, parse_id
from app.domain.temporal import Period
from app.identity.spaces import NOWHERE, permitted
from app.providers.redaction.scanner import SCANNER
from app.storage import facts as stored
from app.storage import policies
from app.storage.documents import VERSIONS as DOCUMENTS
from app.storage.engine import Database, Session
from app.storage.grants import GRANTS
from app.storage.memories import VERSIONS as MEMORIES
from app.storage.subjects import MEMBERSHIPS


class Kind(StrEnum):
    """What kind of fact a history is of."""

    DOCUMENT = "document"
    MEMORY = "memory"
    MEMBERSHIP = "membership"
    GRANT = "grant"


@dataclass(frozen=True, slots=True)
class Rectangle:
    """One version: what was believed for a valid period, and while it was believed."""

    id: UUID
    kind: Kind
    valid: Period
    system: Period
    value: Mapping[str, Any]


async def history(
    database: Database,
    principal: Principal,
    id: str,
    *,
    known_at: datetime | None = None,
    after: int = 0,
    limit: int = 100,
    scanner: Scanner = SCANNER,
) -> list[Rectangle]:
    """By system time, then valid time. With `known_at` only what was believed then, in valid order.

    NOT_FOUND when there is no such fact, or not for this caller.
    """
    fact = parse_id(id)
    async with database.snapshot(principal.organisation) as session:
        found = None if fact is None else await stored.find_fact(session, fact)
        needed = Permission.ADMIN if found is not None and found.kind == Kind.GRANT else Permission.READ
        space = NOWHERE if found is None else found.space_id
        await permitted(session, principal, needed, space_id=space, missing=_not_found())
        if fact is None or found is None or not principal.admits(found.provider):
            raise _not_found()
        kind = Kind(found.kind)
        versions = await _versions(session, kind, fact, known_at, after, limit)
        if kind is not Kind.DOCUMENT:
            return versions
        # As in a listing: what is said of a document passes today's policy, which is asked for where it matters.
        shown = [replace(version, value=scanner.redacted_json(version.value)) for version in versions]
        if shown == versions or await _given_as_it_is(session, found.classification):
            return versions
        return shown


async def _given_as_it_is(session: Session, classification: str | None) -> bool:
    return (await policies.current(session)).action(classification or "") is Action.ALLOW


async def _versions(
    session: Session, kind: Kind, fact: UUID, known_at: datetime | None, after: int, limit: int
) -> list[Rectangle]:
    match kind:
        case Kind.DOCUMENT:
            return await _read(session, DOCUMENTS, kind, fact, known_at, after, limit, _document)
        case Kind.MEMORY:
            return await _read(session, MEMORIES, kind, fact, known_at, after, limit, _memory)
        case Kind.MEMBERSHIP:
            return await _read(session, MEMBERSHIPS, kind, fact, known_at, after, limit, _membership)
        case Kind.GRANT:
            return await _read(session, GRANTS, kind, fact, known_at, after, limit, _grant)


async def _read(
    session: Session,
    family: stored.Family[Any],
    kind: Kind,
    fact: UUID,
    known_at: datetime | None,
    after: int,
    limit: int,
    shown: Any,
) -> list[Rectangle]:
    versions: Sequence[tuple[UUID, Any]]
    if known_at is None:
        versions = await family.history(session, fact, after, limit)
    else:
        versions = (await family.timeline(session, fact, known_at))[after : after + limit]
    return [Rectangle(id, kind, version.valid, version.system, shown(version.value)) for id, version in versions]


def _document(facts: DocumentFacts) -> Mapping[str, Any]:
    return {
        "externalId": facts.external_id,
        "title": facts.title,
        "contentSha256": facts.content_sha256.hex(),
        "tags": list(facts.tags),
    }


def _memory(facts: MemoryFacts) -> Mapping[str, Any]:
    return {
        "text": facts.text,
        "importance": facts.importance,
        "confidence": facts.confidence,
        "epistemicStatus": facts.epistemic_status.value,
        "transformType": facts.transform_type.value,
        "tags": list(facts.tags),
        "revision": facts.revision,
    }


def _membership(verified: bool) -> Mapping[str, Any]:
    return {"verified": verified}


def _grant(granted_by: UUID | None) -> Mapping[str, Any]:
    return {"grantedBy": None if granted_by is None else str(granted_by)}


def _not_found() -> MunimentError:
    return MunimentError(Code.NOT_FOUND, "no such fact", "id")
