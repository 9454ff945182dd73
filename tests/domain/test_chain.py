import hashlib
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.chain import (
    EMPTY,
    GENESIS,
    MAX_SPANS,
    Entry,
    Head,
    Outcome,
    Span,
    Verdict,
    Verifier,
    append,
    mac,
    verify,
)

OURS, THEIRS = UUID(int=1), UUID(int=2)
KEYS = {name: hashlib.sha256(name.encode()).digest() for name in ("k1", "k2", "k3")}
Chain = list[Entry]

MANY = settings(max_examples=120, deadline=None)


def build(payloads: list[tuple[bytes, str]], organisation: UUID = OURS) -> Chain:
    chain: Chain = []
    for payload, key_id in payloads:
        chain += append(organisation, head_of(chain), [payload], KEYS[key_id], key_id)
    return chain


def head_of(chain: Chain) -> Head:
    return Head(chain[-1].sequence, chain[-1].mac) if chain else EMPTY


def check(entries: Chain, head: Head | None = None, keys: dict[str, bytes] = KEYS, start: Head = EMPTY) -> Verdict:
    return verify(OURS, entries, keys.get, head, start)


def found(verdict: Verdict) -> tuple[Outcome, int | None]:
    return verdict.verdict, verdict.first_bad_sequence


def signed(sequence: int, previous: bytes, payload: bytes = b"rival", key_id: str = "k1") -> Entry:
    code = mac(KEYS[key_id], OURS, sequence, key_id, previous_mac=previous, payload=payload)
    return Entry(sequence, key_id, previous, code, payload)


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8 % len(data)] ^= 1 << bit % 8
    return bytes(changed)


def chains(least: int = 1) -> st.SearchStrategy[Chain]:
    records = st.tuples(st.binary(min_size=1, max_size=20), st.sampled_from(sorted(KEYS)))
    return st.lists(records, min_size=least, max_size=12).map(build)


def place_in(chain: Chain) -> st.SearchStrategy[int]:
    return st.integers(0, len(chain) - 1)


# Untouched chains


@MANY
@given(chains(0), st.data())
def test_an_untouched_chain_is_valid_whatever_keys_took_turns(chain: Chain, data: st.DataObject) -> None:
    recorded = data.draw(st.integers(0, len(chain)))
    for head in (None, EMPTY, head_of(chain[:recorded])):
        verdict = check(chain, head)
        assert found(verdict) == (Outcome.VALID, None)
        assert verdict.checked_records == len(chain)


@given(chains(2), st.data())
def test_a_range_is_checked_from_a_known_start_or_alone(chain: Chain, data: st.DataObject) -> None:
    first = data.draw(place_in(chain))
    rest = chain[first:]
    assert found(check(rest, head_of(chain), start=head_of(chain[:first]))) == (Outcome.VALID, None)
    assert found(check(rest, start=Head(rest[0].sequence - 1, rest[0].previous_mac))) == (Outcome.VALID, None)
    assert found(check(rest, head_of(chain[: max(first - 1, 0)]), start=head_of(chain[:first])))[0] is Outcome.VALID


def test_append_links_each_entry_to_the_one_before() -> None:
    chain = append(OURS, EMPTY, [b"a", b"b", b"c"], KEYS["k1"], "k1")
    assert [entry.sequence for entry in chain] == [1, 2, 3]
    assert chain[0].previous_mac == GENESIS
    assert all(after.previous_mac == before.mac for before, after in pairwise(chain))
    assert append(OURS, head_of(chain[:1]), [b"b", b"c"], KEYS["k1"], "k1") == chain[1:]
    assert append(OURS, EMPTY, [], KEYS["k1"], "k1") == []


def test_the_mac_of_an_entry_is_what_the_format_says() -> None:
    key = bytes(range(32))
    message = b"muniment/evidence/v1\0" + bytes(15) + b"\1" + bytes(7) + b"\7" + b"\2k1" + b"\xaa" * 32 + b"{}"
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in key.ljust(64, b"\0")) + message).digest()
    expected = hashlib.sha256(bytes(b ^ 0x5C for b in key.ljust(64, b"\0")) + inner).digest()
    assert mac(key, OURS, 7, "k1", previous_mac=b"\xaa" * 32, payload=b"{}") == expected


