"""A check against signed roots, one entry at a time and in batches: always the same verdict."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from app.domain.chain import GENESIS, Entry, Outcome
from app.domain.evidence_tree import Growth, Root, TreeCheck, leaf

ORGANISATION = UUID(int=5)


def chain(size):
    entries, previous = [], GENESIS
    for place in range(1, size + 1):
        mac = place.to_bytes(32, "big")
        entries.append(Entry(place, f"k{place // 7}", previous, mac, b"payload %d" % place))
        previous = mac
    return entries


def roots(entries):
    growth, found = Growth(), []
    for entry in entries:
        growth.add(leaf(ORGANISATION, entry))
        found.append(growth.root)
    return found


ENTRIES = chain(60)
ROOTS = roots(ENTRIES)

edits = st.one_of(
    st.builds(lambda: lambda entry: [entry]),
    st.builds(lambda: lambda entry: []),
    st.builds(lambda: lambda entry: [entry, entry]),
    st.sampled_from(
        [
            {"payload": b"other"},
            {"mac": b"short"},
            {"previous_mac": bytes(33)},
            {"key_id": "another"},
            {"key_id": ""},
            {"key_id": "k" * 300},
            {"sequence": 0},
            {"sequence": 2**62},
        ]
    ).map(lambda change: lambda entry: [entry._replace(**change)]),
)


def one_by_one(entries, known):
    check = TreeCheck(ORGANISATION, known)
    for entry in entries:
        if not check.feed(entry):
            break
    return check.finish(), check.root


def in_batches(entries, known, cut):
    check = TreeCheck(ORGANISATION, known)
    for batch in (entries[:cut], entries[cut:]):
        if not check.feed_all([tuple(entry) for entry in batch]):
            break
    return check.finish(), check.root


@given(st.integers(0, 60), st.sets(st.integers(1, 60)), st.integers(0, 59), edits, st.integers(0, 60))
def test_batches_and_single_entries_give_one_verdict(size, sizes, place, edit, cut):
    known = [ROOTS[item - 1] for item in sizes]
    entries = [
        changed for at, entry in enumerate(ENTRIES[:size]) for changed in (edit(entry) if at == place else [entry])
    ]
    assert one_by_one(entries, known) == in_batches(entries, known, cut)


@given(st.integers(0, 60), st.sets(st.integers(1, 60)), st.integers(0, 60))
def test_an_untouched_chain_passes_and_a_short_one_is_told(size, sizes, cut):
    found, root = in_batches(ENTRIES[:size], [ROOTS[item - 1] for item in sizes], cut)
    if max(sizes, default=0) <= size:
        assert found is None
    else:
        assert (found.verdict, found.first_bad_sequence) == (Outcome.TRUNCATED, size + 1)
    assert size == 0 or root == ROOTS[size - 1]


@given(st.integers(1, 60), st.integers(1, 60), st.binary(min_size=1, max_size=8))
def test_an_edit_before_a_signed_root_is_found(size, place, payload):
    edited = [
        entry._replace(payload=entry.payload + payload) if entry.sequence == place else entry for entry in ENTRIES
    ]
    found, _ = in_batches(edited, [ROOTS[size - 1]], 17)
    if place <= size:
        assert (found.verdict, found.first_bad_sequence) == (Outcome.TAMPERED, 1)
    else:
        assert found is None


@given(st.integers(0, 60), st.integers(1, 60))
def test_a_check_goes_on_from_a_tree_that_is_known(start, size):
    growth = Growth()
    for entry in ENTRIES[:start]:
        growth.add(leaf(ORGANISATION, entry))
    check = TreeCheck(ORGANISATION, ROOTS[:size], growth)
    assert check.feed_all(ENTRIES[start:])
    assert check.finish() is None
    assert check.root == ROOTS[-1]


def test_no_signed_root_is_no_complaint():
    check = TreeCheck(ORGANISATION, [])
    assert check.feed_all(ENTRIES)
    assert check.finish() is None
    assert not check.flawed
    assert TreeCheck(ORGANISATION, [Root(3, b"")]).finish().verdict is Outcome.TRUNCATED
