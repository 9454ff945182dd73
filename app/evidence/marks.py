"""Verified marks: how far a chain was found valid, so that a later check can go on from there.

A mark is kept in the database and sealed under the organisation's key, so that who can only write tables cannot make
one. They may put back an older mark; then more is checked than was needed.
"""

import hmac
from typing import NamedTuple
from uuid import UUID

import structlog

from app.domain.chain import MAC_BYTES, MAX_KEY_ID_BYTES, MAX_SEQUENCE, Head
from app.providers.keyring import KeyRing
from app.storage import verifications
from app.storage.engine import Session
from app.storage.verifications import StoredMark

log = structlog.get_logger()

SEAL_TAG = b"muniment/verified/v1\0"


class Mark(NamedTuple):
    """The entry up to which a chain was found valid, and the key id that it is sealed under."""

    head: Head
    key_id: str


def sealed(keys: KeyRing, organisation: UUID, mark: Mark) -> StoredMark | None:
    """None when the key is not held, or nothing was checked."""
    key = keys.organisation_key(organisation, mark.key_id) if mark.key_id else None
    if key is None or not mark.head.sequence:
        return None
    return StoredMark(mark.head.sequence, mark.head.mac, mark.key_id, _seal(key, organisation, mark))


async def furthest(session: Session, keys: KeyRing) -> Mark | None:
    """The stored mark, when its seal is good."""
    stored = await verifications.mark(session)
    if stored is None:
        return None
    mark = Mark(Head(stored.sequence, bytes(stored.mac)), stored.key_id)
    key = keys.organisation_key(session.organisation, mark.key_id)
    if key is None or not _is_sound(mark):
        return None
    if not hmac.compare_digest(_seal(key, session.organisation, mark), bytes(stored.seal)):
        log.error("verification.mark_forged", organisation=str(session.organisation), sequence=stored.sequence)
        return None
    return mark


def _is_sound(mark: Mark) -> bool:
    return (
        1 <= mark.head.sequence <= MAX_SEQUENCE
        and len(mark.head.mac) == MAC_BYTES
        and 1 <= len(mark.key_id.encode()) <= MAX_KEY_ID_BYTES
    )


def _seal(key: bytes, organisation: UUID, mark: Mark) -> bytes:
    name = mark.key_id.encode()
    message = b"".join(
        (
            SEAL_TAG,
            organisation.bytes,
            mark.head.sequence.to_bytes(8, "big"),
            bytes((len(name),)),
            name,
            mark.head.mac,
        )
    )
    return hmac.digest(key, message, "sha256")
