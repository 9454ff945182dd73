"""What differs between a retrieval and itself, made again; and why."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.replay import SENTENCES, Again, Change, Drift, Given, Stored, changes, explain
from app.domain.replay import given as given_of
from app.domain.selection import Reason
from app.domain.trace import Kind, Traced

ids = st.integers(1, 12).map(lambda number: UUID(int=number))
numbers = st.one_of(st.none(), st.floats(-2, 2))


@st.composite
def traced(draw: st.DrawFn) -> tuple[Traced, ...]:
    found = draw(st.lists(ids, unique=True, max_size=8))
    return tuple(
        Traced(
            Kind.PASSAGE,
            id,
            UUID(int=99),
            UUID(int=98),
            UUID(int=97),
            tuple(draw(st.lists(numbers, min_size=7, max_size=7))),
            draw(st.integers(1, 9)),
            None,
            "cap",
            Reason.TOP_K,
        )
        for id in found
    )


def delivered(items: tuple[Traced, ...]) -> tuple[Given, ...]:
    return tuple(Given(item.item, item.whole, item.source, "ab" * 32) for item in items[:3])


def again(items: tuple[Traced, ...], given: tuple[Given, ...] | None = None) -> Again:
    gave = delivered(items) if given is None else given
    return Again(gave, items, {}, frozenset(), frozenset(), "none", None)


@given(traced())
def test_the_same_does_not_differ(items: tuple[Traced, ...]) -> None:
    found = changes(delivered(items), items, again(items))
    assert found == {}
    assert explain(found, {}, against_now=False) == ()


@given(traced(), traced(), st.booleans())
def test_whatever_differs_has_a_reason(before: tuple[Traced, ...], after: tuple[Traced, ...], now: bool) -> None:
    found = changes(delivered(before), None if now else before, again(after))
    assert bool(found) is (delivered(before) != delivered(after) or (not now and set(before) != set(after)))
    for stored in (Stored(), Stored(exists=False, holds=False), Stored(in_scope=False), Stored(moved=True)):
        reasons = explain(found, dict.fromkeys(found, stored), against_now=now)
        assert bool(reasons) is bool(found)
        assert {item for reason in reasons for item in reason.items} <= found.keys()


@given(traced().filter(len), st.integers(0, 6), st.data())
@settings(max_examples=50)
def test_the_least_bit_of_a_number_counts(items: tuple[Traced, ...], place: int, data: st.DataObject) -> None:
    victim = data.draw(st.sampled_from(items))
    value = victim.numbers[place]
    moved = 1.0 if value is None else -0.0 if value == 0 and str(value) == "0.0" else value + 1e-15 if value else 0.0
    if value is not None and str(moved) == str(value):
        moved = value * 2 + 1
    changed = replace(victim, numbers=(*victim.numbers[:place], moved, *victim.numbers[place + 1 :]))
    found = changes(delivered(items), items, again(tuple(changed if item is victim else item for item in items)))
    assert found.keys() == {victim.item}


ITEM = UUID(int=1)


@pytest.mark.parametrize(
    ("kinds", "stored", "now", "reason"),
    [
        ({Change.GONE}, Stored(exists=False), False, Drift.ERASED),
        ({Change.GONE}, Stored(exists=False), True, Drift.ERASED),
        ({Change.GONE}, Stored(in_scope=False), False, Drift.PERMISSION_CHANGED),
        ({Change.GONE}, Stored(in_scope=False, source_exists=False), True, Drift.SOURCE_REMOVED),
        ({Change.GONE}, Stored(moved=True), True, Drift.CONTENT_CORRECTED),
        ({Change.GONE}, Stored(ends=True), True, Drift.EXPIRED),
        ({Change.GONE}, Stored(), False, Drift.STORE_CHANGED),
        ({Change.GONE}, Stored(), True, Drift.RANKING_CHANGED),
        ({Change.NEW}, Stored(since=True), True, Drift.CONTENT_ADDED),
        ({Change.NEW}, Stored(), True, Drift.RANKING_CHANGED),
        ({Change.TEXT}, Stored(), False, Drift.HASH_MISMATCH),
        ({Change.WEIGHT}, Stored(), False, Drift.WEIGHTS_CHANGED),
        ({Change.EMBEDDING}, Stored(), False, Drift.MODEL_CHANGED),
        ({Change.SIGNAL}, Stored(), False, Drift.STORE_CHANGED),
        ({Change.PLACE}, Stored(), False, Drift.STORE_CHANGED),
    ],
)
def test_each_kind_of_change(kinds: set[Change], stored: Stored, now: bool, reason: Drift) -> None:
    [found] = explain({ITEM: kinds}, {ITEM: stored}, against_now=now)
    assert (found.reason, found.items, found.sentence) == (reason, (ITEM,), SENTENCES[reason])


def test_what_only_follows_has_no_reason_of_its_own() -> None:
    other = UUID(int=2)
    differing = {ITEM: {Change.GONE}, other: {Change.PLACE}}
    [found] = explain(differing, {ITEM: Stored(exists=False), other: Stored()}, against_now=False)
    assert (found.reason, found.items) == (Drift.ERASED, (ITEM,))


def test_another_policy_explains_another_text() -> None:
    [found] = explain({ITEM: {Change.TEXT}}, {ITEM: Stored()}, against_now=False, policy_changed=True)
    assert found.reason is Drift.POLICY_CHANGED
    # A policy that changed no text explains nothing.
    assert explain({}, {}, against_now=True, policy_changed=True, model_changed=True, weights_changed=True) == ()


def test_what_cannot_be_done_again_is_named() -> None:
    [found] = explain({}, {}, against_now=False, problems=("rewrite", "rerank"))
    assert found.reason is Drift.APPROXIMATE
    assert "rewrite, rerank" in found.sentence


def test_a_record_tells_what_was_given_in_order() -> None:
    one, two, three = (str(UUID(int=number)) for number in (1, 2, 3))
    record = {
        "chunks": [
            {"chunkId": one, "documentId": two, "sourceId": three, "sha256": "aa"},
            {
                "chunkId": two,
                "documentId": two,
                "sourceId": three,
                "sha256": "bb",
                "relatedTo": one,
                "relation": "CALLS",
            },
        ],
        "memories": [{"versionId": three, "memoryId": one, "sha256": "cc"}],
    }
    assert [(item.item.int, item.source is None, item.sha256) for item in given_of(record)] == [
        (1, False, "aa"),
        (2, False, "bb"),
        (3, True, "cc"),
    ]
    assert given_of(record)[1].beside == (UUID(int=1), "CALLS")


def test_every_reason_has_a_sentence() -> None:
    assert set(SENTENCES) == set(Drift)
