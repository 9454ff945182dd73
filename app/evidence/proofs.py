"""Proofs for who holds no secret: that a record is in the tree, and that one tree goes on from another."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog

from app.domain.chain import MAX_SEQUENCE
from app.domain.checkpoint import Checkpoint, parse_checkpoint, parse_note
from app.domain.errors import Code, MunimentError, bad_input
from app.domain.evidence_tree import leaf, leaf_data
from app.domain.merkle import Node, consistency_parts, consistent, fold, included, inclusion_parts, proof, root_nodes
from app.domain.principal import Principal, parse_id
from app.evidence.attribution import not_found
from app.evidence.sight import Sight, may_see
from app.storage import evidence, merkle
from app.storage.engine import Database, Session
from app.storage.merkle import StoredCheckpoint

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint, read, and as it was signed."""

    checkpoint: Checkpoint
    stored: StoredCheckpoint

    @classmethod
    def of(cls, stored: StoredCheckpoint) -> "SignedCheckpoint":
        return cls(parse_checkpoint(parse_note(stored.note).text), stored)


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """RFC 6962's audit path of a record, from its leaf up. `checkpoint`: a signed one of this tree, if there is."""

    attribution_id: UUID
    sequence: int
    tree_size: int
    leaf: bytes
    root: bytes
    hashes: tuple[bytes, ...]
    checkpoint: SignedCheckpoint | None


@dataclass(frozen=True, slots=True)
class Leaf:
    """The bytes that a record's leaf hashes, as they are stored now: nothing of them is believed before."""

    attribution_id: UUID
    sequence: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """RFC 6962's proof that the tree of `old_size` leaves is a beginning of that of `new_size`."""

    old_size: int
    new_size: int
    old_root: bytes
    new_root: bytes
    hashes: tuple[bytes, ...]


async def latest_checkpoint(database: Database, organisation: UUID) -> SignedCheckpoint | None:
    """The checkpoint of the largest tree that was signed."""
    async with database.snapshot(organisation) as session:
        stored = await merkle.latest(session)
    return None if stored is None else SignedCheckpoint.of(stored)


async def record_leaf(
    database: Database, principal: Principal, *, attribution_id: str | None = None, sequence: int | None = None
) -> Leaf:
    """Of a record that the caller may see whole, named by its id or its place: their own, or one that they audit. Bytes
    cannot be cut to what an administrator may see. ATTRIBUTION_NOT_FOUND as for its proof.

    It is handed out unchecked, for who checks it elsewhere: against a proof, and a checkpoint, that they hold."""
    async with database.snapshot(principal.organisation) as session:
        row = await _visible(session, principal, attribution_id, sequence)
        if row.user_id != principal.id:
            sight = await Sight.of(session, principal)
            if not (sight.auditor or row.space_id in sight.audited):
                raise not_found("attributionId" if sequence is None else "sequence")
        entries = [item async for batch in evidence.stream(session, row.sequence, row.sequence) for item in batch]
    try:
        return Leaf(row.id, row.sequence, leaf_data(principal.organisation, entries[0]))
    except ValueError:
        raise _broken(principal.organisation, row.sequence) from None


async def inclusion_proof(
    database: Database,
    principal: Principal,
    *,
    attribution_id: str | None = None,
    sequence: int | None = None,
    tree_size: int | None = None,
) -> InclusionProof:
    """Of a record that the caller may see, named by its id or its place.

    `tree_size`: by default that of the earliest checkpoint that covers the record; where none does yet, the whole tree.
    ATTRIBUTION_NOT_FOUND as when the record is looked up, and while it is still queued."""
    async with database.snapshot(principal.organisation) as session:
        row = await _visible(session, principal, attribution_id, sequence)
        leaves = await merkle.size(session)
        if leaves < row.sequence:
            raise MunimentError(Code.CONFLICT, "the record is not in the tree yet", "treeSize")
        covering = await (
            merkle.covering(session, row.sequence) if tree_size is None else merkle.at(session, tree_size)
        )
        size = tree_size if tree_size is not None else covering.size if covering is not None else leaves
        if not row.sequence <= size <= leaves:
            raise bad_input(f"the tree must hold the record: {row.sequence} to {leaves} leaves", "treeSize")
        parts = inclusion_parts(row.sequence - 1, size)
        found = await _nodes(session, *parts, root_nodes(size))
        (entry,) = [entry async for batch in evidence.stream(session, row.sequence, row.sequence) for entry in batch]
    hashes = tuple(proof(parts, found.__getitem__))
    root = fold([found[node] for node in root_nodes(size)])
    digest = leaf(principal.organisation, entry)
    if not included(row.sequence - 1, size, digest, hashes, root):
        raise _broken(principal.organisation, row.sequence)
    checkpoint = None if covering is None else SignedCheckpoint.of(covering)
    return InclusionProof(row.id, row.sequence, size, digest, root, hashes, checkpoint)


async def consistency_proof(database: Database, organisation: UUID, old: int, new: int) -> ConsistencyProof:
    """Between two sizes of the organisation's tree; BAD_USER_INPUT for sizes that it never had."""
    async with database.snapshot(organisation) as session:
        leaves = await merkle.size(session)
        if not 0 < old <= new <= leaves:
            raise bad_input(f"sizes lie between 1 and {leaves}, the earlier one first", "from")
        parts = consistency_parts(old, new)
        found = await _nodes(session, *parts, root_nodes(old), root_nodes(new))
    hashes = tuple(proof(parts, found.__getitem__))
    old_root, new_root = (fold([found[node] for node in root_nodes(size)]) for size in (old, new))
    if not consistent(old, new, hashes, old_root, new_root):
        raise _broken(organisation, old)
    return ConsistencyProof(old, new, old_root, new_root, hashes)


async def _visible(session: Session, principal: Principal, attribution_id: str | None, sequence: int | None) -> Any:
    if (attribution_id is None) == (sequence is None):
        raise bad_input("name a record by attributionId or by sequence", "attributionId")
    row = await _find(session, attribution_id, sequence)
    named = "attributionId" if sequence is None else "sequence"
    if not await may_see(session, principal, row) or row is None or row.sequence is None:
        raise not_found(named)
    return row


async def _find(session: Session, attribution_id: str | None, sequence: int | None) -> Any | None:
    if attribution_id is not None:
        key = parse_id(attribution_id)
        return None if key is None else await evidence.find_record(session, key)
    assert sequence is not None
    return await evidence.find_place(session, sequence) if 1 <= sequence <= MAX_SEQUENCE else None


async def _nodes(session: Session, *parts: tuple[Node, ...]) -> dict[Node, bytes]:
    wanted = {node for part in parts for node in part}
    found = await merkle.nodes(session, wanted)
    if len(found) != len(wanted):
        raise _broken(session.organisation, 0)
    return found


def _broken(organisation: UUID, place: int) -> MunimentError:
    """Nothing that does not hold is handed out."""
    log.error("tree.damaged", organisation=str(organisation), sequence=place)
    return MunimentError(Code.CONFLICT, "the stored tree does not fit the records: verify the chain")
