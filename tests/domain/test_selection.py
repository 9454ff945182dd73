from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.selection import Excluded, Reason, Selection
from tests.domain.candidates import candidates, sized

reasons = st.sampled_from(Reason)


def ids(items):
    return [item.id for item in items]


@given(candidates(), st.data())
def test_whatever_is_dropped_stage_after_stage_nothing_vanishes_and_nothing_is_twice(items, data):
    selection = Selection(tuple(items))
    for stage in data.draw(st.lists(st.sampled_from(["rank", "cap", "budget"]), max_size=4)):
        gone = data.draw(st.dictionaries(st.sampled_from(ids(selection.kept)), reasons)) if selection.kept else {}
        before = selection
        selection = before.drop(stage, gone)
        assert ids(selection.kept) == [id for id in ids(before.kept) if id not in gone]
        assert selection.excluded[: len(before.excluded)] == before.excluded
        fresh = selection.excluded[len(before.excluded) :]
        assert {item.candidate.id: item.reason for item in fresh} == gone
        assert ids(item.candidate for item in fresh) == [id for id in ids(before.kept) if id in gone]
        assert {item.stage for item in fresh} <= {stage}
    kept, excluded = set(ids(selection.kept)), set(ids(item.candidate for item in selection.excluded))
    assert kept.isdisjoint(excluded)
    assert kept | excluded == set(ids(items)) == selection.gathered
    assert len(selection.kept) + len(selection.excluded) == len(items)
    assert selection.conserves(frozenset(ids(items)))


@given(candidates(), st.randoms())
def test_a_rewrite_reorders_and_annotates(items, random):
    selection = Selection(tuple(items))
    shuffled = [replace(item, tokens=item.tokens + 1) for item in items]
    random.shuffle(shuffled)
    rewritten = selection.rewrite(iter(shuffled))
    assert rewritten.kept == tuple(shuffled)
    assert rewritten.conserves(selection.gathered)


def test_a_stage_drops_only_what_it_was_given():
    first, second = sized(1, 1)
    selection = Selection((first,)).drop("cap", {first.id: Reason.TOP_K})
    for stranger in (first.id, second.id):
        with pytest.raises(LookupError):
            selection.drop("budget", {stranger: Reason.TOKEN_BUDGET})


def test_a_stage_neither_adds_nor_loses_nor_repeats():
    first, second, third = sized(1, 1, 1)
    selection = Selection((first, second))
    for wrong in [(first,), (first, second, third), (first, third), (first, first), (first, second, second), ()]:
        with pytest.raises(LookupError):
            selection.rewrite(wrong)


def test_conservation_is_shown_by_the_ids_themselves():
    first, second, third = sized(1, 1, 1)
    everything = frozenset(ids([first, second, third]))
    out = Excluded(third, "cap", Reason.TOP_K)
    assert Selection((first, second), (out,)).conserves(everything)
    # Each of these has the right number of candidates, which a subtraction would find in order.
    assert not Selection((first, first), (out,)).conserves(everything)
    assert not Selection((first, third), (out,)).conserves(everything)
    assert not Selection((first, second), (Excluded(second, "cap", Reason.TOP_K),)).conserves(everything)
    assert not Selection((first, second), (out,)).conserves(everything - {third.id} | {UUID(int=9)})
    assert not Selection((first,), (out,)).conserves(everything)


def test_nothing_is_dropped_for_no_reason():
    selection = Selection(tuple(sized(1, 2)))
    assert selection.drop("cap", {}) is selection


@given(candidates(), candidates(), st.data())
def test_what_is_appended_stands_last_and_is_nowhere_else(items, others, data):
    gone = data.draw(st.dictionaries(st.sampled_from(ids(items)), reasons)) if items else {}
    selection = Selection(tuple(items)).drop("cap", gone)
    found = [item for item in others if item.id not in set(ids(selection.kept))]
    after = selection.append(found)
    assert after.kept == (*selection.kept, *found)
    assert after.conserves(selection.gathered | set(ids(found)))
    assert [item for item in selection.excluded if item.candidate.id not in set(ids(found))] == list(after.excluded)


def test_what_is_kept_already_is_not_appended():
    first, second = sized(1, 1)
    for wrong in [(first,), (second, second)]:
        with pytest.raises(LookupError):
            Selection((first,)).append(wrong)
