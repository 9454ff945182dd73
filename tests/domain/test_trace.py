"""A trace comes back from its bytes as it was, every number bit for bit."""

import struct
from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.selection import Reason
from app.domain.trace import (
    DELIVERED,
    MEMORY_NUMBERS,
    PASSAGE_NUMBERS,
    Kind,
    NearMiss,
    Trace,
    Traced,
    decode,
    encode,
)

ids = st.uuids()
numbers = st.none() | st.floats(allow_nan=False)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def traced(draw):
    kind = draw(st.sampled_from(Kind))
    memory = kind in (Kind.MEMORY, Kind.GROUP_MEMORY)
    width = len(MEMORY_NUMBERS if memory else PASSAGE_NUMBERS)
    gone = draw(st.booleans())
    return Traced(
        kind=kind,
        item=draw(ids),
        whole=draw(ids),
        source=None if memory else draw(ids),
        space=draw(ids),
        numbers=tuple(draw(st.lists(numbers, min_size=width, max_size=width))),
        rank=draw(st.none() | st.integers(1, 10**6)),
        index=None if gone else draw(st.integers(1, 50)),
        stage=draw(words) if gone else DELIVERED,
        reason=draw(st.sampled_from(Reason)) if gone else None,
    )


vectors = st.none() | st.lists(st.floats(width=32, allow_nan=False), max_size=8).map(
    lambda values: np.array(values, dtype=np.float32)
)
traces = st.builds(
    Trace,
    st.dictionaries(words, plain, max_size=4),
    vectors,
    st.lists(traced(), max_size=6).map(tuple),
    st.lists(st.builds(NearMiss, ids, ids, ids, st.sampled_from(Reason)), max_size=3).map(tuple),
)


def bits(numbers):
    return [None if number is None else struct.pack(">d", number) for number in numbers]


@given(traces)
def test_it_comes_back_bit_for_bit(trace):
    payload = encode(trace)
    back = decode(payload)
    assert back.facts == trace.facts
    assert repr(back.facts) == repr(trace.facts)
    assert back.near_misses == trace.near_misses
    assert back.candidates == trace.candidates
    for mine, theirs in zip(trace.candidates, back.candidates, strict=True):
        assert bits(mine.numbers) == bits(theirs.numbers)
    if trace.vector is None:
        assert back.vector is None
    else:
        assert back.vector.dtype == np.float32
        assert back.vector.tobytes() == trace.vector.tobytes()
    assert encode(back) == payload


def test_its_numbers_have_names():
    item = Traced(
        Kind.PASSAGE, UUID(int=1), UUID(int=2), UUID(int=3), UUID(int=4), (0.5, None, -0.1, None, 1.2, None, 0.42), 1, 1
    )
    assert item.signals == {
        "vector": 0.5,
        "text": None,
        "cosine": -0.1,
        "bm25": None,
        "level_weight": 1.2,
        "rerank": None,
        "score": 0.42,
    }
    assert item.score == 0.42


def test_a_number_that_is_none_of_json_s_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        encode(Trace({"timing": float("nan")}, None, ()))


def test_another_format_is_not_guessed_at():
    payload = encode(Trace({"query": "a"}, None, ()))
    other = payload.replace(b'"format":1', b'"format":9')
    assert other != payload
    with pytest.raises(ValueError, match="format 9"):
        decode(other)


def test_a_hundred_candidates_take_some_kilobytes():
    item = Traced(
        Kind.PASSAGE, UUID(int=1), UUID(int=2), UUID(int=3), UUID(int=4), (0.1,) * 7, 1, None, "cap", Reason.TOP_K
    )
    vector = np.zeros(384, dtype=np.float32)
    many = tuple(replace(item, rank=number) for number in range(1, 101))
    assert len(encode(Trace({}, vector, many))) < 14_000
