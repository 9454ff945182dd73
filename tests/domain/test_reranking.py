"""What was compared changes places among itself; everything else stays where it was."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from app.domain.budget import BudgetStrategy, trim
from app.domain.reranking import reorder
from app.domain.selection import Selection
from tests.domain.candidates import candidate, candidates, sized

said = st.dictionaries(
    st.integers(1, 999).map(lambda number: UUID(int=number)),
    st.sampled_from([-1.0, 0.0, 0.5, 0.5, 2.0]) | st.floats(-9, 9),
)


def ids(items):
    return [item.id.int for item in items]


def test_a_text_that_was_not_shown_keeps_its_place():
    ranked = [candidate(number) for number in range(1, 7)]
    # 2 may not be sent, 5 and 6 were not shown for want of room.
    order = reorder(ranked, {UUID(int=1): 0.1, UUID(int=3): 0.2, UUID(int=4): 0.9})
    assert ids(order) == [4, 2, 3, 1, 5, 6]
    assert [item.scores.rerank for item in order] == [0.9, None, 0.2, 0.1, None, None]


def test_equal_ones_stay_as_they_were_ranked():
    ranked = [candidate(number) for number in (3, 1, 2)]
    assert ids(reorder(ranked, dict.fromkeys((item.id for item in ranked), 0.5))) == [3, 1, 2]
    assert ids(reorder(ranked, {ranked[0].id: -0.0, ranked[1].id: 0.0})) == [3, 1, 2]


@given(candidates(), st.data())
def test_nothing_is_lost_and_only_what_was_compared_moves(items, data):
    compared = data.draw(st.sets(st.sampled_from([item.id for item in items])) if items else st.just(set()))
    scores = {id: data.draw(st.sampled_from([0.0, 0.5, 1.0]) | st.floats(-9, 9)) for id in sorted(compared)}
    order = reorder(items, scores)
    assert Selection(tuple(items)).rewrite(order).conserves(frozenset(item.id for item in items))
    for before, after in zip(items, order, strict=True):
        assert (before.id in compared) == (after.id in compared)
        if before.id not in compared:
            assert after == before
    moved = [item for item in order if item.id in compared]
    place = {item.id: number for number, item in enumerate(items)}
    assert [item.id for item in moved] == sorted(compared, key=lambda id: (-scores[id], place[id]))
    score = {item.id: item.score for item in items}
    assert all(item.score == score[item.id] and item.scores.rerank == scores.get(item.id) for item in order)


@given(candidates(), said)
def test_it_is_a_matter_of_the_scores_alone(items, scores):
    once = reorder(items, scores)
    assert reorder(items, dict(reversed(scores.items()))) == once
    # Told again, it changes nothing.
    assert reorder(once, scores) == once


@given(candidates(), st.integers(0, 2000), st.sampled_from([BudgetStrategy.DROP_LOWEST, BudgetStrategy.KEEP_FIRST]))
def test_a_budget_drops_from_the_end_of_a_reranked_order(items, budget, strategy):
    order = reorder(items, {item.id: -item.score for item in items})
    cut = trim(order, budget, strategy)
    kept = [item.id for item in order if item.id not in cut.dropped]
    assert kept == [item.id for item in order][: len(kept)]
    assert strategy is BudgetStrategy.KEEP_FIRST or cut.tokens <= budget


def test_without_a_reranker_the_lowest_score_goes():
    best_last = list(reversed(sized(10, 10, 10)))
    assert {id.int for id in trim(best_last, 20).dropped} == {3}
    told = reorder(best_last, {best_last[0].id: 0.5})
    assert {id.int for id in trim(told, 20).dropped} == {1}
