"""Checking a chain: every entry in one snapshot against the keys, and its end against the head kept on disk."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from app.domain.chain import Outcome, Verdict, Verifier
from app.providers.head_file import HeadFile, HeadFileError, HeadKeyMissing
from app.providers.ids import new_id
from app.providers.keyring import KeyRing
from app.storage import evidence
from app.storage.engine import Database


async def verify_chain(
    database: Database,
    keys: KeyRing,
    heads: HeadFile,
    organisation: UUID,
    *,
    requested_by: UUID | None = None,
    progress: Callable[[int], None] = lambda checked: None,
) -> Verdict:
    """Constant memory: entries are streamed. The run itself is recorded. `progress` is told the records checked."""
    started = datetime.now(UTC)
    verdict = await _check(database, keys, heads, organisation, progress)
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
    database: Database, keys: KeyRing, heads: HeadFile, organisation: UUID, progress: Callable[[int], None]
) -> Verdict:
    # Read before the snapshot: the chain only grows, so it must reach at least this far.
    try:
        head = heads.read(organisation)
    except HeadKeyMissing as error:
        return Verdict(Outcome.UNVERIFIABLE, None, 0, str(error))
    except HeadFileError as error:
        return Verdict(Outcome.TAMPERED, None, 0, str(error))
    verifier = Verifier(organisation, lambda key_id: keys.organisation_key(organisation, key_id), head)
    async with database.snapshot(organisation) as session:
        async for batch in evidence.stream(session):
            for entry in batch:
                if not verifier.feed(entry):
                    return verifier.finish()
            progress(verifier.checked_records)
    verdict = verifier.finish()
    if head is None and verdict.verdict is Outcome.VALID and verdict.checked_records:
        return replace(verdict, reason=f"{verdict.reason} No head is recorded here, so a missing end cannot be told.")
    return verdict
