"""Remembering, correcting, changing and retracting, on both clocks."""

from datetime import datetime, timedelta

import pytest

from app.domain.instant import format_instant, parse_instant
from tests.memory.conftest import CORRECT, MEMORIES, REMEMBER, Memories

JUNE_15, JUNE_16, JUNE_20 = (f"2026-06-{day}T00:00:00.000000Z" for day in (15, 16, 20))
JULY_5 = "2026-07-05T00:00:00.000000Z"
TICK = timedelta(microseconds=1)


def before(instant: str) -> str:
    return format_instant(parse_instant(instant) - TICK)


async def test_what_is_not_said_has_its_default(memory: Memories) -> None:
    made = await memory.remember("Ann takes tea.")
    facts = {name: made[name] for name in ("text", "importance", "confidence", "epistemicStatus", "transformType")}
    assert facts == {
        "text": "Ann takes tea.",
        "importance": 0.5,
        "confidence": None,
        "epistemicStatus": "told",
        "transformType": "agent_write",
    }
    assert (made["tags"], made["revision"], made["spaceId"]) == ([], 1, str(memory.world.project))
    assert made["tokens"] == memory.world.parts.memory.reviser.tokens.count("Ann takes tea.")
    assert (made["validTo"], made["systemTo"]) == (None, None)
    # Omitted: it holds from this write on.
    assert made["validFrom"] == made["systemFrom"]
    assert await memory.memory(made["id"]) == made
    assert await memory.memory(made["id"], before(made["validFrom"])) is None


async def test_what_is_said_is_kept(memory: Memories) -> None:
    given = {"importance": 1.0, "confidence": 0.0, "tags": ["b", "a", "b"]}
    made = await memory.remember(
        "Ann takes tea.",
        subjectId="ann",
        epistemicStatus="INFERRED",
        transformType="DREAM_SYNTHESIS",
        validFrom="2026-06-15T02:00:00+02:00",
        validTo=JULY_5,
        **given,
    )
    assert {name: made[name] for name in given} == given
    assert (made["epistemicStatus"], made["transformType"]) == ("inferred", "dream_synthesis")
    assert (made["validFrom"], made["validTo"]) == (JUNE_15, JULY_5)


async def test_a_start_that_is_null_is_always(memory: Memories) -> None:
    made = await memory.remember("Ann takes tea.", validFrom=None)
    assert made["validFrom"] is None
    assert await memory.text(made["id"], "0001-01-01T00:00:00Z") == "Ann takes tea."
    assert await memory.text(made["id"], "9999-12-31T23:59:59.999998Z") == "Ann takes tea."


async def test_of_a_subject_a_group_and_a_space(memory: Memories) -> None:
    await memory.group("team")
    own = await memory.remember("Ann.", subjectId="ann")
    team = await memory.remember("Team.", groupKey="team")
    space = await memory.remember("Space.")
    root = await memory.remember("Root.", spaceKey="/")
    assert await memory.listed(subjectId="ann") == [own]
    assert await memory.listed(groupKey="team") == [team]
    assert await memory.listed(spaceKey="project") == [space]
    assert await memory.listed() == await memory.listed(spaceKey="/") == [root]
    assert await memory.listed(spaceId=str(memory.world.project)) == [space]
    assert await memory.listed(subjectId="bob") == []
    assert await memory.listed(groupKey="crew") == []
    assert await memory.refusal(REMEMBER, {"i": {"text": "x", "subjectId": "ann", "groupKey": "team"}}) == (
        "BAD_USER_INPUT",
        "groupKey",
    )
    assert await memory.refusal(MEMORIES, {"subjectId": "ann", "groupKey": "team"}) == ("BAD_USER_INPUT", "groupKey")
    both = {"text": "x", "spaceKey": "project", "spaceId": str(memory.world.root)}
    assert await memory.refusal(REMEMBER, {"i": both}) == ("BAD_USER_INPUT", "spaceId")


async def test_a_known_subject_stays_in_its_space_whatever_space_is_named(memory: Memories) -> None:
    first = await memory.remember("Ann.", subjectId="ann")
    again = await memory.remember("Ann again.", subjectId="ann", spaceKey="/")
    assert first["spaceId"] == again["spaceId"] == str(memory.world.project)


async def test_pages_go_on_behind_their_cursor(memory: Memories) -> None:
    made = [(await memory.remember(f"{number}", subjectId="ann"))["id"] for number in range(5)]
    seen, after = [], None
    for _ in range(3):
        page = (await memory.api.data(MEMORIES, {"subjectId": "ann", "first": 2, "after": after}))["memories"]
        seen += [edge["node"]["id"] for edge in page["edges"]]
        after = page["pageInfo"]["endCursor"]
    assert seen == sorted(made)
    assert not page["pageInfo"]["hasNextPage"]
    assert await memory.refusal(MEMORIES, {"subjectId": "ann", "after": "bWVtb3JpZXM6eA=="}) == (
        "BAD_USER_INPUT",
        "after",
    )


