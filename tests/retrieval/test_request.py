"""The caller's input: refused, or clamped and told."""

from datetime import UTC, datetime, timedelta, timezone
from math import inf, nan
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Code, MunimentError
from app.domain.principal import Principal
from app.retrieval.request import MAX_QUERY, MAX_SESSION_ID, make_request

SOMEBODY = Principal(UUID(int=1), UUID(int=2), "somebody")


def parameters(**options):
    return make_request(SOMEBODY, query="anything", **options).parameters


def refusal(**options):
    with pytest.raises(MunimentError) as caught:
        make_request(SOMEBODY, **{"query": "anything", **options})
    assert caught.value.code is Code.BAD_USER_INPUT
    return caught.value.field


def test_the_defaults_are_those_of_the_contract():
    found = parameters()
    assert (found.top_k, found.max_per_level, found.max_passages_per_document) == (8, 5, 2)
    assert (found.token_budget, found.budget_strategy.value, found.min_score) == (4096, "DROP_LOWEST", None)
    assert (found.source_kinds, found.providers) == (None, None)


NUMBERS = {
    "top_k": ("topK", 50),
    "max_per_level": ("maxPerLevel", 50),
    "max_passages_per_document": ("maxPassagesPerDocument", 50),
    "token_budget": ("tokenBudget", 32_000),
}


@given(st.sampled_from(sorted(NUMBERS)), st.integers())
def test_a_number_is_kept_clamped_or_refused_but_never_read_as_the_default(name, value):
    field, greatest = NUMBERS[name]
    if value < 0:
        assert refusal(**{name: value}) == field
    else:
        assert getattr(parameters(**{name: value}), name) == min(value, greatest)


def test_no_budget_is_not_the_default_budget():
    assert parameters(token_budget=None).token_budget is None
    assert parameters(top_k=None).top_k == 8


@pytest.mark.parametrize("score", [nan, inf, -inf])
def test_a_minimum_score_is_finite(score):
    assert refusal(min_score=score) == "minScore"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_finite_minimum_score_is_kept(score):
    assert parameters(min_score=score).min_score == score


def test_a_space_is_named_once():
    assert refusal(space_id=str(UUID(int=1)), space_key="project") == "spaceId"
    assert refusal(space_id="", space_key="") == "spaceId"


unstorable = st.sampled_from(["a\x00b", "\x00", "\ud800", "é\udfff"])


@given(unstorable, st.text(max_size=20))
def test_what_cannot_be_stored_is_refused_by_field(unstorable, around):
    wrong = around + unstorable + around
    assert refusal(query=wrong) == "query"
    assert refusal(session_id=wrong) == "sessionId"
    assert refusal(providers=["git", wrong]) == "providers"
    assert refusal(source_kinds=[wrong]) == "sourceKinds"
    # Malformed spaces are refused later, with the one answer that unknown ones get.
    assert make_request(SOMEBODY, query="anything", space_key=wrong).space_key == wrong


@given(st.text())
def test_every_other_question_is_taken_as_it_is(query):
    if "\x00" in query:
        return
    assert make_request(SOMEBODY, query=query).query == query


def test_lengths_are_bounded():
    assert make_request(SOMEBODY, query="x" * MAX_QUERY).query == "x" * MAX_QUERY
    assert refusal(query="x" * (MAX_QUERY + 1)) == "query"
    assert refusal(session_id="x" * (MAX_SESSION_ID + 1)) == "sessionId"


@pytest.mark.parametrize("kind", ["author' = 'a' OR '1'='1' --", "DOCS", "doc", "", "docs "])
def test_only_known_source_kinds_are_named(kind):
    assert refusal(source_kinds=["docs", kind]) == "sourceKinds"


def test_a_filter_that_is_not_given_is_not_an_empty_one():
    assert parameters(source_kinds=None, providers=None).source_kinds is None
    assert parameters(source_kinds=[], providers=[]).source_kinds == ()
    assert parameters(source_kinds=[], providers=[]).providers == ()
    assert parameters(source_kinds=["docs", "issues", "docs"]).source_kinds == ("docs", "issues")


def test_a_moment_has_an_offset_and_is_kept_in_utc():
    noon = datetime(2026, 7, 5, 12, 0, 0, 1, tzinfo=UTC).replace(tzinfo=None)
    assert refusal(as_of=noon) == "asOf"
    assert refusal(known_at=noon) == "knownAt"
    elsewhere = noon.replace(tzinfo=timezone(timedelta(hours=14)))
    kept = make_request(SOMEBODY, query=None, as_of=elsewhere, known_at=elsewhere)
    assert kept.as_of == kept.known_at == elsewhere
    assert kept.as_of.tzinfo is kept.known_at.tzinfo is UTC
