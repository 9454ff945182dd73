"""The Merkle tree of RFC 6962 (Certificate Transparency, section 2.1): roots, and proofs that need no secret.

A tree of n leaves is made of *complete* subtrees, each named by (level, index): it spans the 2^level leaves from
index · 2^level on. They never change once complete, so a store keeps them and nothing else, and every root and proof is
folded from O(log n) of them.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from app.domain.errors import bad_input

HASH_BYTES = 32
_LEAF, _NODE = b"\x00", b"\x01"

#: A complete subtree: (level, index).
Node = tuple[int, int]
#: Hashes of complete subtrees by name.
Nodes = Callable[[Node], bytes]


def leaf_hash(data: bytes) -> bytes:
    return hashlib.sha256(_LEAF + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE + left + right).digest()


def empty_root() -> bytes:
    """The root of a tree without leaves."""
    return hashlib.sha256(b"").digest()


def completed(size: int, leaf: bytes, nodes: Nodes) -> Iterator[tuple[Node, bytes]]:
    """The complete subtrees that come into being when `leaf` (its hash) is appended to a tree of `size` leaves: the
    leaf itself first, then ever larger ones, each asking `nodes` for its left half."""
    level, index, digest = 0, size, leaf
    yield (level, index), digest
    while index % 2:
        digest = node_hash(nodes((level, index - 1)), digest)
        level, index = level + 1, index // 2
        yield (level, index), digest


def covering(start: int, end: int) -> tuple[Node, ...]:
    """The fewest complete subtrees that make up the leaves [start, end), left to right; `start` must be where the
    subtree of these leaves begins in its tree (a multiple of the power of two that its size fits in)."""
    found: list[Node] = []
    while start < end:
        level = min((end - start).bit_length() - 1, (start & -start).bit_length() - 1 if start else 1 << 30)
        found.append((level, start >> level))
        start += 1 << level
    return tuple(found)


def root_nodes(size: int) -> tuple[Node, ...]:
    """What the root of a tree of `size` leaves is folded from."""
    return covering(0, size)


def fold(hashes: Sequence[bytes]) -> bytes:
    """The hash of a subtree from its covering, left to right."""
    if not hashes:
        return empty_root()
    digest = hashes[-1]
    for left in reversed(hashes[:-1]):
        digest = node_hash(left, digest)
    return digest


def inclusion_parts(index: int, size: int) -> tuple[tuple[Node, ...], ...]:
    """PATH(index, D[size]): for each hash of the proof, from the leaf up, the covering that it is folded from."""
    _require(0 <= index < size, "index", "The index must lie in the tree.")
    return tuple(covering(start, end) for start, end in _path(index, 0, size))


def consistency_parts(old: int, new: int) -> tuple[tuple[Node, ...], ...]:
    """PROOF(old, D[new]) in the same shape; nothing is to be proven of an empty tree, or of the same one."""
    _require(0 <= old <= new, "oldSize", "The earlier tree must not be the larger one.")
    if old in (0, new):
        return ()
    return tuple(covering(start, end) for start, end in _subproof(old, 0, new, True))


def proof(parts: Iterable[Sequence[Node]], nodes: Nodes) -> list[bytes]:
    """The hashes of a proof."""
    return [fold([nodes(node) for node in part]) for part in parts]


def included(index: int, size: int, leaf: bytes, path: Sequence[bytes], root: bytes) -> bool:
    """Whether the proof shows that `leaf` (its hash) is the one at `index` of the tree of `size` leaves under `root`
    (RFC 9162, section 2.1.3.2)."""
    if not 0 <= index < size or any(len(digest) != HASH_BYTES for digest in (*path, leaf, root)):
        return False
    first, last, digest = index, size - 1, leaf
    for step in path:
        if last == 0:
            return False
        if first % 2 or first == last:
            digest = node_hash(step, digest)
            while first % 2 == 0 and first:
                first, last = first >> 1, last >> 1
        else:
            digest = node_hash(digest, step)
        first, last = first >> 1, last >> 1
    return last == 0 and digest == root


def consistent(old: int, new: int, path: Sequence[bytes], old_root: bytes, new_root: bytes) -> bool:
    """Whether the proof shows that the tree of `old` leaves is a beginning of that of `new` leaves (RFC 9162, section
    2.1.4.2). Nothing can be shown of an empty tree: it is the beginning of every other."""
    if not 0 < old <= new:
        return False
    if old == new:
        return not path and old_root == new_root
    if any(len(digest) != HASH_BYTES for digest in (*path, old_root, new_root)):
        return False
    steps = [old_root, *path] if old & (old - 1) == 0 else list(path)
    if not steps:
        return False
    first, last = old - 1, new - 1
    while first % 2:
        first, last = first >> 1, last >> 1
    earlier = later = steps[0]
    for step in steps[1:]:
        if last == 0:
            return False
        if first % 2 or first == last:
            earlier, later = node_hash(step, earlier), node_hash(step, later)
            while first % 2 == 0 and first:
                first, last = first >> 1, last >> 1
        else:
            later = node_hash(later, step)
        first, last = first >> 1, last >> 1
    return last == 0 and earlier == old_root and later == new_root


def _split(size: int) -> int:
    """The largest power of two smaller than `size`."""
    return 1 << ((size - 1).bit_length() - 1)


def _path(index: int, start: int, size: int) -> Iterator[tuple[int, int]]:
    if size == 1:
        return
    left = _split(size)
    if index < left:
        yield from _path(index, start, left)
        yield start + left, start + size
    else:
        yield from _path(index - left, start + left, size - left)
        yield start, start + left


def _subproof(old: int, start: int, size: int, whole: bool) -> Iterator[tuple[int, int]]:
    if old == size:
        if not whole:
            yield start, start + size
        return
    left = _split(size)
    if old <= left:
        yield from _subproof(old, start, left, whole)
        yield start + left, start + size
    else:
        yield from _subproof(old - left, start + left, size - left, False)
        yield start, start + left


def _require(condition: bool, field: str, sentence: str) -> None:
    if not condition:
        raise bad_input(sentence, field)
