"""E10. Where an item went: every retrieval that delivered it, and every response that is linked to one of these."""

import json
from collections import defaultdict
from dataclasses import dataclass
from uuid import UUID

from app.domain.errors import bad_input
from app.domain.principal import Principal, parse_id
from app.evidence.attribution import Attribution, attribution_of, shown_of
from app.evidence.sight import Sight
from app.storage import delivered
from app.storage.engine import Database

SHA256_BYTES = 32


@dataclass(frozen=True, slots=True)
class Link:
    """A response, or a call of a model, that used what was delivered."""

    id: UUID
    response_id: str
    linked_at: str


@dataclass(frozen=True, slots=True)
class Use:
    """A retrieval that delivered the item, the rows of it that were delivered, and what was made of them."""

    attribution: Attribution
    items: tuple[UUID, ...]
    links: tuple[Link, ...]


async def impact(
    database: Database,
    principal: Principal,
    *,
    item_id: str | None = None,
    sha256: str | None = None,
    after: UUID | None = None,
    limit: int,
) -> list[Use]:
    """Newest first, up to `limit`, before the retrieval `after`. An item is a chunk, a document, a memory or a version
    of one; `sha256` is of a text as it was delivered, in hexadecimal. Who retrieved, who administers the space that was
    asked in, and auditors see a record; others' are left out without a trace, as is an item that the administrator of
    the space may not see."""
    if (item_id is None) == (sha256 is None):
        raise bad_input("either an item or the hash of a text is asked for", "itemId")
    id = None if item_id is None else parse_id(item_id)
    digest = None if sha256 is None else _digest(sha256)
    if id is None and digest is None:
        return []
    async with database.snapshot(principal.organisation) as session:
        sight = await Sight.of(session, principal)
        found = await delivered.used(
            session,
            id=id,
            sha256=digest,
            viewer=sight.viewer,
            after=after,
            limit=limit,
        )
        ids = [attribution for attribution, _ in found]
        records = await delivered.records(session, ids)
        links: dict[UUID, list[Link]] = defaultdict(list)
        for row in await delivered.links(session, ids):
            record = json.loads(row.payload)
            used = record.get("responseId") or record.get("gatewayRequestId")
            if used is not None:
                links[row.attribution_id].append(Link(UUID(record["id"]), str(used), record["issuedAt"]))
        shown = await shown_of(session, sight, [attribution_of(records[id]) for id in ids])
    return [
        Use(
            record,
            tuple(items),
            tuple(sorted(links[attribution], key=lambda link: link.id)),
        )
        for record, (attribution, items) in zip(shown, found, strict=True)
    ]


def _digest(sha256: str) -> bytes:
    try:
        digest = bytes.fromhex(sha256)
    except ValueError:
        digest = b""
    if len(digest) != SHA256_BYTES or len(sha256) != 2 * SHA256_BYTES:
        raise bad_input("a SHA-256 has 64 hexadecimal digits", "contentSha256")
    return digest
