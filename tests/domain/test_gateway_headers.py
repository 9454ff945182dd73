"""What passes in either direction, and what names a retrieval."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Code, MunimentError
from app.domain.gateway_headers import OURS, said, to_caller, to_provider

TOKEN = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
names = st.text(TOKEN, min_size=1, max_size=20).map(str.encode)
ours = st.builds(lambda prefix, rest: prefix + rest, st.sampled_from([*OURS, b"X-Muniment-", b"X-KEYSTONE-"]), names)
values = st.binary(max_size=20).map(lambda value: value.translate(None, bytes(range(32)) + b"\x7f").strip(b" \t"))
known = st.sampled_from(
    [b"Authorization", b"Cookie", b"Host", b"Connection", b"Transfer-Encoding", b"Set-Cookie", b"Api-Key", b"X-Own"]
)
headers = st.lists(st.tuples(st.one_of(names, ours, known), values), max_size=12)
ids = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._:-]{0,127}\Z")


@given(headers)
def test_nothing_of_ours_and_no_credential_goes_on(given_headers):
    for passed in (to_provider(given_headers), to_caller(given_headers)):
        lower = {name.lower() for name, _ in passed}
        assert not any(name.startswith(OURS) for name in lower)
        assert not lower & {b"connection", b"transfer-encoding", b"keep-alive", b"te", b"upgrade"}
    assert not {name.lower() for name, _ in to_provider(given_headers)} & {b"authorization", b"cookie", b"host"}
    assert b"set-cookie" not in {name for name, _ in to_caller(given_headers)}


@given(headers)
def test_what_passes_is_as_it_was_and_in_order(given_headers):
    remaining = iter(given_headers)
    assert all(item in remaining for item in to_provider(given_headers))
    remaining = iter([(name.lower(), value) for name, value in given_headers])
    assert all(item in remaining for item in to_caller(given_headers))


@given(st.lists(st.tuples(names.map(lambda name: b"x-other-" + name), values), max_size=8))
def test_what_nobody_speaks_of_passes_whole(given_headers):
    assert to_provider(given_headers) == given_headers


def test_what_connection_names_stays():
    given_headers = [(b"Connection", b"close, X-A"), (b"connection", b" x-b "), (b"X-A", b"1"), (b"x-B", b"2")]
    assert to_provider(given_headers) == to_caller(given_headers) == []


def test_a_length_beside_chunks_is_not_believed():
    length = (b"content-length", b"5")
    assert to_caller([length]) == [length]
    assert to_caller([length, (b"Transfer-Encoding", b"chunked")]) == []


@given(ids, st.sampled_from([b"x-muniment-", b"x-keystone-"]), st.sampled_from(["header", "metadata", "both"]))
def test_an_id_in_either_place(named, prefix, where):
    given_headers = []
    if where != "metadata":
        given_headers.append((prefix + b"context-request-id", named.encode()))
    if where != "header":
        given_headers.append((prefix + b"metadata", json.dumps({"context_request_id": named, "a": [1]}).encode()))
    found = said(given_headers)
    assert found.context_request_id == named
    assert found.keystone == (prefix == b"x-keystone-")


def refusal(given_headers) -> MunimentError | None:
    try:
        said(given_headers)
    except MunimentError as error:
        return error
    return None


@given(st.one_of(st.binary(max_size=140), st.text(TOKEN + ": ", max_size=140).map(str.encode)))
def test_any_other_value_is_refused(value):
    text = value.strip(b" \t").decode("latin-1")
    good = 0 < len(text) <= 128 and text.isascii() and text[0].isalnum()
    good = good and all(sign.isalnum() or sign in "._:-" for sign in text)
    error = refusal([(b"x-muniment-context-request-id", value)])
    assert (error is None) == good
    assert error is None or (error.code, error.field) == (Code.BAD_USER_INPUT, "X-Muniment-Context-Request-Id")


@given(ids, ids)
def test_two_values_are_refused_wherever_they_stand(one, other):
    header, keystone = b"x-muniment-context-request-id", b"x-keystone-context-request-id"
    inside = (b"x-muniment-metadata", json.dumps({"context_request_id": other}).encode())
    for second in ((header, other.encode()), (keystone, other.encode()), inside):
        given_headers = [(header, one.encode()), second]
        if one == other:
            assert said(given_headers).context_request_id == one
        else:
            with pytest.raises(MunimentError):
                said(given_headers)


@given(
    st.one_of(st.binary(max_size=60), st.dictionaries(ids, st.integers() | ids).map(lambda d: json.dumps(d).encode()))
)
def test_metadata_is_a_json_object_or_refused(value):
    error = refusal([(b"x-muniment-metadata", value)])
    assert error is None or error.code is Code.BAD_USER_INPUT
    assert error is not None or isinstance(json.loads(value), dict)
