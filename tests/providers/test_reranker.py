"""Scores are placed by their index, and an answer that does not name each text once is none."""

from contextlib import asynccontextmanager, suppress
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.endpoint import Endpoint, EndpointError
from app.providers.reranker import Reranker, _placed
from tests.fixtures.endpoint import answers, scores

TEXTS = ["a", "bbb", "cc"]


@asynccontextmanager
async def reranker(url, model="cross"):
    opened = Reranker(Endpoint(url, "external"), model)
    try:
        yield opened
    finally:
        await opened.close()


@pytest.mark.parametrize("bare", [False, True])
async def test_scores_come_in_the_order_of_the_texts(endpoint, bare):
    endpoint.does(scores(len, bare=bare))
    async with reranker(endpoint.url) as opened:
        assert opened.locality == "external"
        assert await opened.scores("which?", TEXTS, 30.0) == [1.0, 3.0, 2.0]
    (call,) = endpoint.calls
    assert call.path == "/v1/rerank"
    assert call.json == {"model": "cross", "query": "which?", "documents": TEXTS, "top_n": 3}


async def test_an_endpoint_with_one_model_is_told_none(endpoint):
    endpoint.does(scores(len))
    async with reranker(endpoint.url, None) as opened:
        await opened.scores("which?", TEXTS, 30.0)
    assert set(endpoint.calls[0].json) == {"query", "documents", "top_n"}


def results(*pairs, name="relevance_score"):
    return [{"index": index, name: score} for index, score in pairs]


GOOD = [(0, 0.1), (1, 0.2), (2, 0.3)]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        None,
        7,
        {"results": None},
        {"results": []},
        {"data": results(*GOOD)},
        {"results": results(*GOOD[:2])},
        {"results": results(*GOOD, (3, 0.4))},
        {"results": results(*GOOD, (2, 0.3))},
        {"results": results((0, 0.1), (1, 0.2), (1, 0.3))},
        {"results": results((1, 0.1), (2, 0.2), (3, 0.3))},
        {"results": results((-1, 0.1), (0, 0.2), (1, 0.3))},
        {"results": results((False, 0.1), (True, 0.2), (2, 0.3))},
        {"results": results(("0", 0.1), (1, 0.2), (2, 0.3))},
        {"results": results((0.0, 0.1), (1, 0.2), (2, 0.3))},
        {"results": results((None, 0.1), (1, 0.2), (2, 0.3))},
        {"results": results((0, None), (1, 0.2), (2, 0.3))},
        {"results": results((0, "0.1"), (1, 0.2), (2, 0.3))},
        {"results": results((0, True), (1, 0.2), (2, 0.3))},
        {"results": results((0, 10**400), (1, 0.2), (2, 0.3))},
        {"results": [0.1, 0.2, 0.3]},
        [0.1, 0.2, 0.3],
        results(*GOOD[:2], name="score"),
    ],
)
async def test_what_does_not_name_each_text_once_is_no_answer(endpoint, answer):
    endpoint.does(answers(answer))
    async with reranker(endpoint.url) as opened:
        with pytest.raises(EndpointError) as failed:
            await opened.scores("which?", TEXTS, 30.0)
    assert failed.value.reason == "bad_response"


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999"])
async def test_what_is_not_finite_is_no_score(endpoint, number):
    endpoint.does(answers(b'{"results": [{"index": 0, "relevance_score": ' + number + b"}]}"))
    async with reranker(endpoint.url) as opened:
        with pytest.raises(EndpointError) as failed:
            await opened.scores("which?", ["one"], 30.0)
    assert failed.value.reason == "bad_response"


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30), st.randoms(), st.booleans())
def test_whatever_the_order_of_the_answer(values, random, bare):
    pairs = list(enumerate(values))
    random.shuffle(pairs)
    answer = results(*pairs, name="score") if bare else {"results": results(*pairs)}
    assert _placed(answer, len(values)) == values


scalars = st.none() | st.booleans() | st.integers(-2, 4) | st.floats() | st.text(max_size=3)
names = st.sampled_from(["results", "index", "score", "relevance_score", "other"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=3), max_leaves=12
)


@given(values, st.integers(1, 3))
def test_whatever_it_answers_there_are_scores_or_there_are_none(answer, count):
    with suppress(EndpointError):
        placed = _placed(answer, count)
        assert len(placed) == count
        assert all(isinstance(score, float) and isfinite(score) for score in placed)