def test_the_organisation_is_bound_even_under_one_key() -> None:
    chain = build([(b"a", "k1"), (b"b", "k1")])
    assert verify(THEIRS, build([(b"a", "k1")], THEIRS), KEYS.get, None).verdict is Outcome.VALID
    assert found(verify(THEIRS, chain, KEYS.get, head_of(chain))) == (Outcome.TAMPERED, 1)


@pytest.mark.parametrize(
    ("sequence", "key_id", "previous"),
    [
        (0, "k", GENESIS),
        (-1, "k", GENESIS),
        (2**63, "k", GENESIS),
        (1, "", GENESIS),
        (1, "k" * 256, GENESIS),
        (1, "\ud800", GENESIS),
        (1, "k", GENESIS[:-1]),
        (1, "k", GENESIS + b"\0"),
    ],
)
def test_parts_without_an_unambiguous_encoding_are_refused(sequence: int, key_id: str, previous: bytes) -> None:
    with pytest.raises(ValueError, match=r"sequence|previous|key id|surrogates"):
        mac(KEYS["k1"], OURS, sequence, key_id, previous_mac=previous, payload=b"")


# What can be done without the key: always TAMPERED, at the first entry that was touched


def change_payload(chain: Chain, i: int, bit: int, _: int) -> tuple[Chain, int]:
    return [*chain[:i], chain[i]._replace(payload=flipped(chain[i].payload, bit)), *chain[i + 1 :]], i + 1


def grow_payload(chain: Chain, i: int, bit: int, _: int) -> tuple[Chain, int]:
    return [*chain[:i], chain[i]._replace(payload=chain[i].payload + bytes([bit % 256])), *chain[i + 1 :]], i + 1


def change_mac(chain: Chain, i: int, bit: int, _: int) -> tuple[Chain, int]:
    return [*chain[:i], chain[i]._replace(mac=flipped(chain[i].mac, bit)), *chain[i + 1 :]], i + 1


def cut_mac(chain: Chain, i: int, bit: int, _: int) -> tuple[Chain, int]:
    return [*chain[:i], chain[i]._replace(mac=chain[i].mac[: bit % 32]), *chain[i + 1 :]], i + 1


def change_previous(chain: Chain, i: int, bit: int, _: int) -> tuple[Chain, int]:
    return [*chain[:i], chain[i]._replace(previous_mac=flipped(chain[i].previous_mac, bit)), *chain[i + 1 :]], i + 1


def link_to_another(chain: Chain, i: int, _: int, j: int) -> tuple[Chain, int]:
    assume(chain[j].mac != chain[i].previous_mac)
    return [*chain[:i], chain[i]._replace(previous_mac=chain[j].mac), *chain[i + 1 :]], i + 1


def change_key_id(chain: Chain, i: int, bit: int, _: int) -> tuple[Chain, int]:
    others = [name for name in KEYS if name != chain[i].key_id]
    return [*chain[:i], chain[i]._replace(key_id=others[bit % 2]), *chain[i + 1 :]], i + 1


def move_border(chain: Chain, i: int, bit: int, _: int) -> tuple[Chain, int]:
    """The same bytes under the MAC, cut elsewhere: between previous MAC and payload."""
    entry = chain[i]
    joined, cut = entry.previous_mac + entry.payload, 31 if bit % 2 else 33
    return [*chain[:i], entry._replace(previous_mac=joined[:cut], payload=joined[cut:]), *chain[i + 1 :]], i + 1


def move_key_border(chain: Chain, i: int, _bit: int, _: int) -> tuple[Chain, int]:
    """The key id loses its last character to the previous MAC; both ids belong to a held key."""
    entry = chain[i]
    moved = entry._replace(key_id=entry.key_id[:-1], previous_mac=entry.key_id[-1:].encode() + entry.previous_mac)
    return [*chain[:i], moved, *chain[i + 1 :]], i + 1


def delete(chain: Chain, i: int, _bit: int, _: int) -> tuple[Chain, int]:
    assume(i < len(chain) - 1)
    return chain[:i] + chain[i + 1 :], i + 1


