"""S6: a group's memories come through a membership that was verified and valid then, and is today."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.instant import format_instant
from app.domain.principal import Level, Permission
from tests.memory.conftest import Memories

NOW = datetime.now(UTC)


def day(number: int) -> str:
    return format_instant(NOW + timedelta(days=number))


@pytest.fixture
async def team(memory: Memories) -> Memories:
    await memory.group("team")
    await memory.remember("Team.", groupKey="team", validFrom=None)
    await memory.remember("Ann.", subjectId="ann", validFrom=None)
    await memory.remember("Bob.", subjectId="bob", validFrom=None)
    return memory


async def groups(memory: Memories, **asked: object) -> list[str]:
    answer = await memory.retrieve(**{"subjectId": "ann", **asked})
    assert {item["text"] for item in answer["memories"]} <= {"Ann.", "Bob."}
    return [item["text"] for item in answer["groupMemories"]]


async def test_only_a_verified_membership_opens(team: Memories) -> None:
    assert await groups(team) == []
    made = await team.member("team", "ann", verified=False)
    assert made == {"id": made["id"], "groupKey": "team", "subjectId": "ann", "verified": False, "member": True}
    assert await groups(team) == []
    assert (await team.member("team", "ann"))["id"] == made["id"]
    assert await groups(team) == ["Team."]
    assert await groups(team, subjectId="bob") == []
    assert await groups(team, subjectId=None) == []
    assert [row["value"] for row in await team.history(made["id"])] == [{"verified": False}, {"verified": True}]
    assert {row["kind"] for row in await team.history(made["id"])} == {"MEMBERSHIP"}


async def test_a_membership_that_has_ended_or_not_begun_opens_nothing(team: Memories) -> None:
    await team.member("team", "ann", since=day(-20), until=day(-10))
    await team.member("team", "ann", since=day(10), until=day(20))
    for as_of in (None, day(-15), day(0), day(15)):
        assert await groups(team, asOf=as_of) == []


async def test_a_membership_of_today_opens_what_was_in_its_period(team: Memories) -> None:
    await team.member("team", "ann", since=day(-20), until=day(20))
    assert await groups(team) == ["Team."]
    assert await groups(team, asOf=day(-20)) == ["Team."]
    assert await groups(team, asOf=day(-21)) == []
    assert await groups(team, asOf=day(19)) == ["Team."]
    assert await groups(team, asOf=day(20)) == []


async def test_a_membership_that_was_not_verified_then_opens_nothing_of_then(team: Memories) -> None:
    await team.member("team", "ann", verified=False)
    answer = await team.retrieve(subjectId="ann")
    unverified = answer["contract"]["knownAt"]
    await team.member("team", "ann", verified=True, since=day(-5))
    assert await groups(team) == ["Team."]
    assert await groups(team, knownAt=unverified) == []
    assert await groups(team, asOf=day(-6)) == []
    assert await groups(team, asOf=day(-4)) == ["Team."]


async def test_an_ended_membership_closes_the_past_too(team: Memories) -> None:
    """Old clocks never widen access: who has left reads nothing, whatever clocks they ask for."""
    await team.member("team", "ann")
    within = (await team.retrieve(subjectId="ann"))["contract"]["knownAt"]
    assert await groups(team, knownAt=within, asOf=day(-3)) == ["Team."]
    await team.member("team", "ann", member=False, since=day(-1))
    for asked in ({}, {"knownAt": within}, {"asOf": day(-3)}, {"asOf": day(-3), "knownAt": within}):
        assert await groups(team, **asked) == []
    await team.member("team", "ann", verified=False, since=day(-1))
    assert await groups(team, knownAt=within) == []


async def test_a_group_in_a_space_that_the_caller_may_not_search_stays_closed(team: Memories) -> None:
    """CASE 35: a group that names a space the caller may not see."""
    await team.world.add_space("beside", Level.TEAM)
    await team.group("crew", "beside")
    await team.remember("Crew.", groupKey="crew", validFrom=None)
    await team.member("crew", "ann")
    await team.member("team", "ann")
    assert sorted(await groups(team)) == ["Crew.", "Team."]
    by = await team.person("searcher", "project", Permission.SEARCH)
    answer = await team.retrieve(by, subjectId="ann")
    assert [item["text"] for item in answer["groupMemories"]] == ["Team."]
    assert answer["searchMeta"]["candidates"] == 2
    assert {item["count"] for item in answer["exclusions"]} <= {None}


async def test_names_that_look_alike_are_other_names(team: Memories) -> None:
    others = ["an", "ann1", "ANN", "Ann", "ann ", " ann", "аnn", "ann%", "a_n", "%", "_", "ann\u200b", "ａｎｎ", "*"]
    for other in others:
        await team.remember(f"Of {other!r}.", subjectId=other, validFrom=None)
    assert await team.given(subjectId="ann") == {"Ann."}
    for other in others:
        assert await team.given(subjectId=other) == {f"Of {other!r}."}
        assert [item["text"] for item in await team.listed(subjectId=other)] == [f"Of {other!r}."]
    assert await team.given() == set()


async def test_left_out_empty_and_null(team: Memories) -> None:
    """CASE 33 for memories: what is left out narrows nothing beyond one's own scope, and opens nothing."""
    await team.remember("Space.", validFrom=None)
    await team.member("team", "ann")
    assert await team.given() == await team.given(subjectId=None) == {"Space."}
    assert await team.given(subjectId="") == {"Space."}
    assert await team.given(subjectId="ann", includeMemories=False) == set()
    assert await team.given(subjectId="ann", sourceKinds=[], providers=[]) == {"Space.", "Ann.", "Team."}
    assert await team.given(subjectId="ann", maxMemories=0) == set()
