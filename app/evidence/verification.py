"""Checking a chain: every entry in one snapshot against the keys, and its end against the head kept on disk."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import structlog

from app.domain.chain import Head, Outcome, Verdict, Verifier
from app.providers.head_file import HeadFile, HeadFileError, HeadKeyMissing
from app.providers.ids import new_id
from app.providers.keyring import KeyRing
from app.providers.private_file import PrivateFileError
from app.storage import evidence
from app.storage.engine import Database

log = structlog.get_logger()

#: Of two verdicts on one chain the graver is told.
_SEVERITY = {
    Outcome.VALID: 0,
    Outcome.UNVERIFIABLE: 1,
    Outcome.TRUNCATED: 2,
    Outcome.FORKED: 3,
    Outcome.TAMPERED: 3,
}


async def verify_chain(
    database: Database,
    keys: KeyRing,
    heads: HeadFile,
    organisation: UUID,
    *,
    requested_by: UUID | None = None,
    adopt: bool = False,
    progress: Callable[[int], None] = lambda checked: None,
) -> Verdict:
    """Constant memory: entries are streamed. The run itself is recorded. `progress` is told the records checked.

    `adopt`: an operator vouches for a valid chain whose recorded head is missing; its end is recorded from now on.
    """
    started = datetime.now(UTC)
    verdict = await _check(database, keys, heads, organisation, adopt, progress)
    async with database.unstamped(organisation) as session:
        await evidence.record_verification(
            session,
            id=new_id(),
            started=started,
            verdict=verdict.verdict.value,
            first_bad=verdict.first_bad_sequence,
            checked=verdict.checked_records,
            requested_by=requested_by,
        )
    return verdict


async def _check(
    database: Database,
    keys: KeyRing,
    heads: HeadFile,
    organisation: UUID,
    adopt: bool,
    progress: Callable[[int], None],
) -> Verdict:
    # Read before the snapshot: the chain only grows, so it must reach at least this far.
    head, doubt = await asyncio.to_thread(_recorded_head, heads, organisation)
    verifier = Verifier(organisation, lambda key_id: keys.organisation_key(organisation, key_id), head)
    last_key_id = ""
    async with database.snapshot(organisation) as session, aclosing(evidence.stream(session)) as batches:
        async for batch in batches:
            going = all(verifier.feed(entry) for entry in batch)
            progress(verifier.checked_records)
            last_key_id = batch[-1].key_id
            if not going:
                break
    verdict = verifier.finish()
    if doubt is not None and _SEVERITY[doubt.verdict] > _SEVERITY[verdict.verdict]:
        return replace(doubt, checked_records=verdict.checked_records)
    if doubt is None and verdict.verdict is Outcome.VALID and verdict.checked_records and (head is not None or adopt):
        # Killed between a commit and its head, a sequencer leaves the head behind; what is valid now may be held to.
        try:
            await asyncio.to_thread(heads.advance, organisation, verifier.head, last_key_id)
        except (HeadFileError, PrivateFileError, OSError):
            log.exception("verification.head_not_recorded", organisation=str(organisation))
    if head is None and verdict.verdict is Outcome.VALID and verdict.checked_records:
        return replace(verdict, reason=f"{verdict.reason} No head is recorded here, so a missing end cannot be told.")
    return verdict


def _recorded_head(heads: HeadFile, organisation: UUID) -> tuple[Head | None, Verdict | None]:
    """The head kept on disk; when its file cannot be believed, what that alone says of the chain."""
    refused: HeadFileError
    try:
        return heads.read(organisation), None
    except HeadKeyMissing as error:
        refused, outcome, reason = error, Outcome.UNVERIFIABLE, "The key of the recorded head is missing."
    except HeadFileError as error:
        refused, outcome, reason = error, Outcome.TAMPERED, "The recorded head was changed: its seal does not fit."
    # The log names the file; a reason is read by callers of the API, whom our folders do not concern.
    log.error("verification.head_refused", organisation=str(organisation), error=str(refused))
    return None, Verdict(outcome, None, 0, reason)
