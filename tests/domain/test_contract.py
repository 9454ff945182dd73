from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.contract import age_hours, sentence, summarise
from app.domain.selection import Excluded, Reason
from tests.domain.candidates import candidates

NOON = datetime(2026, 7, 5, 12, tzinfo=UTC)

excluded = candidates().flatmap(
    lambda items: st.tuples(
        *(
            st.builds(Excluded, st.just(item), st.sampled_from(["cap", "budget"]), st.sampled_from(Reason))
            for item in items
        )
    )
)


@given(excluded)
def test_a_summary_counts_each_excluded_candidate_once_under_its_own_heading(items):
    summary = summarise(items)
    assert {(line.type, line.stage, line.provider, line.source_kind): line.count for line in summary} == Counter(
        (item.reason, item.stage, item.candidate.provider, item.candidate.kind) for item in items
    )
    assert sum(line.count for line in summary) == len(items)


@given(excluded)
def test_each_line_of_a_summary_says_why_in_a_sentence(items):
    assert all(line.reason == sentence(line.type) for line in summarise(items))


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_sentence_of_its_own(reason):
    assert sentence(reason).endswith(".")
    assert [other for other in Reason if sentence(other) == sentence(reason)] == [reason]


@pytest.mark.parametrize(
    ("age", "hours"),
    [
        (timedelta(), 0.0),
        (timedelta(minutes=2, seconds=59), 0.0),
        (timedelta(minutes=3, seconds=1), 0.1),
        (timedelta(minutes=6), 0.1),
        (timedelta(hours=1, minutes=12), 1.2),
        (timedelta(days=400), 9600.0),
        (timedelta(hours=-5), 0.0),
        (timedelta(microseconds=-1), 0.0),
    ],
)
def test_an_age_is_told_to_a_tenth_of_an_hour_and_is_never_negative(age, hours):
    assert age_hours(NOON - age, NOON) == hours


@given(st.timedeltas(timedelta(days=-9999), timedelta(days=9999)))
def test_an_age_is_off_by_half_a_tenth_at_most(age):
    found = age_hours(NOON - age, NOON)
    assert abs(found - max(0.0, age / timedelta(hours=1))) <= 0.05 + 1e-9
    assert found == round(found, 1)
