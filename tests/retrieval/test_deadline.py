"""R10 as a rule: what is entered, for how long, and what is said of the rest. Time passes only when it is told to."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.deadline import LEAST_MS, Deadline

STAGES = sorted(LEAST_MS)


class Clock:
    """Seconds, from some arbitrary start."""

    def __init__(self, start=1000.0):
        self.now = start

    def __call__(self):
        return self.now

    def pass_ms(self, milliseconds):
        self.now += milliseconds / 1000


def test_without_a_budget_every_stage_runs_for_its_own_time():
    clock = Clock()
    deadline = Deadline(None, clock)
    clock.pass_ms(1e9)
    for stage in STAGES:
        assert deadline.admit(stage, 8000) == 8.0
        assert deadline.admit(stage) == math.inf
    assert (deadline.remaining_ms, deadline.degraded) == (None, ())


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("budget", [0, 0.0, 0.5])
def test_with_nothing_left_no_stage_is_entered(stage, budget):
    deadline = Deadline(budget, Clock())
    assert deadline.admit(stage, 8000) is None
    (item,) = deadline.degraded
    assert (item.stage, item.reason, item.elapsed_ms) == (stage, "budget_exhausted", 0.0)
    assert item.remaining_budget_ms == budget


def test_an_overdrawn_budget_is_told_as_it_is():
    clock = Clock()
    deadline = Deadline(100, clock)
    clock.pass_ms(350)
    assert deadline.admit("rerank", 8000) is None
    (item,) = deadline.degraded
    assert item.elapsed_ms == pytest.approx(350)
    assert item.remaining_budget_ms == pytest.approx(-250)


def test_a_stage_gets_what_is_left_and_no_more_than_its_own():
    clock = Clock()
    deadline = Deadline(1000, clock)
    assert deadline.admit("rewrite", 6000) == pytest.approx(1.0)
    clock.pass_ms(400)
    assert deadline.admit("rerank", 8000) == pytest.approx(0.6)
    assert deadline.admit("graph", 200) == pytest.approx(0.2)
    assert deadline.degraded == ()


def test_what_was_decided_stays_decided():
    clock = Clock()
    deadline = Deadline(100, clock)
    assert deadline.admit("graph") is not None
    clock.pass_ms(99)
    assert deadline.admit("rerank", 8000) is None
    clock.pass_ms(500)
    assert deadline.admit("graph") == 0.0
    assert deadline.admit("rerank", 8000) is None
    assert [item.stage for item in deadline.degraded] == ["rerank"]


def test_a_failure_is_told_with_what_was_left():
    clock = Clock()
    deadline = Deadline(1000, clock)
    deadline.admit("rewrite", 6000)
    clock.pass_ms(250)
    deadline.failed("rewrite", "http_5xx")
    (item,) = deadline.degraded
    assert (item.stage, item.reason) == ("rewrite", "http_5xx")
    assert (item.elapsed_ms, item.remaining_budget_ms) == (pytest.approx(250), pytest.approx(750))
    without = Deadline(None, clock)
    without.failed("rewrite", "timeout")
    assert without.degraded[0].remaining_budget_ms is None


events = st.lists(st.tuples(st.floats(0, 500), st.sampled_from(STAGES), st.floats(1, 9000)), max_size=12)


@given(st.none() | st.floats(0, 2000), events)
def test_no_stage_is_given_more_than_there_is(budget, events):
    clock = Clock(0.0)
    deadline = Deadline(budget, clock)
    first = {}
    for wait, stage, own in events:
        clock.pass_ms(wait)
        remaining = deadline.remaining_ms
        seconds = deadline.admit(stage, own)
        if stage not in first:
            first[stage] = seconds is not None
            assert first[stage] == (remaining is None or remaining >= LEAST_MS[stage])
        assert (seconds is not None) == first[stage]
        if seconds is not None:
            assert 0.0 <= seconds <= own / 1000
            assert remaining is None or seconds <= max(0.0, remaining) / 1000
    assert [item.stage for item in deadline.degraded] == [stage for stage in first if not first[stage]]
