from itertools import product
from math import inf, log, nan
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Code, MunimentError
from app.domain.principal import Level
from app.domain.scoring import (
    LEVEL_WEIGHTS,
    level_weight,
    memory_score,
    normalise_text,
    normalise_vector,
    parse_level_weights,
    passage_score,
    rank_key,
)

unit = st.floats(0, 1)
signal = st.none() | unit
weight = st.floats(0.0001, 10)
ids = st.uuids()


def place(vector, text, level, item_id):
    return rank_key(vector, text, passage_score(vector, text, level), item_id)


def test_a_passage_scores_seven_tenths_vector_and_three_tenths_text_times_its_level():
    assert passage_score(0.5, 0.25, 1.2) == pytest.approx((0.35 + 0.075) * 1.2)
    assert passage_score(None, 0.25, 1.0) == pytest.approx(0.075)
    assert passage_score(0.5, None, 1.0) == pytest.approx(0.35)
    assert passage_score(None, None, 1.0) == 0


@given(signal, signal, weight)
def test_a_passage_score_lies_between_nothing_and_its_level_weight(vector, text, level):
    assert 0 <= passage_score(vector, text, level) <= level * (1 + 1e-12)


@given(signal, signal, weight, unit, ids)
def test_another_leg_never_lowers_a_place(vector, text, level, further, item):
    alone = place(vector, text, level, item)
    assert vector is not None or place(further, text, level, item) <= alone
    assert text is not None or place(vector, further, level, item) <= alone


@given(signal, signal, weight, weight, ids, ids, st.floats(0.001, 1), st.floats(0.001, 1))
def test_what_both_legs_found_comes_before_what_one_found(vector, text, level, other_level, item, other, v, t):
    one_leg = place(vector, None, level, item) if vector is not None else place(None, text, level, item)
    assert place(v, t, other_level, other) < one_leg


@given(st.lists(st.tuples(signal, signal, weight, ids), unique_by=lambda row: row[3]), st.randoms())
def test_the_order_is_total_and_does_not_depend_on_the_order_given(rows, random):
    ordered = sorted(rows, key=lambda row: place(*row))
    random.shuffle(rows)
    assert sorted(rows, key=lambda row: place(*row)) == ordered
    assert len({place(*row) for row in rows}) == len(rows)


def test_equal_scores_order_by_id():
    low, high = UUID(int=1), UUID(int=2)
    assert place(0.5, 0.5, 1.0, low) < place(0.5, 0.5, 1.0, high)


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_what_is_not_finite_is_refused_everywhere(bad):
    calls = [
        lambda: passage_score(bad, 0.5, 1.0),
        lambda: passage_score(0.5, bad, 1.0),
        lambda: passage_score(0.5, 0.5, bad),
        lambda: rank_key(bad, 0.5, 0.5, UUID(int=1)),
        lambda: rank_key(0.5, 0.5, bad, UUID(int=1)),
        lambda: normalise_vector(bad),
        lambda: normalise_text(bad, 1.0),
        lambda: normalise_text(1.0, bad),
        lambda: memory_score(bad, 1.0, 0.5, 1),
        lambda: memory_score(0.5, bad, 0.5, 1),
        lambda: memory_score(0.5, 1.0, bad, 1),
        lambda: level_weight(bad),
    ]
    for call in calls:
        with pytest.raises(MunimentError) as caught:
            call()
        assert caught.value.code is Code.BAD_USER_INPUT


@pytest.mark.parametrize(("vector", "text"), [(-0.1, 0.5), (1.1, 0.5), (0.5, -0.1), (0.5, 1.1)])
def test_signals_outside_zero_to_one_are_refused(vector, text):
    with pytest.raises(MunimentError):
        passage_score(vector, text, 1.0)


def test_a_negative_cosine_counts_nothing_and_rounding_never_passes_one():
    assert normalise_vector(-0.3) == 0
    assert normalise_vector(1.0000001) == 1
    assert normalise_vector(0.4) == 0.4


@given(st.floats(0, 200), st.floats(0, 200))
def test_the_text_signal_stays_between_nothing_and_one(bm25, greatest):
    assert 0 <= normalise_text(bm25, greatest) <= 1


