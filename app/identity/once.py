"""A client's own key: the same call made again gives the same answer and changes nothing."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.domain.errors import Code, MunimentError, bad_input
from app.domain.principal import Principal
from app.providers.parsers.registry import clean
from app.storage import client_keys
from app.storage.engine import Session, WriteSession

MAX_CLIENT_KEY = 128


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call did, as plain JSON, and the subject that it was about."""

    value: dict[str, Any]
    subject_id: UUID | None = None


def check_client_key(key: str | None) -> None:
    if key is not None and (not 0 < len(key) <= MAX_CLIENT_KEY or clean(key)[1]):
        raise bad_input(f"1 to {MAX_CLIENT_KEY} characters, without NUL or lone surrogates", "clientKey")


async def once(
    session: WriteSession,
    principal: Principal,
    key: str | None,
    call: Mapping[str, Any],
    work: Callable[[], Awaitable[Outcome]],
) -> dict[str, Any]:
    """Do the work unless this key has done it. CONFLICT when the key was used for another call.

    `call` is what the call asks for, as plain JSON. The clock's lock is held, so two equal calls at once take turns.
    """
    if key is None:
        return (await work()).value
    made = await done(session, principal, key, call)
    if made is not None:
        return made
    outcome = await work()
    await client_keys.store(session, principal.id, key, _fingerprint(call), outcome.value, outcome.subject_id)
    return outcome.value


async def done(
    session: Session, principal: Principal, key: str | None, call: Mapping[str, Any]
) -> dict[str, Any] | None:
    """What the call did when it was made with this key before. CONFLICT when the key was used for another call."""
    before = None if key is None else await client_keys.find(session, principal.id, key)
    if before is None:
        return None
    if before[0] != _fingerprint(call):
        raise MunimentError(Code.CONFLICT, "this client key was used for another call", "clientKey")
    return before[1]


def _fingerprint(call: Mapping[str, Any]) -> bytes:
    return hashlib.sha256(json.dumps(call, sort_keys=True, default=str).encode()).digest()
