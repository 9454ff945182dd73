"""Maximal marginal relevance against the textbook's own loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from app.domain.diversity import mmr
from app.domain.errors import MunimentError


def unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > 0, rows / np.where(lengths > 0, lengths, 1), 0).astype(np.float32)


@st.composite
def ranked(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    count = draw(st.integers(0, 12))
    scores = sorted(draw(st.lists(st.floats(0, 1.4), min_size=count, max_size=count)), reverse=True)
    rows = draw(arrays(np.float32, (count, 3), elements=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0])))
    return np.array(scores, dtype=np.float64), unit(rows)


def by_hand(relevance: np.ndarray, vectors: np.ndarray, trade_off: float) -> list[int]:
    like = (vectors @ vectors.T).astype(np.float64)
    left, taken = list(range(len(relevance))), []
    while left:
        if taken:
            worth = {
                one: trade_off * relevance[one] - (1.0 - trade_off) * max(like[one][other] for other in taken)
                for one in left
            }
            best = min(left, key=lambda one: (-worth[one], one))
        else:
            best = left[0]
        taken.append(best)
        left.remove(best)
    return taken


@given(ranked(), st.floats(0, 1))
def test_it_takes_what_the_definition_takes(given_, trade_off):
    relevance, vectors = given_
    assert mmr(relevance, vectors, trade_off) == by_hand(relevance, vectors, trade_off)


@given(ranked())
def test_one_is_relevance_order_exactly_and_the_best_always_stays_first(given_):
    relevance, vectors = given_
    assert mmr(relevance, vectors, 1.0) == list(range(len(relevance)))
    assert mmr(relevance, vectors, 0.0)[:1] == list(range(len(relevance)))[:1]


def test_relevance_alone_is_not_read_the_wrong_way_round():
    # Question (1, 0); C (1, 0), A (.9, .1) and B (0, 1), best first.
    vectors = unit(np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]))
    relevance = (vectors @ np.array([1.0, 0.0])).astype(np.float64)
    assert mmr(relevance, vectors, 1.0)[:2] == [0, 1]
    assert mmr(relevance, vectors, 0.0)[:2] == [0, 2]


def test_a_text_said_twice_gives_way():
    vectors = unit(np.array([[1.0, 0.0], [1.0, 0.0], [0.6, 0.8]]))
    assert mmr(np.array([0.9, 0.89, 0.6]), vectors, 0.5) == [0, 2, 1]


@pytest.mark.parametrize("trade_off", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_trade_off_outside_its_range_is_refused(trade_off):
    with pytest.raises(MunimentError):
        mmr(np.array([1.0]), np.zeros((1, 2), dtype=np.float32), trade_off)
