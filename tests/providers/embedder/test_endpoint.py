"""An embedder behind HTTP: in batches, placed by index, patient with what passes, strict with what it is answered."""

from contextlib import asynccontextmanager

import numpy as np
import pytest

from app.domain.errors import MunimentError
from app.providers.embedder import endpoint as module
from app.providers.embedder.endpoint import LONGEST, MOST_TEXTS, EndpointEmbedder
from app.providers.endpoint import Endpoint, EndpointError
from tests.fixtures.endpoint import answers, cuts

DIMENSIONS = 3


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Pauses are counted, not waited for."""
    paused = []

    async def sleep(seconds):
        paused.append(seconds)

    monkeypatch.setattr(module.asyncio, "sleep", sleep)
    return paused


@asynccontextmanager
async def embedder(url, dimensions=DIMENSIONS):
    opened = EndpointEmbedder(Endpoint(url, "external"), "remote", dimensions)
    try:
        yield opened
    finally:
        await opened.close()


def vector(text):
    return [float(len(text)), 1.0, 0.0]


def embeds(limit=10**9):
    """Out of order, and refusing what is longer than its model reads."""

    async def behave(call, writer):
        texts = call.json["input"]
        if any(len(text) > limit for text in texts):
            await answers({"error": "too many tokens"}, 400)(call, writer)
            return
        data = [{"index": index, "embedding": vector(text)} for index, text in enumerate(texts)]
        await answers({"data": data[::-1], "model": "remote"})(call, writer)

    return behave


def unit(text):
    row = np.array(vector(text))
    return row / np.linalg.norm(row)


async def test_vectors_come_in_the_order_of_the_texts_and_of_unit_length(endpoint):
    endpoint.does(embeds())
    texts = ["a", "bbb", "cc"]
    async with embedder(endpoint.url) as opened:
        rows = await opened.embed_documents(texts)
        question = await opened.embed_query("bbb")
        assert (opened.in_process, opened.locality) == (False, "external")
    assert rows.dtype == np.float32
    assert np.allclose(rows, [unit(text) for text in texts])
    assert np.array_equal(question, rows[1])
    assert endpoint.calls[0].path == "/v1/embeddings"
    assert endpoint.calls[0].json == {"model": "remote", "input": texts, "encoding_format": "float"}


async def test_many_texts_go_in_batches(endpoint):
    endpoint.does(embeds())
    texts = [f"text {number}" for number in range(2 * MOST_TEXTS + 5)]
    async with embedder(endpoint.url) as opened:
        rows = await opened.embed_documents(texts)
        assert (await opened.embed_documents([])).shape == (0, DIMENSIONS)
    assert [len(call.json["input"]) for call in endpoint.calls] == [MOST_TEXTS, MOST_TEXTS, 5]
    assert np.allclose(rows, [unit(text) for text in texts])


async def test_blanks_are_never_sent(endpoint):
    endpoint.does(embeds())
    async with embedder(endpoint.url) as opened:
        for texts in ([" "], ["a", "\n\t"], [""]):
            with pytest.raises(MunimentError):
                await opened.embed_documents(texts)
        with pytest.raises(MunimentError):
            await opened.embed_query(" ")
    assert endpoint.calls == []


async def test_what_passes_is_waited_for_longer_each_time(endpoint, impatient):
    busy = answers({}, 429, Retry_After="7")
    endpoint.does(busy, busy, answers({}, 503), answers({}, 503), cuts, cuts, embeds())
    async with embedder(endpoint.url) as opened:
        assert len(await opened.embed_documents(["a"])) == 1
    assert max(impatient) == 7.0


async def test_it_gives_up_in_the_end(endpoint):
    endpoint.does(answers({}, 503))
    async with embedder(endpoint.url) as opened:
        with pytest.raises(EndpointError) as failed:
            await opened.embed_documents(["a"])
    assert failed.value.reason == "http_5xx"
    assert len(endpoint.calls) <= 2 * module.ATTEMPTS


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_what_is_wrong_with_the_call_itself_is_not_tried_in_parts(endpoint, status):
    endpoint.does(answers({}, status))
    async with embedder(endpoint.url) as opened:
        with pytest.raises(EndpointError):
            await opened.embed_documents(["a", "b"])
    assert len(endpoint.calls) == 1


async def test_a_long_text_is_cut_below_the_limit_and_again_where_that_is_too_long(endpoint):
    """CASES 18: code of 8,192 tokens, to a model that counts in tokens of its own."""
    endpoint.does(embeds(limit=2_000))
    long = "x = {'k': [1, 2]}; " * 2_000
    async with embedder(endpoint.url) as opened:
        rows = await opened.embed_documents(["short", long, "other"])
    assert np.allclose(rows[[0, 2]], [unit("short"), unit("other")])
    assert np.isclose(np.linalg.norm(rows[1]), 1.0)
    assert max(len(text) for call in endpoint.calls for text in call.json["input"]) == LONGEST
    accepted = [text for call in endpoint.calls for text in call.json["input"] if len(text) <= 2_000 and len(text) > 5]
    assert long.startswith(accepted[-1])


async def test_a_text_that_no_length_helps_fails(endpoint):
    endpoint.does(embeds(limit=4))
    async with embedder(endpoint.url) as opened:
        with pytest.raises(EndpointError) as failed:
            await opened.embed_documents(["abc", "x" * 1_000])
    assert failed.value.refused


def rows(*items):
    return answers({"data": [{"index": index, "embedding": numbers} for index, numbers in items]})


@pytest.mark.parametrize(
    "behaviour",
    [
        rows((0, [1.0, 0.0, 0.0])),
        rows((0, [1.0, 0.0, 0.0]), (0, [1.0, 0.0, 0.0])),
        rows((0, [1.0, 0.0, 0.0]), (2, [1.0, 0.0, 0.0])),
        rows((0, [1.0, 0.0, 0.0]), (True, [1.0, 0.0, 0.0])),
        rows((0, [1.0, 0.0, 0.0]), (1, [1.0, 0.0])),
        rows((0, [1.0, 0.0, 0.0]), (1, [1.0, 0.0, 0.0, 0.0])),
        rows((0, [1.0, 0.0, 0.0]), (1, [0.0, 0.0, 0.0])),
        rows((0, [1.0, 0.0, 0.0]), (1, [1.0, "0", 0.0])),
        rows((0, [1.0, 0.0, 0.0]), (1, [1.0, None, 0.0])),
        rows((0, [1.0, 0.0, 0.0]), (1, "AACAPw==")),
        answers(b'{"data": [{"index": 0, "embedding": [NaN, 0, 1]}, {"index": 1, "embedding": [1, 0, 0]}]}'),
        answers({"data": {}}),
        answers([]),
    ],
)
async def test_an_answer_that_does_not_give_each_text_its_vector_is_none(endpoint, behaviour):
    endpoint.does(behaviour)
    async with embedder(endpoint.url) as opened:
        with pytest.raises(EndpointError) as failed:
            await opened.embed_documents(["a", "b"])
    assert failed.value.reason == "bad_response"


async def test_great_numbers_are_scaled_without_an_overflow(endpoint):
    endpoint.does(rows((0, [1e300, 1e300, 0.0])))
    async with embedder(endpoint.url) as opened:
        assert np.allclose(await opened.embed_query("a"), [0.5**0.5, 0.5**0.5, 0.0])
