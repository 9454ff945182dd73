"""Findings of a text and those of its slices."""

from hypothesis import given
from hypothesis import strategies as st

from app.domain.dlp.finding import Detector, Finding, merged, within

FOUND = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 12)).map(
        lambda place: Finding(place[0], place[0] + place[1], Detector.EMAIL)
    )
).map(merged)


@given(FOUND, st.integers(0, 70), st.integers(0, 20))
def test_what_lies_in_a_slice(found, start, length):
    end = start + length
    inside = {at for item in found for at in range(item.start, item.end) if start <= at < end}
    parts = within(found, start, end)
    assert {start + at for item in parts for at in range(item.start, item.end)} == inside
    assert all(0 <= item.start < item.end <= length for item in parts)
    assert len(parts) == sum(max(item.start, start) < min(item.end, end) for item in found)


def test_only_the_findings_there_are_looked_at():
    looked = set()

    class Watched(tuple):
        def __getitem__(self, key):
            looked.update(range(*key.indices(len(self))) if isinstance(key, slice) else [key])
            return super().__getitem__(key)

    found = Watched(Finding(10 * at, 10 * at + 5, Detector.CARD) for at in range(10_000))
    assert within(found, 50_000, 50_020) == (Finding(0, 5, Detector.CARD), Finding(10, 15, Detector.CARD))
    assert len(looked) < 40