def delete_run(chain: Chain, i: int, _bit: int, j: int) -> tuple[Chain, int]:
    i, j = min(i, j), max(i, j)
    assume(j < len(chain) - 1)
    return chain[:i] + chain[j + 1 :], i + 1


def delete_and_renumber(chain: Chain, i: int, _bit: int, _: int) -> tuple[Chain, int]:
    assume(i < len(chain) - 1)
    return chain[:i] + [entry._replace(sequence=entry.sequence - 1) for entry in chain[i + 1 :]], i + 1


def swap_sequences(chain: Chain, i: int, _bit: int, j: int) -> tuple[Chain, int]:
    assume(i != j)
    edited = list(chain)
    edited[i], edited[j] = chain[i]._replace(sequence=j + 1), chain[j]._replace(sequence=i + 1)
    return sorted(edited), min(i, j) + 1


def swap_payloads(chain: Chain, i: int, _bit: int, j: int) -> tuple[Chain, int]:
    assume(chain[i].payload != chain[j].payload)
    edited = list(chain)
    edited[i], edited[j] = chain[i]._replace(payload=chain[j].payload), chain[j]._replace(payload=chain[i].payload)
    return edited, min(i, j) + 1


def swap_order(chain: Chain, i: int, _bit: int, j: int) -> tuple[Chain, int]:
    assume(i != j)
    edited = list(chain)
    edited[i], edited[j] = chain[j], chain[i]
    return edited, min(i, j) + 1


def change_sequence(chain: Chain, i: int, bit: int, _: int) -> tuple[Chain, int]:
    """To any place, also one that cannot be; rows come back in the order of their sequence."""
    place = bit - 128
    assume(place != chain[i].sequence)
    edited = [*chain[:i], chain[i]._replace(sequence=place), *chain[i + 1 :]]
    return sorted(edited, key=lambda entry: entry.sequence), min(place, i + 1)


def double(chain: Chain, i: int, bit: int, _: int) -> tuple[Chain, int]:
    return [*chain[: i + 1], chain[i], *chain[i + 1 :]], i + 1


def insert_copy(chain: Chain, i: int, _bit: int, j: int) -> tuple[Chain, int]:
    """A copy of one entry in another's place, all later ones moved up."""
    assume(i != j)
    moved = [entry._replace(sequence=entry.sequence + 1) for entry in chain[i:]]
    return [*chain[:i], chain[j]._replace(sequence=i + 1), *moved], i + 1


def replace_by_copy(chain: Chain, i: int, _bit: int, j: int) -> tuple[Chain, int]:
    assume(i != j)
    return [*chain[:i], chain[j]._replace(sequence=i + 1), *chain[i + 1 :]], i + 1


def from_another_organisation(chain: Chain, i: int, _bit: int, _: int) -> tuple[Chain, int]:
    theirs = build([(entry.payload, entry.key_id) for entry in chain], THEIRS)
    return chain[:i] + theirs[i:], i + 1


def link_from_another_organisation(chain: Chain, i: int, _bit: int, _: int) -> tuple[Chain, int]:
    """One foreign record, made to fit the link."""
    foreign = append(THEIRS, head_of(chain[:i]), [chain[i].payload], KEYS["k1"], "k1")
    return [*chain[:i], *foreign, *chain[i + 1 :]], i + 1


def rewrite_without_key(chain: Chain, i: int, _bit: int, _: int) -> tuple[Chain, int]:
    guess = append(OURS, head_of(chain[:i]), [entry.payload for entry in chain[i:]], b"guess" * 8, chain[i].key_id)
    return chain[:i] + guess, i + 1


