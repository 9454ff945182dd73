"""Checking a chain: entries in one snapshot against the keys, and its end against what is known outside the tables."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import structlog

from app.domain.canonical import MAX_SAFE_INTEGER, big, canonical
from app.domain.chain import EMPTY, MAX_SEQUENCE, Head, Outcome, Verdict, Verifier
from app.domain.errors import bad_input
from app.domain.evidence_tree import Root, TreeCheck
from app.domain.instant import format_instant
from app.evidence import marks
from app.evidence.marks import Mark
from app.evidence.tree import TreeError, fits, stored
from app.providers.head_file import HeadFile, HeadFileError, HeadKeyMissing, HeadLost
from app.providers.ids import new_id
from app.providers.keyring import KeyRing
from app.providers.private_file import PrivateFileError
from app.storage import evidence, merkle, queue, verifications
from app.storage.engine import Database, Session
from app.storage.verifications import StoredMark, StoredRun

log = structlog.get_logger()

CATEGORY = "chain_verification"

#: Of two verdicts on one chain the graver is told.
_SEVERITY = {
    Outcome.VALID: 0,
    Outcome.UNVERIFIABLE: 1,
    Outcome.TRUNCATED: 2,
    Outcome.FORKED: 3,
    Outcome.TAMPERED: 3,
}

#: The least sequence that the column can hold: an edit may put an entry anywhere.
_LEAST = -(2**63)

#: Verdicts of this process since its start.
verdicts: Counter[Outcome] = Counter()


class Occasion(StrEnum):
    """Why a run was made; the words are part of the schema."""

    REQUEST = "REQUEST"
    COMMAND = "COMMAND"
    SCHEDULE = "SCHEDULE"


@dataclass(frozen=True, slots=True)
class Stretch:
    """What of a chain to check: entries `first` to `last`, both included, None for its beginning and its end; or those
    since the last valid run (`incremental`)."""

    first: int | None = None
    last: int | None = None
    incremental: bool = False

    def __post_init__(self) -> None:
        if self.incremental and (self.first is not None or self.last is not None):
            raise bad_input("a check since the last one has no range of its own", "sinceLastRun")
        for name, value in (("fromSequence", self.first), ("toSequence", self.last)):
            if value is not None and not 1 <= value <= MAX_SEQUENCE:
                raise bad_input("a sequence lies between 1 and 2^63 - 1", name)
        if self.first is not None and self.last is not None and self.first > self.last:
            raise bad_input("must not come before fromSequence", "toSequence")


WHOLE = Stretch()


def _nothing(_number: int) -> None:
    pass


async def verify_chain(
    database: Database,
    keys: KeyRing,
    heads: HeadFile,
    organisation: UUID,
    *,
    requested_by: UUID | None = None,
    occasion: Occasion = Occasion.REQUEST,
    stretch: Stretch = WHOLE,
    signed: Sequence[Root] | None = None,
    adopt: bool = False,
    total: Callable[[int], None] = _nothing,
    progress: Callable[[int], None] = _nothing,
) -> Verdict:
    """Constant memory: entries are streamed. The run itself is recorded; one of the schedule, and whatever found
    something, also in the chain. `total` is told the records to check, `progress` those that were.

    `signed`: roots under good signatures, that the records are held against, as is every node of the stored tree.
    Without it the MACs alone are checked, which costs half as much.
    `adopt`: an operator vouches for a valid chain whose recorded head is missing; its end is recorded from now on.
    """
    started = datetime.now(UTC)
    check = _Check(database, keys, heads, organisation, stretch, signed, adopt)
    verdict = await check.run(total, progress)
    run = StoredRun(
        id=new_id(),
        occasion=occasion.value,
        requested_by=requested_by,
        started_at=started,
        finished_at=datetime.now(UTC),
        verdict=verdict.verdict.value,
        first_bad_sequence=verdict.first_bad_sequence,
        checked_records=verdict.checked_records,
        first=check.first if verdict.checked_records else None,
        last=check.last if verdict.checked_records else None,
        reason=verdict.reason,
    )
    verdicts[verdict.verdict] += 1
    if verdict.verdict is not Outcome.VALID:
        log.error(
            "verification.bad",
            organisation=str(organisation),
            verdict=verdict.verdict.value,
            first_bad_sequence=verdict.first_bad_sequence,
            reason=verdict.reason,
        )
    async with database.unstamped(organisation) as session:
        await verifications.record(session, run, check.mark if verdict.checked_records else None)
        if verdict.verdict is not Outcome.VALID or (occasion is Occasion.SCHEDULE and verdict.checked_records):
            await queue.enqueue(session, run.id, _payload(organisation, run))
    return verdict


def _payload(organisation: UUID, run: StoredRun) -> bytes:
    """The run as a record of the chain, so that it cannot be taken back by who can write tables."""
    who: dict[str, Any] = {} if run.requested_by is None else {"userId": str(run.requested_by)}

    def number(value: int | None) -> Any:
        return value if value is None or abs(value) <= MAX_SAFE_INTEGER else big(value)

    return canonical(
        {
            "category": CATEGORY,
            "id": str(run.id),
            "organisationId": str(organisation),
            **who,
            "occasion": run.occasion,
            "verdict": run.verdict,
            "firstBadSequence": number(run.first_bad_sequence),
            "checkedRecords": number(run.checked_records),
            "fromSequence": number(run.first),
            "toSequence": number(run.last),
            "startedAt": format_instant(run.started_at),
            "issuedAt": format_instant(run.finished_at),
        }
    )


class _Check:
    """One check. `first` and `last` are the places that it read, `mark` what a later one may go on from."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        heads: HeadFile,
        organisation: UUID,
        stretch: Stretch,
        signed: Sequence[Root] | None,
        adopt: bool,
    ) -> None:
        self._database = database
        self._keys = keys
        self._heads = heads
        self._organisation = organisation
        self._stretch = stretch
        self._signed = signed
        self._sizes = [root.size for root in signed or ()]
        self._adopt = adopt
        self.first = self.last = 0
        self.mark: StoredMark | None = None
        self._damaged = False
        self._leaves = 0

    async def run(self, total: Callable[[int], None], progress: Callable[[int], None]) -> Verdict:
        # Read before the snapshot: the chain only grows, so it must reach at least this far.
        head, doubt = await asyncio.to_thread(self._recorded_head)
        async with self._database.snapshot(self._organisation) as session:
            end = await evidence.head(session)
            if head is None and doubt is None and end.sequence:
                head, doubt = await asyncio.to_thread(self._missing_head)
            start, missing = await self._start(session, end, head)
            if missing is not None:
                return missing
            last = self._stretch.last if self._stretch.last is not None else MAX_SEQUENCE
            reach = max(self._reach, head.sequence if head is not None else 0)
            verifier = Verifier(
                self._organisation,
                lambda key_id: self._keys.organisation_key(self._organisation, key_id),
                head if head is not None and start.sequence <= head.sequence <= last else None,
                start,
                min(reach, last),
            )
            tree = await self._tree(session, start, last)
            total(max(0, min(end.sequence, last) - start.sequence))
            self.first = start.sequence + 1
            rows = evidence.stream_rows(session, _LEAST if start == EMPTY else start.sequence + 1, last)
            async with aclosing(rows) as batches:
                async for batch in batches:
                    going = _feed(verifier, tree, batch)
                    progress(verifier.checked_records)
                    if not going:
                        break
            whole = last >= end.sequence
            misfit = self._damaged
            if tree is not None and not tree.flawed:
                misfit = not await fits(session, tree.nodes, whole)
        self.last = verifier.head.sequence
        flaw = tree.finish() if tree is not None and self._signed else None
        # Whoever edits records may edit nodes too, so of the two the records are believed where they tell more.
        if flaw is None and misfit and verifier.finish().verdict is Outcome.VALID:
            flaw = self._misfit(whole)
        return await self._concluded(verifier, flaw, head, doubt, whole=whole)

    def _misfit(self, whole: bool) -> Verdict:
        """What it says that the nodes are not those of entries which are good as far as they go."""
        if whole and self._leaves > self.last:
            reason = f"The chain ends at {self.last}; its Merkle tree has {self._leaves} leaves."
            return Verdict(Outcome.TRUNCATED, self.last + 1, 0, reason)
        return Verdict(Outcome.TAMPERED, None, 0, "The stored Merkle tree is not that of the entries.")

    async def _tree(self, session: Session, start: Head, last: int) -> TreeCheck | None:
        """Holds the records against the signed roots: from the first entry on, or from the stored tree, since a signed
        root after that fits only if the stored one did."""
        if self._signed is None:
            return None
        signed = [root for root in self._signed if root.size <= last]
        leaves = self._leaves = await merkle.size(session)
        if start == EMPTY:
            return TreeCheck(self._organisation, signed, leaves=leaves)
        if leaves < start.sequence:
            return None
        try:
            return TreeCheck(self._organisation, signed, await stored(session, start.sequence), leaves)
        except TreeError:
            self._damaged = True
            return None

    async def _concluded(
        self, verifier: Verifier, flaw: Verdict | None, head: Head | None, doubt: Verdict | None, *, whole: bool
    ) -> Verdict:
        verdict = verifier.finish()
        # What stands before the end says nothing of it.
        for other in (flaw, doubt if whole else None):
            if other is not None and _SEVERITY[other.verdict] > _SEVERITY[verdict.verdict]:
                verdict = replace(other, checked_records=verdict.checked_records, unverifiable=verdict.unverifiable)
        if verdict.verdict is not Outcome.VALID or not whole or not verifier.head.sequence:
            return verdict
        if self._stretch.first in (None, 1):
            key_id = verifier.key_id or self._marked_key_id
            self.mark = marks.sealed(self._keys, self._organisation, Mark(verifier.head, key_id))
            if verifier.key_id and (head is not None or self._adopt):
                # Killed between a commit and its head, a sequencer leaves the head behind; what is valid now may be
                # held to.
                record = self._heads.advance if head is not None else self._heads.adopt
                try:
                    await asyncio.to_thread(record, self._organisation, verifier.head, verifier.key_id)
                except (HeadFileError, PrivateFileError, OSError):
                    log.exception("verification.head_not_recorded", organisation=str(self._organisation))
        return verdict

    async def _start(self, session: Session, end: Head, head: Head | None) -> tuple[Head, Verdict | None]:
        """The entry that the check goes on from, or a verdict where it is missing."""
        mark = await marks.furthest(session, self._keys)
        # A mark is never a reason to check less than was asked for, but a chain that ends before it has lost entries.
        self._marked_key_id = mark.key_id if mark is not None else ""
        self._reach = max(mark.head.sequence if mark is not None else 0, *self._sizes, 0)
        if self._stretch.incremental and mark is not None:
            if await evidence.mac_at(session, mark.head.sequence) == mark.head.mac:
                return mark.head, None
            log.error("verification.mark_not_in_chain", organisation=str(self._organisation))
        before = (self._stretch.first or 1) - 1
        if before == 0:
            return EMPTY, None
        found = await evidence.mac_at(session, before)
        if found is not None:
            return Head(before, found), None
        if end.sequence > before:
            return EMPTY, Verdict(Outcome.TAMPERED, before, 0, f"Entry {before}, before the range, is missing.")
        if max(self._reach, head.sequence if head is not None else 0) > end.sequence:
            missing = end.sequence + 1
            return EMPTY, Verdict(Outcome.TRUNCATED, missing, 0, f"The chain ends at {end.sequence}, too early.")
        raise bad_input(f"the chain ends at {end.sequence}", "fromSequence")

    def _recorded_head(self) -> tuple[Head | None, Verdict | None]:
        """The head kept on disk; when its file cannot be believed, what that alone says of the chain."""
        refused: Exception
        try:
            return self._heads.read(self._organisation), None
        except HeadKeyMissing as error:
            refused, outcome, reason = error, Outcome.UNVERIFIABLE, "The key of the recorded head is missing."
        except HeadLost as error:
            if self._adopt:
                return None, None
            refused, outcome, reason = error, Outcome.UNVERIFIABLE, _NO_HEAD
        except HeadFileError as error:
            refused, outcome, reason = error, Outcome.TAMPERED, "The recorded head was changed: its seal does not fit."
        # The log names the file; a reason is read by callers of the API, whom our folders do not concern.
        log.error("verification.head_refused", organisation=str(self._organisation), error=str(refused))
        return None, Verdict(outcome, None, 0, reason)

    def _missing_head(self) -> tuple[Head | None, Verdict | None]:
        """What it says that a chain with entries had no head; unless it began just now, between the two readings."""
        head, doubt = self._recorded_head()
        if head is not None or doubt is not None or self._adopt:
            # A head of now may lie behind the snapshot: it says nothing of the entries in it.
            return EMPTY if head is not None else None, doubt
        return None, Verdict(Outcome.UNVERIFIABLE, None, 0, _NO_HEAD)


_NO_HEAD = "No head is recorded here, so a missing end cannot be told."


def _feed(verifier: Verifier, tree: TreeCheck | None, batch: Sequence[Sequence[Any]]) -> bool:
    going = verifier.feed_all(batch)
    if tree is not None and going:
        tree.feed_all(batch)
    return going
