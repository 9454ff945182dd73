"""The Merkle tree over an evidence chain: what its leaves are, how it grows, and a check of a chain against roots that
were signed.

Leaf i, from 0, is entry i + 1. Its hash is that of RFC 6962, SHA-256(0x00 | data), over

    "muniment/leaf/v1" NUL | organisation, 16 bytes | sequence, 8 bytes big endian | length of the key id, 1 byte |
    key id, UTF-8 | previous MAC, 32 bytes | MAC, 32 bytes | payload, the rest

all of which stand in an exported record: whoever holds one computes its leaf without any secret.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from app.domain.chain import MAC_BYTES, MAX_KEY_ID_BYTES, MAX_SEQUENCE, Entry, Outcome, Verdict
from app.domain.merkle import Node, completed, fold, leaf_hash, node_hash, root_nodes
from app.domain.tree_digest import NodeDigests

LEAF_TAG = b"muniment/leaf/v1\0"


class Root(NamedTuple):
    """The root of the tree of the first `size` entries."""

    size: int
    root: bytes


def leaf_data(organisation: UUID, entry: Entry) -> bytes:
    """What the leaf of an entry hashes; `ValueError` for an entry that cannot be."""
    key_id = entry.key_id.encode()
    if not 1 <= entry.sequence <= MAX_SEQUENCE or not 1 <= len(key_id) <= MAX_KEY_ID_BYTES:
        raise ValueError("a sequence lies between 1 and 2^63 - 1, a key id has 1 to 255 bytes")
    if len(entry.previous_mac) != MAC_BYTES or len(entry.mac) != MAC_BYTES:
        raise ValueError("a MAC has 32 bytes")
    return b"".join(
        (
            LEAF_TAG,
            organisation.bytes,
            entry.sequence.to_bytes(8, "big"),
            bytes((len(key_id),)),
            key_id,
            entry.previous_mac,
            entry.mac,
            entry.payload,
        )
    )


def leaf(organisation: UUID, entry: Entry) -> bytes:
    """The hash of an entry's leaf, 32 bytes."""
    return leaf_hash(leaf_data(organisation, entry))


class Growth:
    """A tree that leaves are appended to. It holds O(log n) hashes: those that its root is folded from, in the order of
    `root_nodes(size)`."""

    def __init__(self, size: int = 0, frontier: Sequence[bytes] = ()) -> None:
        if len(frontier) != len(root_nodes(size)):
            raise ValueError("these are not the hashes that the root is folded from")
        self.size = size
        self._frontier = list(frontier)

    @property
    def root(self) -> Root:
        return Root(self.size, fold(self._frontier))

    def grow(self, digest: bytes, note: Callable[[int, bytes], None]) -> None:
        """The same as `add`; `note` is told level and hash of each complete subtree that came into being."""
        frontier, index, level = self._frontier, self.size, 0
        note(level, digest)
        while index & 1:
            digest = node_hash(frontier.pop(), digest)
            index >>= 1
            level += 1
            note(level, digest)
        frontier.append(digest)
        self.size += 1

    def add(self, digest: bytes) -> list[tuple[Node, bytes]]:
        """Append a leaf by its hash; the complete subtrees that came into being."""
        # Left siblings are asked for from the smallest up, which is the frontier from its end.
        made = list(completed(self.size, digest, lambda _: self._frontier.pop()))
        self._frontier.append(made[-1][1])
        self.size += 1
        return made


class TreeCheck:
    """Checks a chain, entry by entry, against roots that were signed, in memory of O(log n).

    What this finds no MAC can show: a chain that who holds the MAC's key has written anew. Entries are fed in order
    from the one after `start`, whose own root the caller has checked.
    """

    def __init__(
        self, organisation: UUID, known: Iterable[Root], start: Growth | None = None, leaves: int = MAX_SEQUENCE
    ) -> None:
        """`known`: roots under good signatures, in any order; those up to `start` are not looked at. `leaves`: how many
        the stored tree has, so that its nodes can be compared."""
        self._organisation = organisation
        self._growth = start or Growth()
        #: The nodes that the tree must have, as far as was read.
        self.nodes = NodeDigests(self._growth.size, leaves)
        self._known = sorted({root for root in known if root.size > self._growth.size}, reverse=True)
        self._good = self._growth.size
        self._flaw: Verdict | None = None
        self._sized: dict[str, bytes] = {}

    @property
    def root(self) -> Root:
        """The root of what was read so far."""
        return self._growth.root

    @property
    def flawed(self) -> bool:
        """Whether the verdict is certain already."""
        return self._flaw is not None

    def feed(self, entry: Entry) -> bool:
        """Take the next entry; False as soon as no later one can change the verdict."""
        if self._flaw is not None:
            return False
        place = self._growth.size + 1
        if entry.sequence != place:
            return self._settle(place, f"Entry {entry.sequence} stands where {place} belongs.")
        try:
            self._growth.grow(leaf(self._organisation, entry), self.nodes.note)
        except ValueError:
            return self._settle(place, f"Entry {place} cannot be one.")
        while self._known and self._known[-1].size == place:
            if self._known.pop() != self._growth.root:
                first = self._good + 1
                return self._settle(first, f"Entries {first} to {place} are not those that checkpoint {place} signs.")
            self._good = place
        return True

    def feed_all(self, rows: Iterable[Sequence[Any]]) -> bool:
        """The same for each entry of a batch, as rows in the order of `Entry`. What fits is taken here in one loop; all
        else goes to `feed`, which judges it."""
        growth, organisation = self._growth, self._organisation.bytes
        due = self._known[-1].size if self._known else 0
        for row in rows:
            sequence, key_id, previous, own, payload = row
            if (
                self._flaw is None
                and sequence == growth.size + 1 != due
                and len(previous) == len(own) == MAC_BYTES
                and (sized := self._sized.get(key_id)) is not None
            ):
                parts = (LEAF_TAG, organisation, sequence.to_bytes(8, "big"), sized, previous, own, payload)
                growth.grow(leaf_hash(b"".join(parts)), self.nodes.note)
                continue
            if not self.feed(Entry._make(row)):
                return False
            encoded = key_id.encode()
            self._sized[key_id] = bytes((len(encoded),)) + encoded
            due = self._known[-1].size if self._known else 0
        return self._flaw is None

    def finish(self) -> Verdict | None:
        """What is wrong, the end of the chain being here: TAMPERED where a signed root does not fit, TRUNCATED where
        the chain ends before one, None where every signed root fits."""
        if self._flaw is None and self._known:
            size, largest = self._growth.size, self._known[0].size
            reason = f"The chain ends at {size}; checkpoint {largest} was signed."
            return Verdict(Outcome.TRUNCATED, size + 1, size, reason)
        return self._flaw

    def _settle(self, place: int, reason: str) -> bool:
        self._flaw = Verdict(Outcome.TAMPERED, place, self._growth.size, reason)
        return False
