"""Digests of the nodes of a Merkle tree, level by level: whether stored nodes are those that the records make, all of
them, without holding or fetching any."""

import hashlib
from collections.abc import Mapping
from typing import Any

#: Nodes of one level that are hashed together, as a power of two. A level's digest is SHA-256 over those of its blocks.
BLOCK_BITS = 14
_LAST = (1 << BLOCK_BITS) - 1


class NodeDigests:
    """The nodes that come into being while leaves are appended to a tree of `start`, up to one of `most`; in memory of
    O(log n). `end`: leaves so far."""

    def __init__(self, start: int, most: int) -> None:
        self.start = self.end = start
        self.most = most
        # By level: the place of the next node, the digest of its block, the digest of the blocks before.
        self._levels: list[tuple[int, Any, Any]] = []
        self._full = False

    def note(self, level: int, digest: bytes) -> None:
        """The next node of a level; those that a leaf completes follow it."""
        if level == 0:
            if self.end >= self.most:
                self._full = True
            else:
                self.end += 1
        if self._full:
            return
        if level == len(self._levels):
            self._levels.append((self.start >> level, hashlib.sha256(), hashlib.sha256()))
        place, block, blocks = self._levels[level]
        block.update(digest)
        if place & _LAST == _LAST:
            blocks.update(block.digest())
            block = hashlib.sha256()
        self._levels[level] = (place + 1, block, blocks)

    def levels(self) -> Mapping[int, bytes]:
        """The digest of each level that has nodes."""
        found = {}
        for level, (place, block, blocks) in enumerate(self._levels):
            whole = blocks.copy()
            if place & _LAST:
                whole.update(block.digest())
            found[level] = whole.digest()
        return found