EDITS = [
    change_payload,
    grow_payload,
    change_mac,
    cut_mac,
    change_previous,
    link_to_another,
    change_key_id,
    move_border,
    delete,
    delete_run,
    delete_and_renumber,
    swap_sequences,
    swap_payloads,
    swap_order,
    change_sequence,
    double,
    insert_copy,
    replace_by_copy,
    from_another_organisation,
    link_from_another_organisation,
    rewrite_without_key,
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
@MANY
@given(chains(2), st.integers(0, 255), st.data())
def test_every_edit_without_the_key_is_found_at_its_place(
    edit: Callable[[Chain, int, int, int], tuple[Chain, int]], chain: Chain, bit: int, data: st.DataObject
) -> None:
    i, j = data.draw(place_in(chain)), data.draw(place_in(chain))
    edited, expected = edit(chain, i, bit, j)
    assume(edited != chain)
    for head in (None, head_of(chain)):
        assert found(check(edited, head)) == (Outcome.TAMPERED, expected)


@given(chains(1), st.data())
def test_a_key_id_cannot_lend_bytes_to_its_neighbour(chain: Chain, data: st.DataObject) -> None:
    i = data.draw(place_in(chain))
    edited, expected = move_key_border(chain, i, 0, 0)
    keys = {**KEYS, "k": KEYS[chain[i].key_id]}
    assert found(check(edited, None, keys)) == (Outcome.TAMPERED, expected)


@given(chains(2), st.data())
def test_two_edits_are_found_at_the_first(chain: Chain, data: st.DataObject) -> None:
    i = data.draw(place_in(chain[:-1]))
    edited, expected = change_payload(chain, i, 3, 0)
    edited, _ = change_mac(edited, len(chain) - 1, 5, 0)
    verdict = check(edited)
    assert found(verdict) == (Outcome.TAMPERED, expected)
    assert verdict.checked_records == expected


# The end of the chain


@MANY
@given(chains(1), st.data())
def test_a_cut_tail_shows_against_the_recorded_head_only(chain: Chain, data: st.DataObject) -> None:
    kept = data.draw(place_in(chain))
    assert found(check(chain[:kept], head_of(chain))) == (Outcome.TRUNCATED, kept + 1)
    assert found(check(chain[:kept])) == (Outcome.VALID, None)


def test_deleting_everything_is_truncated_at_the_first() -> None:
    chain = build([(b"x", "k1")] * 5)
    assert found(check([], head_of(chain))) == (Outcome.TRUNCATED, 1)
    assert found(check(chain[:3], head_of(chain))) == (Outcome.TRUNCATED, 4)


def test_an_edit_in_a_cut_chain_is_tampered() -> None:
    chain = build([(b"x", "k1")] * 5)
    edited, expected = change_payload(chain[:4], 2, 0, 0)
    assert found(check(edited, head_of(chain))) == (Outcome.TAMPERED, expected)


# What needs the key twice


def test_two_authentic_entries_in_one_place_are_a_fork() -> None:
    chain = build([(bytes([i]), "k1") for i in range(5)])
    rival = signed(3, chain[1].mac)
    for both in ([chain[2], rival], [rival, chain[2]]):
        assert found(check([*chain[:2], *both, *chain[3:]])) == (Outcome.FORKED, 3)


@pytest.mark.parametrize("place", [4, 6])
def test_two_authentic_entries_after_one_are_a_fork(place: int) -> None:
    chain = build([(bytes([i]), "k1") for i in range(3)])
    assert found(check([*chain, signed(place, chain[1].mac)])) == (Outcome.FORKED, 4)


def test_an_authentic_entry_put_in_anothers_place_is_a_fork_there() -> None:
    chain = build([(bytes([i]), "k1") for i in range(5)])
    edited = [*chain[:2], signed(3, chain[1].mac), *chain[3:]]
    assert found(check(edited, head_of(chain))) == (Outcome.FORKED, 3)


@given(chains(2), st.data())
def test_a_restored_backup_that_was_written_on_is_a_fork_at_the_head(chain: Chain, data: st.DataObject) -> None:
    kept = data.draw(place_in(chain))
    other = append(OURS, head_of(chain[:kept]), [b"after the restore"] * (len(chain) + 1), KEYS["k2"], "k2")
    assume(other[len(chain) - kept - 1].mac != chain[-1].mac)
    assert found(check(chain[:kept] + other, head_of(chain))) == (Outcome.FORKED, len(chain))
    assert found(check(chain[:kept] + other, head_of(chain[:kept]))) == (Outcome.VALID, None)


def test_a_rival_that_is_not_authentic_is_tampering() -> None:
    chain = build([(bytes([i]), "k1") for i in range(4)])
    forged = signed(3, chain[1].mac)._replace(payload=b"forged")
    unknown = signed(3, chain[1].mac)._replace(key_id="lost")
    for rival in (forged, unknown):
        assert found(check([*chain[:3], rival, chain[3]])) == (Outcome.TAMPERED, 3)
    hidden = chain[2]._replace(key_id="lost")
    assert found(check([*chain[:2], hidden, signed(3, chain[1].mac)])) == (Outcome.TAMPERED, 3)


def test_a_first_entry_that_follows_something_is_tampering() -> None:
    chain = build([(b"a", "k1"), (b"b", "k1")])
    assert found(check([signed(1, b"\1" * 32)])) == (Outcome.TAMPERED, 1)
    assert found(check(chain[1:], start=Head(1, b"\1" * 32))) == (Outcome.TAMPERED, 2)
    assert found(check(chain[1:], head_of(chain[:1]), start=Head(1, b"\1" * 32))) == (Outcome.TAMPERED, 1)


# Missing keys


@MANY
@given(chains(1), st.sampled_from(sorted(KEYS)))
def test_a_lost_key_is_unverifiable_at_its_first_entry(chain: Chain, lost: str) -> None:
    first = next((entry.sequence for entry in chain if entry.key_id == lost), None)
    verdict = check(chain, head_of(chain), {name: key for name, key in KEYS.items() if name != lost})
    assert found(verdict) == ((Outcome.VALID, None) if first is None else (Outcome.UNVERIFIABLE, first))
    assert verdict.checked_records == len(chain)


@MANY
@given(chains(1), st.data())
def test_an_unknown_key_id_hides_an_entry_but_never_as_valid(chain: Chain, data: st.DataObject) -> None:
    i = data.draw(place_in(chain))
    name = data.draw(st.sampled_from(["lost", "", "x" * 300, "\ud800"]))
    edited = [*chain[:i], chain[i]._replace(key_id=name, payload=b"changed"), *chain[i + 1 :]]
    assert found(check(edited, head_of(chain))) == (Outcome.UNVERIFIABLE, i + 1)


@given(chains(2), st.data())
def test_the_next_entry_testifies_to_the_mac_of_one_without_key(chain: Chain, data: st.DataObject) -> None:
    i = data.draw(place_in(chain))
    edited = [*chain[:i], chain[i]._replace(key_id="lost", mac=flipped(chain[i].mac, 9)), *chain[i + 1 :]]
    assert found(check(edited, head_of(chain))) == (Outcome.TAMPERED, i + 1)
    if i == len(chain) - 1:
        assert found(check(edited)) == (Outcome.UNVERIFIABLE, i + 1)


@given(chains(2), st.data())
def test_a_wrong_link_shows_without_the_key_of_the_entry(chain: Chain, data: st.DataObject) -> None:
    i = data.draw(place_in(chain))
    edited = [*chain[:i], chain[i]._replace(key_id="lost", previous_mac=b"\1" * 32), *chain[i + 1 :]]
    assert found(check(edited)) == (Outcome.TAMPERED, i + 1)


def test_tampering_and_truncation_outrank_a_missing_key() -> None:
    chain = build([(b"a", "k1"), (b"b", "k2"), (b"c", "k2"), (b"d", "k2")])
    keys = {"k2": KEYS["k2"]}
    edited, expected = change_payload(chain, 2, 1, 0)
    assert found(check(edited, None, keys)) == (Outcome.TAMPERED, expected)
    assert found(check(chain[:2], head_of(chain), keys)) == (Outcome.TRUNCATED, 3)
    without_any: dict[str, bytes] = {}
    assert found(check(chain[:1] + chain[2:], None, without_any)) == (Outcome.TAMPERED, 2)
    unlinked = [chain[0], chain[1], chain[2]._replace(previous_mac=b"\2" * 32)]
    assert found(check(unlinked, None, without_any)) == (Outcome.TAMPERED, 2)


# Piece by piece


@given(chains(1), st.integers(0, 255), st.data())
def test_feeding_in_batches_says_the_same(chain: Chain, bit: int, data: st.DataObject) -> None:
    i, edit = data.draw(place_in(chain)), data.draw(st.sampled_from([change_payload, change_mac, double]))
    edited, _ = edit(chain, i, bit, 0)
    for entries in (chain, edited):
        verifier = Verifier(OURS, KEYS.get, head_of(chain))
        going = [verifier.feed(entry) for entry in entries]
        assert verifier.finish() == verifier.finish() == check(entries, head_of(chain))
        assert going == sorted(going, reverse=True)
        assert verifier.checked_records == min(sum(going) + 1, len(entries))


def test_progress_and_the_head_that_was_reached() -> None:
    chain = build([(b"x", "k1")] * 3)
    verifier = Verifier(OURS, KEYS.get)
    assert verifier.head == EMPTY
    for entry in chain:
        assert verifier.feed(entry)
        assert verifier.checked_records == entry.sequence
        assert verifier.head == Head(entry.sequence, entry.mac)


def test_memory_does_not_grow_with_the_chain() -> None:
    def stream(count: int) -> Iterator[Entry]:
        head = EMPTY
        for number in range(count):
            (entry,) = append(OURS, head, [number.to_bytes(4, "big") * 250], KEYS["k1"], "k1")
            head = Head(entry.sequence, entry.mac)
            yield entry

    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            assert verify(OURS, stream(count), KEYS.get, None).verdict is Outcome.VALID
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    assert peak(5_000) < peak(50) + 20_000


def test_a_key_is_asked_for_once_a_run_of_its_entries() -> None:
    asked: list[str] = []

    def keys(name: str) -> Any:
        asked.append(name)
        return KEYS[name]

    chain = build([(b"x", "k1")] * 5 + [(b"x", "k2")] * 5)
    assert verify(OURS, chain, keys, None).verdict is Outcome.VALID
    assert asked == ["k1", "k2"]


# The fast way


@given(chains(2), st.data())
def test_a_batch_is_judged_as_its_entries_are(chain: Chain, data: st.DataObject) -> None:
    """Whatever was edited, and wherever batches end."""
    head = data.draw(st.sampled_from([None, head_of(chain), Head(1, chain[0].mac), Head(len(chain) + 1, GENESIS)]))
    keys = dict(KEYS)
    for lost in data.draw(st.sets(st.sampled_from(sorted(KEYS)))):
        del keys[lost]
    edited = list(chain)
    if data.draw(st.booleans()):
        change = data.draw(st.sampled_from([change_payload, change_mac, delete, swap_order, double, insert_copy]))
        edited, _ = change(edited, data.draw(place_in(chain)), 3, data.draw(place_in(chain)))
    cut = data.draw(st.integers(0, len(edited)))
    slow = Verifier(OURS, keys.get, head)
    went_on = all(slow.feed(entry) for entry in edited)
    fast = Verifier(OURS, keys.get, head)
    assert (fast.feed_all(edited[:cut]) and fast.feed_all(map(tuple, edited[cut:]))) == went_on
    assert fast.finish() == slow.finish()
    assert (fast.head, fast.checked_records, fast.key_id) == (slow.head, slow.checked_records, slow.key_id)


def test_missing_keys_are_told_by_the_stretches_they_made() -> None:
    chain = build([(b"%d" % number, "k1" if number in {0, 3, 4, 7} else "k2") for number in range(8)])
    verdict = check(chain, keys={"k2": KEYS["k2"]})
    assert found(verdict) == (Outcome.UNVERIFIABLE, 1)
    assert verdict.unverifiable == (Span(1, 1), Span(4, 5), Span(8, 8))
    many = build([(b"%d" % number, f"k{number % 2 + 1}") for number in range(4 * MAX_SPANS)])
    verdict = check(many, keys={"k2": KEYS["k2"]})
    assert verdict.unverifiable == tuple(Span(place, place) for place in range(1, 2 * MAX_SPANS, 2))
    assert str(2 * MAX_SPANS) in verdict.reason


@given(chains(), st.integers(0, 5))
def test_a_chain_must_reach_as_far_as_is_known(chain: Chain, beyond: int) -> None:
    verifier = Verifier(OURS, KEYS.get, None, reach=len(chain) + beyond)
    assert verifier.feed_all(chain)
    expected = (Outcome.TRUNCATED, len(chain) + 1) if beyond else (Outcome.VALID, None)
    assert found(verifier.finish()) == expected
