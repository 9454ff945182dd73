"""Checkpoints and proofs of the Merkle tree over the evidence."""

import base64
from typing import Self

import strawberry

from app.evidence.proofs import ConsistencyProof as _ConsistencyProof
from app.evidence.proofs import InclusionProof as _InclusionProof
from app.evidence.proofs import Leaf as _Leaf
from app.evidence.proofs import SignedCheckpoint
from schema.scalars import BigInt, Instant


@strawberry.type(description="A signed checkpoint of the tree over an organisation's evidence.")
class Checkpoint:
    origin: str = strawberry.field(description="Deployment and organisation; the name of the key in the note.")
    tree_size: BigInt = strawberry.field(description="Records that it covers, from the first.")
    root: str = strawberry.field(description="Root hash of the tree (RFC 6962), base64.")
    note: str = strawberry.field(description="The signed note (C2SP), byte for byte.")
    key_id: str = strawberry.field(description="`kid` of the key that signed it.")
    issued_at: Instant = strawberry.field(description="When it was signed.")

    @classmethod
    def of(cls, item: SignedCheckpoint) -> Self:
        return cls(
            origin=item.checkpoint.origin,
            tree_size=BigInt(item.checkpoint.size),
            root=_base64(item.checkpoint.root),
            note=item.stored.note.decode(),
            key_id=item.stored.key_id,
            issued_at=item.stored.issued_at,
        )


@strawberry.type(description="Shows that a record is in the tree (RFC 6962, audit path). Hashes are base64.")
class InclusionProof:
    attribution_id: strawberry.ID = strawberry.field(description="Id of the record.")
    sequence: BigInt = strawberry.field(description="Its place in the chain; its leaf is one less, from 0.")
    tree_size: BigInt = strawberry.field(description="Leaves of the tree.")
    leaf_hash: str = strawberry.field(description="Hash of the record's leaf.")
    root: str = strawberry.field(description="Root hash of the tree.")
    hashes: list[str] = strawberry.field(description="The proof, from the leaf up.")
    checkpoint: Checkpoint | None = strawberry.field(
        description="A signed checkpoint of this very tree; null while none was signed."
    )

    @classmethod
    def of(cls, item: _InclusionProof) -> Self:
        return cls(
            attribution_id=strawberry.ID(str(item.attribution_id)),
            sequence=BigInt(item.sequence),
            tree_size=BigInt(item.tree_size),
            leaf_hash=_base64(item.leaf),
            root=_base64(item.root),
            hashes=list(map(_base64, item.hashes)),
            checkpoint=None if item.checkpoint is None else Checkpoint.of(item.checkpoint),
        )


@strawberry.type(
    description="A record, byte for byte as the tree hashes it (RFC 6962: SHA-256 of a zero byte and `data`), "
    "unchecked: whoever holds a proof of it checks it themselves."
)
class EvidenceLeaf:
    attribution_id: strawberry.ID = strawberry.field(description="Id of the record.")
    sequence: BigInt = strawberry.field(description="Its place in the chain.")
    data: str = strawberry.field(
        description="Base64 of: `muniment/leaf/v1`, a zero byte, the organisation (16 bytes), the sequence (8), the "
        "length of the key id (1), the key id, the previous MAC (32), the MAC (32), and the record itself."
    )

    @classmethod
    def of(cls, item: _Leaf) -> Self:
        return cls(
            attribution_id=strawberry.ID(str(item.attribution_id)),
            sequence=BigInt(item.sequence),
            data=_base64(item.data),
        )


@strawberry.type(description="Shows that one tree is a beginning of another (RFC 6962). Hashes are base64.")
class ConsistencyProof:
    from_size: BigInt = strawberry.field(description="Leaves of the earlier tree.")
    to_size: BigInt = strawberry.field(description="Leaves of the later tree.")
    from_root: str = strawberry.field(description="Root hash of the earlier tree.")
    to_root: str = strawberry.field(description="Root hash of the later tree.")
    hashes: list[str] = strawberry.field(description="The proof.")

    @classmethod
    def of(cls, item: _ConsistencyProof) -> Self:
        return cls(
            from_size=BigInt(item.old_size),
            to_size=BigInt(item.new_size),
            from_root=_base64(item.old_root),
            to_root=_base64(item.new_root),
            hashes=list(map(_base64, item.hashes)),
        )


def _base64(digest: bytes) -> str:
    return base64.b64encode(digest).decode()