async def test_at_the_instant_the_next_one_holds_and_a_microsecond_before_the_last_one(memory: Memories) -> None:
    """CASE 24."""
    made = await memory.remember("A", validFrom=JUNE_15)
    changed = await memory.change(made["id"], JULY_5, text="B")
    assert (changed["text"], changed["validFrom"], changed["validTo"]) == ("B", JULY_5, None)
    assert await memory.text(made["id"], JULY_5) == "B"
    assert await memory.text(made["id"], before(JULY_5)) == "A"
    assert await memory.text(made["id"], JUNE_15) == "A"
    assert await memory.text(made["id"], before(JUNE_15)) is None
    both = [await memory.remember("A", subjectId="ann", validFrom=JUNE_15, validTo=JULY_5)]
    both += [await memory.remember("B", subjectId="ann", validFrom=JULY_5)]
    assert await memory.given(subjectId="ann", asOf=JULY_5) == {"B"}
    assert await memory.given(subjectId="ann", asOf=before(JULY_5)) == {"A"}


async def test_an_end_that_was_learnt_late(memory: Memories) -> None:
    """CASE 27: what was known on the 18th did not know the end; what is known on the 21st does."""
    made = await memory.remember("Ann lives here.", subjectId="ann", validFrom=None)
    known_18 = made["systemFrom"]
    await memory.retract(made["id"], JUNE_15)
    [*_, last] = await memory.history(made["id"])
    known_21 = last["systemFrom"]
    assert await memory.text(made["id"], JUNE_16, known_18) == "Ann lives here."
    assert await memory.text(made["id"], JUNE_16, known_21) is None
    assert await memory.text(made["id"], before(JUNE_15), known_21) == "Ann lives here."
    asked = {"subjectId": "ann", "asOf": JUNE_16}
    assert await memory.given(**asked, knownAt=known_18) == {"Ann lives here."}
    assert await memory.given(**asked, knownAt=known_21) == set()
    assert await memory.given(**asked) == set()
    assert [item["text"] for item in await memory.listed(**asked, knownAt=known_18)] == ["Ann lives here."]
    assert await memory.listed(**asked, knownAt=known_21) == []


async def test_a_correction_is_the_same_period_with_a_new_belief(memory: Memories) -> None:
    made = await memory.remember("Tea.", validFrom=JUNE_15, validTo=JULY_5)
    corrected = await memory.correct(made["id"], text="Coffee.")
    assert (corrected["validFrom"], corrected["validTo"]) == (JUNE_15, JULY_5)
    assert corrected["systemFrom"] > made["systemFrom"]
    assert corrected["id"] == made["id"]
    assert corrected["versionId"] != made["versionId"]
    assert await memory.text(made["id"], JUNE_20) == "Coffee."
    assert await memory.text(made["id"], JUNE_20, made["systemFrom"]) == "Tea."
    assert await memory.text(made["id"], JUNE_20, before(corrected["systemFrom"])) == "Tea."
    assert await memory.text(made["id"], before(JUNE_15)) is None
    assert await memory.text(made["id"], JULY_5) is None


async def test_a_correction_of_a_part_leaves_the_rest(memory: Memories) -> None:
    made = await memory.remember("Tea.", validFrom=JUNE_15)
    corrected = await memory.correct(made["id"], during=(JUNE_16, JUNE_20), text="Coffee.")
    assert (corrected["text"], corrected["validFrom"], corrected["validTo"]) == ("Coffee.", JUNE_16, JUNE_20)
    said = [(item["validFrom"], item["validTo"], item["value"]["text"]) for item in await memory.history(made["id"])]
    assert said == [
        (JUNE_15, None, "Tea."),
        (JUNE_15, JUNE_16, "Tea."),
        (JUNE_16, JUNE_20, "Coffee."),
        (JUNE_20, None, "Tea."),
    ]


async def test_what_is_not_given_stays_in_every_part(memory: Memories) -> None:
    made = await memory.remember("Tea.", validFrom=JUNE_15, importance=0.1, confidence=0.2, tags=["x"])
    await memory.change(made["id"], JULY_5, text="Coffee.", tags=["y"])
    await memory.correct(made["id"], importance=0.9, epistemicStatus="OBSERVED")
    parts = [await memory.memory(made["id"], at) for at in (JUNE_20, JULY_5)]
    assert [(part["text"], part["tags"]) for part in parts] == [("Tea.", ["x"]), ("Coffee.", ["y"])]
    for part in parts:
        assert (part["importance"], part["confidence"], part["epistemicStatus"]) == (0.9, 0.2, "observed")
        assert part["revision"] == 1


