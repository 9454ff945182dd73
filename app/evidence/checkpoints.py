"""Signing checkpoints of the trees, and keeping them where an edit of the tables does not reach."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from uuid import UUID

import structlog

from app.domain.checkpoint import (
    Checkpoint,
    NoteError,
    NoteSignature,
    key_hash,
    open_note,
    parse_checkpoint,
    signed_note,
)
from app.domain.evidence_tree import Growth, Root
from app.domain.merkle import consistency_parts, consistent, proof
from app.evidence.tree import catch_up, stored
from app.evidence.witnessing import Witnessing
from app.providers.checkpoint_log import CheckpointLog
from app.providers.signing import Signer, SigningKeys, genuine
from app.storage import merkle, tenancy
from app.storage.engine import Database, Session
from app.storage.merkle import StoredCheckpoint

log = structlog.get_logger()


def origin_of(deployment: str, organisation: UUID) -> str:
    """The first line of an organisation's checkpoints, and the name of the key that signs them."""
    return f"{deployment}/{organisation}"


def open_checkpoint(note: bytes, keys: SigningKeys, organisation: UUID) -> Checkpoint:
    """The checkpoint of the organisation that one of our keys signed; `NoteError` when it is none."""
    # The deployment may have been renamed since, so the note itself says under which name it was signed.
    name = note.split(b"\n", 1)[0].decode(errors="replace")
    if not name.endswith(f"/{organisation}"):
        raise NoteError("the checkpoint is another organisation's")
    known = {(name, key_hash(name, public)): public for public in keys.public_keys.values()}
    return parse_checkpoint(open_note(note, known, genuine).text)


async def known_checkpoints(
    database: Database, outside: CheckpointLog, keys: SigningKeys, organisation: UUID
) -> list[Root]:
    """The trees that were signed, by what is known outside the tables and in them; read them before the snapshot that
    is checked. A note under no signature of ours says nothing and is left out."""
    notes = await asyncio.to_thread(outside.newest, organisation)
    async with database.snapshot(organisation) as session:
        if (latest := await merkle.latest(session)) is not None:
            notes.append(latest.note)
    return _believed(notes, keys, organisation)


def _believed(notes: list[bytes], keys: SigningKeys, organisation: UUID) -> list[Root]:
    found = []
    for note in dict.fromkeys(notes):
        try:
            found.append(open_checkpoint(note, keys, organisation).tree)
        except NoteError as error:
            log.error("checkpoint.not_believed", organisation=str(organisation), reason=str(error))
    return found


@dataclass(slots=True)
class _Waiting:
    since: float
    records: int


class Checkpointer:
    """Signs an organisation's tree once `every_records` were appended since the last checkpoint, or after
    `every_seconds`, when there is something new. Any number of processes may run it."""

    def __init__(
        self,
        database: Database,
        keys: SigningKeys,
        outside: CheckpointLog,
        deployment: str,
        *,
        every_records: int = 1000,
        every_seconds: float = 60.0,
        witnessing: Witnessing | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._database = database
        self.keys = keys
        self.outside = outside
        self._deployment = deployment
        self._every_records = every_records
        self._every_seconds = every_seconds
        self._witnessing = witnessing
        self._clock = clock
        self._waiting: dict[UUID, _Waiting] = {}

    def appended(self, organisation: UUID, records: int) -> None:
        """Told by the sequencer."""
        self._waiting.setdefault(organisation, _Waiting(self._clock(), 0)).records += records

    async def known(self, organisation: UUID) -> list[Root]:
        """`known_checkpoints` of an organisation."""
        return await known_checkpoints(self._database, self.outside, self.keys, organisation)

    async def sign(self, organisation: UUID) -> StoredCheckpoint | None:
        """The checkpoint of the whole tree, signed now unless it was; None for an empty chain, and where the tree does
        not go on from what was signed before: then nothing is signed until people have looked."""
        await catch_up(self._database, organisation)
        async with self._database.unstamped(organisation) as session:
            await merkle.lock(session)
            growth = await stored(session)
            latest = await merkle.latest(session)
            newest = await asyncio.to_thread(self.outside.newest, organisation)
            signed = _believed([*newest, *([latest.note] if latest else [])], self.keys, organisation)
            if not growth.size and not signed:
                return None
            if not await self._goes_on(session, growth, signed):
                log.error("checkpoint.inconsistent", organisation=str(organisation), size=growth.size)
                return None
            signer = self.keys.signer
            if latest is None or (latest.size, latest.key_id) != (growth.size, signer.key_id):
                latest = self._signed(organisation, growth, signer)
            # Outside first: what is signed stands for a tree that is committed already.
            await asyncio.to_thread(self.outside.append, organisation, latest.note, latest.issued_at)
            await merkle.keep(session, latest)
            await session.commit()
        if self._witnessing is not None:
            self._witnessing.offer(organisation, latest.note)
        return latest

    async def _goes_on(self, session: Session, growth: Growth, signed: list[Root]) -> bool:
        """Whether the tree goes on from the largest one that was signed."""
        if not signed:
            return True
        size, root = max(signed)
        if size > growth.size:
            return False
        parts = consistency_parts(size, growth.size)
        found = await merkle.nodes(session, {node for part in parts for node in part})
        try:
            return consistent(size, growth.size, proof(parts, found.__getitem__), root, growth.root.root)
        except KeyError:
            return False

    def _signed(self, organisation: UUID, growth: Growth, signer: Signer) -> StoredCheckpoint:
        name = origin_of(self._deployment, organisation)
        text = Checkpoint(name, growth.size, growth.root.root).text
        line = NoteSignature(name, key_hash(name, signer.public_key), signer.sign(text.encode()))
        return StoredCheckpoint(growth.size, signer.key_id, signed_note(text, [line]), datetime.now(UTC))

    async def run(self) -> None:
        """Sign what is due, for as long as the process lives; first what an earlier one left."""
        try:
            async with self._database.across() as session:
                for organisation in await tenancy.organisations(session):
                    self._waiting.setdefault(organisation, _Waiting(self._clock() - self._every_seconds, 0))
        except Exception:
            log.exception("checkpoint.start_failed")
        while True:
            await self.sweep()
            await asyncio.sleep(min(1.0, self._every_seconds))

    async def sweep(self, everything: bool = False) -> None:
        """Sign each organisation that is due. One that fails stops no other and is tried again."""
        now = self._clock()
        for organisation, waiting in list(self._waiting.items()):
            due = waiting.records >= self._every_records or now - waiting.since >= self._every_seconds
            if not due and not everything:
                continue
            self._waiting.pop(organisation, None)
            try:
                await self.sign(organisation)
            except Exception:
                log.exception("checkpoint.failed", organisation=str(organisation))
                self._waiting.setdefault(organisation, _Waiting(self._clock(), 0))

    async def finish(self) -> None:
        """Sign what waits, now rather than at the next start."""
        await self.sweep(everything=True)
