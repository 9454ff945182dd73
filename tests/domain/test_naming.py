"""Which of several things of one name is meant."""

from dataclasses import dataclass
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import MunimentError
from app.domain.naming import meant


@dataclass(frozen=True)
class Thing:
    space_id: UUID


SPACES = [UUID(int=number) for number in range(6)]
some = st.lists(st.sampled_from(SPACES), unique=True)


@given(some, some, some)
def test_the_nearest_that_is_seen_else_the_only_one(held: list[UUID], seen: list[UUID], near: list[UUID]) -> None:
    things = [Thing(space) for space in held]
    visible = [space for space in held if space in seen]
    close = [space for space in near if space in visible]
    if len(visible) > 1 and not close:
        with pytest.raises(MunimentError) as caught:
            meant(things, set(seen), near, "subjectId")
        assert (caught.value.code, caught.value.field) == ("CONFLICT", "subjectId")
        return
    found = meant(things, set(seen), near, "subjectId")
    expected = close[0] if close else visible[0] if visible else None
    assert (found and found.space_id) == expected
    # What is not seen changes nothing.
    assert meant([thing for thing in things if thing.space_id in seen], set(seen), near, "subjectId") == found


def test_several_and_none_near() -> None:
    with pytest.raises(MunimentError):
        meant([Thing(space) for space in SPACES], set(SPACES), [], "groupKey")
