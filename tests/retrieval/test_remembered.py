"""The bounded memory, against a plain model of it."""

from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.remembered import Remembered

SECONDS, ENTRIES, SIZE = 60.0, 3, 100


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


keys = st.sampled_from("abcde")
steps = st.one_of(
    st.tuples(st.just("put"), keys, st.integers(0, 120)),
    st.tuples(st.just("get"), keys, st.just(0)),
    st.tuples(st.just("wait"), st.just(""), st.integers(1, 40)),
    st.tuples(st.just("drop"), keys, st.just(0)),
)


@given(st.lists(steps, max_size=40))
def test_it_is_what_the_model_is(steps):
    clock = Clock()
    held = Remembered(SECONDS, ENTRIES, SIZE, clock)
    model: OrderedDict[str, tuple[float, int, int]] = OrderedDict()
    for number, (what, key, amount) in enumerate(steps):
        if what == "put":
            held.put(key, number, amount)
            if amount <= SIZE:
                model.pop(key, None)
                model[key] = (clock.now + SECONDS, amount, number)
                while len(model) > ENTRIES or sum(size for _, size, _ in model.values()) > SIZE:
                    model.popitem(last=False)
        elif what == "get":
            if key in model and model[key][0] <= clock.now:
                del model[key]
            if key in model:
                model.move_to_end(key)
            assert held.get(key) == (model[key][2] if key in model else None)
        elif what == "drop":
            held.drop(key)
            model.pop(key, None)
        else:
            clock.now += amount
        assert len(held) == len(model) <= ENTRIES
        assert held.bytes == sum(size for _, size, _ in model.values()) <= SIZE


def test_no_seconds_is_off():
    held = Remembered(0, ENTRIES, SIZE)
    held.put("a", 1, 1)
    assert not held.on
    assert held.get("a") is None
    assert len(held) == 0


@pytest.mark.parametrize(("waited", "found"), [(0, 1), (59.999, 1), (60, None)])
def test_it_forgets_after_its_seconds(waited, found):
    clock = Clock()
    held = Remembered(SECONDS, ENTRIES, SIZE, clock)
    held.put("a", 1, 1)
    clock.now += waited
    assert held.get("a") == found
