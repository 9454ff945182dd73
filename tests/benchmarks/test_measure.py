"""The arithmetic of the report."""

import pytest

from tests.benchmarks.measure import Row, in_turns, percentile


def test_a_row_tells_how_far_it_is_from_its_floor():
    row = Row("retrieval_p50", 15.0, "ms", 10.0)
    assert row.as_json() == {"name": "retrieval_p50", "value": 15.0, "unit": "ms", "floor": 10.0, "ratio": 1.5}
    assert str(row).split() == ["retrieval_p50", "15.00", "ms", "10.00", "1.50"]


def test_a_row_without_a_floor_has_no_ratio():
    row = Row("queue_lag_p99", 15.0, "ms")
    assert row.ratio is None
    assert str(row).split() == ["queue_lag_p99", "15.00", "ms", "-", "-"]


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 3), (0.95, 5), (1.0, 5)])
def test_percentiles(share, value):
    assert percentile([5, 3, 1, 4, 2], share) == value


async def test_works_take_turns_and_the_warm_up_does_not_count():
    seen = []

    async def first(number):
        seen.append(("first", number))

    async def second(number):
        seen.append(("second", number))

    times = await in_turns(2, 1, first, second)
    assert [len(item) for item in times] == [2, 2]
    assert [number for _, number in seen] == [0, 0, 1, 1, 2, 2]
    assert {name for name, number in seen if number == 1} == {"first", "second"}
    assert [name for name, _ in seen][:4] != ["first", "second", "first", "second"]
