from dataclasses import replace
from itertools import count
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.domain.budget import BudgetStrategy, trim
from app.domain.selection import Related, Relation
from tests.domain.candidates import candidate, candidates, sized

DROP_LOWEST, PACK, KEEP_FIRST = BudgetStrategy.DROP_LOWEST, BudgetStrategy.PACK, BudgetStrategy.KEEP_FIRST

strategies = st.sampled_from(BudgetStrategy)
budgets = st.integers(0, 4000)
spoken_for = st.integers(0, 500)


def stays(kept, budget, strategy, used=0):
    """Places of what stays."""
    cut = trim(kept, budget, strategy, used)
    assert cut.dropped <= {item.id for item in kept}
    return [place for place, item in enumerate(kept) if item.id not in cut.dropped]


@given(candidates(), budgets, strategies, spoken_for)
def test_the_total_is_the_sum_of_what_stays_and_of_what_was_spoken_for(kept, budget, strategy, used):
    cut = trim(kept, budget, strategy, used)
    assert cut.tokens == used + sum(item.tokens for item in kept if item.id not in cut.dropped)
    if strategy is not KEEP_FIRST:
        assert cut.tokens <= budget or len(cut.dropped) == len(kept)


@given(candidates(), st.none() | st.just(10**9), strategies, spoken_for)
def test_without_a_budget_or_with_a_great_one_everything_stays(kept, budget, strategy, used):
    cut = trim(kept, budget, strategy, used)
    assert cut.dropped == frozenset()
    assert cut.one_more is None


@given(candidates(), budgets, spoken_for)
def test_drop_lowest_drops_the_lowest_score_until_the_rest_fits(kept, budget, used):
    rest = list(kept)
    while rest and used + sum(item.tokens for item in rest) > budget:
        lowest = min(item.score for item in rest)
        rest.remove([item for item in rest if item.score == lowest][-1])
    assert stays(kept, budget, DROP_LOWEST, used) == [kept.index(item) for item in rest]


@given(candidates(), budgets, spoken_for)
def test_pack_takes_all_that_fits_down_the_ranking(kept, budget, used):
    room, expected = budget - used, []
    for place, item in enumerate(kept):
        if item.tokens <= room:
            expected.append(place)
            room -= item.tokens
    assert stays(kept, budget, PACK, used) == expected
    assert all(item.tokens > room for place, item in enumerate(kept) if place not in expected)


@given(candidates(), budgets, spoken_for)
def test_keep_first_never_drops_the_first_and_drops_the_lowest_of_the_others(kept, budget, used):
    found = stays(kept, budget, KEEP_FIRST, used)
    if not kept:
        assert found == []
        return
    others = stays(kept[1:], budget, DROP_LOWEST, used + kept[0].tokens)
    assert found == [0, *(place + 1 for place in others)]


@given(candidates(), budgets, st.integers(0, 500), st.sampled_from([DROP_LOWEST, KEEP_FIRST]))
def test_a_greater_budget_never_drops_what_a_smaller_one_kept(kept, budget, more, strategy):
    assert set(stays(kept, budget, strategy)) <= set(stays(kept, budget + more, strategy))


def smallest_that_keeps_more(kept, budget, strategy, used):
    """By trying every budget."""
    now = len(stays(kept, budget, strategy, used))
    if now == len(kept):
        return None
    return next(more for more in count(budget + 1) if len(stays(kept, more, strategy, used)) > now)


small = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), max_size=7).map(
    lambda sizes: [candidate(number, tokens, score) for number, (tokens, score) in enumerate(sizes, 1)]
)


# A budget of 11 admits the first in place of the second, which leaves one passage as before.
@example(sized(10, 6, 5), 9, PACK, 0)
@example(sized(10, 3, 3, 3), 9, PACK, 0)
@example(sized(5, 5), 0, DROP_LOWEST, 0)
@example(sized(50, 5), 3, KEEP_FIRST, 0)
@example(sized(1), 0, DROP_LOWEST, 7)
@given(small, st.integers(0, 40), strategies, st.integers(0, 10))
def test_one_more_is_the_smallest_budget_that_keeps_one_more(kept, budget, strategy, used):
    assert trim(kept, budget, strategy, used).one_more == smallest_that_keeps_more(kept, budget, strategy, used)


def test_a_greater_budget_may_leave_pack_with_fewer_before_it_leaves_it_with_more():
    kept = sized(10, 3, 3, 3)
    assert stays(kept, 9, PACK) == [1, 2, 3]
    assert stays(kept, 10, PACK) == [0]
    assert trim(kept, 9, PACK).one_more == 19


@pytest.mark.parametrize(
    ("strategy", "left", "one_more"), [(DROP_LOWEST, [], 150), (PACK, [], 100), (KEEP_FIRST, [0], 350)]
)
def test_hits_that_are_all_greater_than_the_budget(strategy, left, one_more):
    kept = sized(150, 200, 100)
    assert stays(kept, 80, strategy) == left
    assert trim(kept, 80, strategy).one_more == one_more


def test_the_lowest_score_goes_even_where_it_does_not_rank_last():
    kept = [candidate(1, 5, 0.4), candidate(2, 5, 0.9), candidate(3, 5, 0.4), candidate(4, 5, 0.6)]
    assert stays(kept, 15, DROP_LOWEST) == [0, 1, 3]
    assert stays(kept, 10, DROP_LOWEST) == [1, 3]
    assert stays(kept, 10, KEEP_FIRST) == [0, 1]
    assert stays(kept, 10, PACK) == [0, 1]


# Passages that are only related to a ranked one


@st.composite
def with_related(draw):
    """Ranked candidates, and behind them some that belong to one of them, or to one that is not there."""
    ranked = draw(candidates(most=8))
    owners = [item.id for item in ranked] + [UUID(int=5000)]
    beside = [
        replace(
            candidate(1000 + number, draw(st.integers(0, 400))),
            related=Related(draw(st.sampled_from(owners)), draw(st.sampled_from(Relation))),
        )
        for number in range(draw(st.integers(0, 6)))
    ]
    return ranked, beside


@given(with_related(), budgets, strategies, spoken_for)
def test_what_is_related_takes_only_what_the_ranked_leave(items, budget, strategy, used):
    ranked, beside = items
    alone, cut = trim(ranked, budget, strategy, used), trim([*ranked, *beside], budget, strategy, used)
    ids = {item.id for item in ranked}
    assert cut.dropped & ids == alone.dropped
    assert cut.one_more == alone.one_more
    assert cut.tokens == used + sum(item.tokens for item in [*ranked, *beside] if item.id not in cut.dropped)
    assert cut.tokens <= max(budget, alone.tokens)


@given(with_related(), budgets, strategies, spoken_for)
def test_what_is_related_stays_as_far_as_it_fits_beside_what_it_belongs_to(items, budget, strategy, used):
    ranked, beside = items
    cut = trim([*ranked, *beside], budget, strategy, used)
    there = {item.id for item in ranked} - cut.dropped
    room = budget - trim(ranked, budget, strategy, used).tokens
    for item in beside:
        stays = item.related.to in there and item.tokens <= room
        assert (item.id not in cut.dropped) is stays
        room -= item.tokens if stays else 0


@given(with_related(), strategies, spoken_for)
def test_without_a_budget_all_that_is_related_stays(items, strategy, used):
    ranked, beside = items
    assert trim([*ranked, *beside], None, strategy, used).dropped == frozenset()