@given(unit, unit, st.floats(0.01, 300))
def test_the_text_signal_grows_with_bm25(a, b, greatest):
    low, high = sorted((a, b))
    assert normalise_text(low * greatest, greatest) <= normalise_text(high * greatest, greatest)


@given(unit, st.floats(0.01, 16))
def test_the_text_signal_of_a_short_question_is_its_coverage(coverage, greatest):
    assert normalise_text(coverage * greatest, greatest) == pytest.approx(coverage)


def test_what_a_long_question_shares_with_a_chunk_tells_more():
    assert normalise_text(16, 32) == pytest.approx(0.75)
    assert normalise_text(0, 32) == 0
    assert normalise_text(32, 32) == 1


def test_a_memory_scores_by_similarity_age_importance_and_use():
    scored = memory_score(0.5, 14.0, 0.8, 100)
    assert (scored.similarity, scored.recency, scored.importance, scored.frequency) == (0.5, 0.5, 0.8, 1.0)
    assert scored.score == pytest.approx(0.40 * 0.5 + 0.20 * 0.5 + 0.25 * 0.8 + 0.15)
    assert memory_score(0.5, 0, 0, 9).frequency == pytest.approx(log(10) / log(101))
    assert memory_score(0.5, 0, 0, 10**12).frequency == 1


def test_without_a_question_every_memory_is_similar():
    assert memory_score(None, 0.0, 1.0, 100).score == pytest.approx(1.0)


def test_a_memory_from_the_future_is_not_younger_than_new():
    assert memory_score(0.1, -5.0, 0.1, 1) == memory_score(0.1, 0.0, 0.1, 1)
    assert memory_score(-0.5, 0.0, 0.1, 1).similarity == 0


@given(st.none() | st.floats(-1, 1), st.floats(0, 1e6), unit, st.integers(0, 10**9))
def test_a_memory_score_lies_between_nothing_and_one(similarity, age, importance, count):
    assert 0 <= memory_score(similarity, age, importance, count).score <= 1 + 1e-12


@pytest.mark.parametrize(("importance", "count"), [(-0.1, 1), (1.1, 1), (0.5, -1)])
def test_impossible_memories_are_refused(importance, count):
    with pytest.raises(MunimentError):
        memory_score(0.5, 1.0, importance, count)


def test_level_weights_have_their_defaults():
    assert {level.value: value for level, value in LEVEL_WEIGHTS.items()} == {
        "organisation": 0.85,
        "business_unit": 0.88,
        "department": 0.92,
        "group": 1.0,
        "team": 1.0,
        "project": 1.2,
        "subproject": 1.4,
        "personal": 0.85,
    }


@pytest.mark.parametrize("given_weight", ["0.0001", "10", 10, 1.2345, " 2 ", "1e0"])
def test_level_weights_that_are_allowed(given_weight):
    assert level_weight(given_weight) == float(given_weight)


@pytest.mark.parametrize("bad", ["0", "-1", "10.0001", "11", "1.23456", 0.00001, "", "much", "NaN", "Infinity"])
def test_level_weights_that_are_refused(bad):
    with pytest.raises(MunimentError) as caught:
        level_weight(bad)
    assert caught.value.code is Code.BAD_USER_INPUT


def test_level_weights_are_read_from_a_line():
    assert parse_level_weights("") == dict(LEVEL_WEIGHTS)
    assert parse_level_weights(" project=2 , team=0.5") == {**LEVEL_WEIGHTS, Level.PROJECT: 2.0, Level.TEAM: 0.5}


@pytest.mark.parametrize("bad", ["project", "project=", "galaxy=1", "project=1,project=2", "project=1,", "=1", "a=b=c"])
def test_lines_of_level_weights_that_are_refused(bad):
    with pytest.raises(MunimentError):
        parse_level_weights(bad)


def test_every_level_can_be_weighted():
    for level, value in product(Level, ("0.5", "10")):
        assert parse_level_weights(f"{level}={value}")[level] == float(value)