async def test_a_change_holds_from_its_instant_on_and_from_now_by_default(memory: Memories) -> None:
    made = await memory.remember("Tea.", validFrom=None)
    changed = await memory.change(made["id"], text="Coffee.")
    assert changed["validFrom"] == changed["systemFrom"]
    assert await memory.text(made["id"]) == "Coffee."
    assert await memory.text(made["id"], before(changed["validFrom"])) == "Tea."
    # A later change of the past replaces what had been said of the time after it.
    await memory.change(made["id"], JUNE_15, text="Milk.")
    assert await memory.text(made["id"]) == "Milk."
    assert await memory.text(made["id"], before(JUNE_15)) == "Tea."


async def test_where_nothing_is_believed_there_is_nothing_to_correct(memory: Memories) -> None:
    made = await memory.remember("Tea.", validFrom=JUNE_15, validTo=JUNE_20)
    gap = {"id": made["id"], "c": {"text": "x"}, "from": JUNE_20}
    assert (await memory.refusal(CORRECT, gap))[0] == "CONFLICT"
    assert [item["text"] for item in await memory.listed(spaceKey="project", asOf=JUNE_20)] == []
    # Half in, half out: what is believed is touched, the gap stays.
    corrected = await memory.correct(made["id"], during=(JUNE_16, JULY_5), text="Milk.")
    assert (corrected["validFrom"], corrected["validTo"]) == (JUNE_16, JUNE_20)
    assert await memory.text(made["id"], JUNE_20) is None


async def test_a_retracted_part_is_gone_from_then_on_and_stays_readable_before(memory: Memories) -> None:
    made = await memory.remember("Tea.", validFrom=JUNE_15)
    assert await memory.retract(made["id"], JUNE_16, JUNE_20) == made["id"]
    assert await memory.text(made["id"], JUNE_16) is None
    assert await memory.text(made["id"], before(JUNE_16)) == "Tea."
    assert await memory.text(made["id"], JUNE_20) == "Tea."
    assert await memory.text(made["id"], JUNE_16, made["systemFrom"]) == "Tea."
    await memory.retract(made["id"])
    assert await memory.memory(made["id"], JUNE_20) is None
    assert await memory.text(made["id"], JUNE_20, made["systemFrom"]) == "Tea."
    # Again: nothing is left that could change.
    rows = await memory.history(made["id"])
    await memory.retract(made["id"])
    assert await memory.history(made["id"]) == rows


async def test_saying_what_is_believed_changes_nothing(memory: Memories) -> None:
    made = await memory.remember("Tea.", validFrom=JUNE_15, importance=0.25)
    again = await memory.correct(made["id"], text="Tea.", importance=0.25)
    assert again == made
    assert len(await memory.history(made["id"])) == 1


async def test_before_it_was_known_there_was_nothing(memory: Memories) -> None:
    made = await memory.remember("Tea.", subjectId="ann", validFrom=None)
    earlier = before(made["systemFrom"])
    assert await memory.memory(made["id"], known_at=earlier) is None
    assert await memory.listed(subjectId="ann", knownAt=earlier) == []
    assert await memory.given(subjectId="ann", knownAt=earlier) == set()
    assert await memory.text(made["id"], known_at="9999-12-31T00:00:00Z") == "Tea."


@pytest.mark.parametrize("instant", ["2026-07-05T00:00:00", "2026-07-05", "2026-W27-7", "2026-07-05T00:00:60Z", ""])
async def test_no_other_instant_is_taken(memory: Memories, instant: str) -> None:
    """CASE 23, in each place where memory takes one."""
    for given in ({"validFrom": instant}, {"validTo": instant}):
        assert (await memory.refusal(REMEMBER, {"i": {"text": "x", **given}}))[0] == "BAD_USER_INPUT"
    for given in ({"asOf": instant}, {"knownAt": instant}):
        assert (await memory.refusal(MEMORIES, given))[0] == "BAD_USER_INPUT"


@pytest.mark.parametrize(("start", "end"), [(JULY_5, JUNE_15), (JULY_5, JULY_5)])
async def test_an_empty_or_reversed_period_is_refused_and_leaves_nothing(
    memory: Memories, start: str, end: str
) -> None:
    given = {"text": "x", "subjectId": "ann", "spaceKey": "project", "validFrom": start, "validTo": end}
    assert (await memory.refusal(REMEMBER, {"i": given}))[0] == "BAD_USER_INPUT"
    del given["validFrom"]
    assert (await memory.refusal(REMEMBER, {"i": given}))[0] == "BAD_USER_INPUT"
    made = await memory.remember("x", spaceKey="project")
    asked = {"id": made["id"], "c": {"text": "y"}, "from": start, "to": end}
    assert (await memory.refusal(CORRECT, asked))[0] == "BAD_USER_INPUT"
    assert await memory.text(made["id"]) == "x"
    # The subject was not made either: it may still be made elsewhere.
    await memory.remember("x", subjectId="ann", spaceKey="/")


async def test_every_instant_is_told_in_utc_with_microseconds(memory: Memories) -> None:
    made = await memory.remember("x")
    for name in ("validFrom", "systemFrom"):
        assert datetime.strptime(made[name], "%Y-%m-%dT%H:%M:%S.%fZ")  # noqa: DTZ007 (the form is what is tried)
