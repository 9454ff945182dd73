"""The name is found whatever pieces the body comes in, and nothing that is merely called so."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.model_name import MOST, ModelName

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts | st.just("model"), inner, max_size=4),
    max_leaves=12,
)


def found(body: bytes, *cuts: int) -> str | None:
    scanner = ModelName()
    start = 0
    for end in [*sorted(cut % (len(body) + 1) for cut in cuts), len(body)]:
        scanner.feed(body[start:end])
        start = end
    return scanner.value


@given(
    st.dictionaries(texts | st.just("model"), json_values, max_size=5),
    st.booleans(),
    st.sampled_from([None, 1]),
    st.lists(st.integers(0, 2000), max_size=5),
)
def test_as_a_reader_of_json_finds_it(value, escaped, indent, cuts):
    body = json.dumps(value, ensure_ascii=escaped, indent=indent).encode()
    expected = value.get("model")
    if not isinstance(expected, str) or "\0" in expected:
        expected = None
    assert found(body, *cuts) == expected


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_bytes_that_are_no_json_harm_nothing(body, cuts):
    assert found(body, *cuts) == found(body)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b'{"model":"a","model":"b"}', "b"),
        (b'{"\\u006dodel":"a"}', "a"),
        (b'{"messages":[{"model":"x"}],"model":"a"}', "a"),
        (b'{"messages":[{"model":"x"}]}', None),
        (b'{"a":"model","b":"c"}', None),
        (b'{"a":"model" , "model" : "\\"q\\\\" }', '"q\\'),
        (b'["model","a"]', None),
        (b'"model"', None),
        (b'{"model":{"a":"b"},"c":"d"}', None),
        (b'{"model":5,"c":"d"}', None),
        (b'{"model":"a\\u0000"}', None),
        (b'{"model":"\\ud800"}', None),
        (b'{"model":"' + b"x" * MOST + b'"}', "x" * MOST),
        (b'{"model":"' + b"x" * (MOST + 1) + b'"}', None),
        (b'{"model":"' + b"\\u00e9" * MOST + b'"}', "é" * MOST),
        (b'{"model":"\xff"}', None),
        (b"", None),
    ],
)
def test_what_counts_as_the_name(body, name):
    assert found(body) == name
    assert found(body, *range(len(body))) == name


def test_it_keeps_next_to_nothing_of_a_long_body():
    scanner = ModelName()
    scanner.feed(b'{"model":"m","image":"')
    for _ in range(200):
        scanner.feed(b"x" * 65536)
    assert scanner._kept is None
    scanner.feed(b'","tokens":[' + b"1," * 100_000 + b"1]}")
    assert scanner.value == "m"
