"""The tree against a plain one: roots, nodes and proofs of every size, and proofs that must not pass."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import MunimentError
from app.domain.evidence_tree import Growth
from app.domain.merkle import (
    completed,
    consistency_parts,
    consistent,
    covering,
    empty_root,
    fold,
    included,
    inclusion_parts,
    leaf_hash,
    node_hash,
    proof,
    root_nodes,
)

MOST = 70


def leaves(size):
    return [leaf_hash(number.to_bytes(4, "big")) for number in range(size)]


def root(hashes):
    """MTH of RFC 6962, section 2.1, from the hashes of the leaves."""
    if not hashes:
        return hashlib.sha256(b"").digest()
    if len(hashes) == 1:
        return hashes[0]
    split = 1
    while split * 2 < len(hashes):
        split *= 2
    return node_hash(root(hashes[:split]), root(hashes[split:]))


def path(index, hashes):
    """PATH of section 2.1.1."""
    if len(hashes) == 1:
        return []
    split = 1
    while split * 2 < len(hashes):
        split *= 2
    if index < split:
        return [*path(index, hashes[:split]), root(hashes[split:])]
    return [*path(index - split, hashes[split:]), root(hashes[:split])]


def subproof(old, hashes, whole):
    """SUBPROOF of section 2.1.2."""
    if old == len(hashes):
        return [] if whole else [root(hashes)]
    split = 1
    while split * 2 < len(hashes):
        split *= 2
    if old <= split:
        return [*subproof(old, hashes[:split], whole), root(hashes[split:])]
    return [*subproof(old - split, hashes[split:], False), root(hashes[:split])]


def stored(size):
    nodes = {}
    for number, digest in enumerate(leaves(size)):
        for node, made in completed(number, digest, nodes.__getitem__):
            assert node not in nodes
            nodes[node] = made
    return nodes


NODES = stored(MOST)


def test_the_hashes_are_those_of_the_standard():
    assert leaf_hash(b"").hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert empty_root() == fold([]) == root([])
    assert node_hash(b"a", b"b") == hashlib.sha256(b"\x01ab").digest()


def test_a_store_holds_the_complete_subtrees_and_no_more():
    for size in range(MOST + 1):
        nodes = stored(size)
        assert set(nodes) == {(level, index) for level in range(8) for index in range(size >> level)}
        for (level, index), digest in nodes.items():
            assert digest == root(leaves(size)[index << level : (index + 1) << level])
        assert len(nodes) < 2 * size + 1


@pytest.mark.parametrize("size", range(MOST + 1))
def test_roots_and_proofs_are_those_of_a_plain_tree(size):
    hashes = leaves(size)
    assert fold([NODES[node] for node in root_nodes(size)]) == root(hashes)
    for index in range(size):
        parts = inclusion_parts(index, size)
        assert proof(parts, NODES.__getitem__) == path(index, hashes)
        assert included(index, size, hashes[index], path(index, hashes), root(hashes))
    for old in range(1, size + 1):
        shown = proof(consistency_parts(old, size), NODES.__getitem__)
        assert shown == subproof(old, hashes, True)
        assert consistent(old, size, shown, root(hashes[:old]), root(hashes))


@given(st.integers(1, 2**40), st.data())
def test_few_nodes_are_needed_however_large_the_tree(size, data):
    index = data.draw(st.integers(0, size - 1))
    old = data.draw(st.integers(1, size))
    bound = size.bit_length()
    assert len(root_nodes(size)) <= bound
    for parts in (inclusion_parts(index, size), consistency_parts(old, size)):
        assert len(parts) <= bound + 1
        nodes = [node for part in parts for node in part]
        assert len(nodes) <= 2 * bound
        assert all((place + 1) << level <= size for level, place in nodes)


@given(st.integers(0, 2**40), st.integers(0, 40), st.integers(1, 2**40))
def test_a_covering_is_a_partition(start, level, length):
    start = start >> level << level
    end = start + min(length, 1 << level)
    place = start
    for size, index in covering(start, end):
        assert index << size == place
        place += 1 << size
    assert place == end


@given(st.integers(1, MOST), st.data())
def test_no_other_leaf_place_size_or_path_passes(size, data):
    hashes = leaves(size)
    index = data.draw(st.integers(0, size - 1))
    shown, top = path(index, hashes), root(hashes)
    assert not included(index, size, leaf_hash(b"other"), shown, top)
    assert not included(index, size, hashes[index], [*shown, top], top)
    assert not included(index, size, hashes[index], shown, leaf_hash(b"other"))
    if shown:
        place, bit = data.draw(st.integers(0, len(shown) - 1)), data.draw(st.integers(0, 255))
        flipped = bytearray(shown[place])
        flipped[bit // 8] ^= 1 << bit % 8
        assert not included(index, size, hashes[index], [*shown[:place], bytes(flipped), *shown[place + 1 :]], top)
        assert not included(index, size, hashes[index], shown[:-1], top)
        assert not included(index, size, hashes[index], [item[:31] for item in shown], top)
    for wrong in (-1, size, size + 5):
        assert not included(wrong, size, hashes[index], shown, top)
    other = data.draw(st.integers(0, size - 1).filter(lambda place: place != index)) if size > 1 else None
    if other is not None:
        assert not included(other, size, hashes[index], shown, top)


@given(st.integers(2, MOST), st.data())
def test_a_tree_written_anew_is_not_consistent(size, data):
    old = data.draw(st.integers(1, size))
    hashes = leaves(size)
    edited = list(hashes)
    place = data.draw(st.integers(0, old - 1))
    edited[place] = leaf_hash(b"edited")
    shown = subproof(old, edited, True)
    assert not consistent(old, size, shown, root(hashes[:old]), root(edited))
    assert not consistent(old, size, [*shown, root(edited)], root(edited[:old]), root(edited))
    assert not consistent(0, size, [], root([]), root(hashes))
    assert not consistent(size, size - 1, [], root(hashes), root(hashes[:-1]))


def test_what_is_not_in_the_tree_has_no_proof():
    for refused in (lambda: inclusion_parts(3, 3), lambda: inclusion_parts(-1, 3), lambda: consistency_parts(4, 3)):
        with pytest.raises(MunimentError):
            refused()
    assert consistency_parts(0, 5) == consistency_parts(5, 5) == ()


@given(st.integers(0, 200), st.integers(0, 200))
def test_a_tree_grows_from_where_it_was_left(size, more):
    hashes = leaves(size + more)
    nodes = {}
    growth = Growth()
    for digest in hashes[:size]:
        nodes.update(growth.add(digest))
    again = Growth(size, [nodes[node] for node in root_nodes(size)])
    for place, digest in enumerate(hashes[size:]):
        if place % 3:
            again.add(digest)
        else:
            again.grow(digest, lambda level, made: None)
    assert again.root == (size + more, root(hashes))


def test_a_tree_does_not_grow_from_hashes_that_are_not_its_own():
    with pytest.raises(ValueError, match="not the hashes"):
        Growth(3, [leaf_hash(b"")])
