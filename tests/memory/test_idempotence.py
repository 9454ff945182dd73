"""A client's own key: the same call does its work once, however often and at once it is made."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import text

from app.domain.principal import Permission
from tests.memory.conftest import (
    ACCEPT,
    CHANGE,
    CORRECT,
    FORGET,
    GROUP,
    MEMBER,
    PROPOSE,
    REMEMBER,
    RETRACT,
    SUBJECT,
    Memories,
)
from tests.schema.conftest import token_of

BELIEVED = """{ ann: memories(subjectId: "ann") { edges { node { versionId } } }
    bob: memories(subjectId: "bob") { edges { node { versionId } } }
    team: memories(groupKey: "team") { edges { node { versionId } } } }"""
SINCE = "2026-06-15T00:00:00.000000Z"


async def clock(memory: Memories) -> Any:
    async with memory.world.parts.database.snapshot(memory.world.organisation) as session:
        return await session.value(text("SELECT system_at FROM organisation_clocks"))


async def prepared(memory: Memories) -> tuple[str, str]:
    """A subject's memory, and a group's."""
    await memory.group("team")
    own = await memory.remember("Tea.", subjectId="ann", validFrom=None)
    return own["id"], (await memory.remember("Ours.", groupKey="team", validFrom=None))["id"]


async def calls(memory: Memories) -> dict[str, tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each mutation that takes a key: (query, variables, other variables under the same key)."""
    own, team = await prepared(memory)
    new = {"text": "New.", "subjectId": "bob", "spaceKey": "project", "clientKey": "key"}
    membership = {"g": "team", "s": "ann", "v": True, "m": True, "k": "key"}
    proposed = [await memory.data(PROPOSE, {"id": team, "c": {"text": text}}, None) for text in ("Two.", "Three.")]
    return {
        "remember": (REMEMBER, {"i": new}, {"i": {**new, "text": "Other."}}),
        "correctMemory": (
            CORRECT,
            {"id": own, "c": {"text": "Milk."}, "k": "key"},
            {"id": own, "c": {"text": "Milk."}, "from": SINCE, "k": "key"},
        ),
        "changeMemory": (
            CHANGE,
            {"id": own, "c": {"importance": 0.9}, "k": "key"},
            {"id": own, "c": {"importance": 0.8}, "k": "key"},
        ),
        "retractMemory": (RETRACT, {"id": own, "from": SINCE, "k": "key"}, {"id": own, "k": "key"}),
        "proposeMemory": (
            PROPOSE,
            {"id": team, "c": {"text": "Better."}, "k": "key"},
            {"group": "team", "c": {"text": "Better."}, "k": "key"},
        ),
        "acceptMemory": (
            ACCEPT,
            {"id": team, "r": proposed[0]["revision"], "k": "key"},
            {"id": team, "r": proposed[1]["revision"], "k": "key"},
        ),
        "forgetSubject": (FORGET, {"id": "ann", "k": "key"}, {"id": "bob", "k": "key"}),
        "createSubject": (
            SUBJECT,
            {"id": "carl", "space": "project", "k": "key"},
            {"id": "dora", "space": "project", "k": "key"},
        ),
        "createGroup": (
            GROUP,
            {"key": "crew", "space": "project", "k": "key"},
            {"key": "crew", "name": "The crew", "space": "project", "k": "key"},
        ),
        "setGroupMembership": (MEMBER, membership, {**membership, "v": False}),
    }


NAMES = [
    "remember",
    "correctMemory",
    "changeMemory",
    "retractMemory",
    "proposeMemory",
    "acceptMemory",
    "forgetSubject",
    "createSubject",
    "createGroup",
    "setGroupMembership",
]


@pytest.mark.parametrize("name", NAMES)
async def test_the_same_call_again_answers_the_same_and_does_nothing(memory: Memories, name: str) -> None:
    query, variables, other = (await calls(memory))[name]
    first = await memory.api.data(query, variables)
    before = await memory.api.data(BELIEVED)
    assert await memory.api.data(query, variables) == first
    assert await memory.refusal(query, other) == ("CONFLICT", "clientKey")
    assert await memory.api.data(BELIEVED) == before


@pytest.mark.parametrize("name", NAMES)
async def test_ten_at_once_are_one(memory: Memories, name: str) -> None:
    query, variables, _ = (await calls(memory))[name]
    answers = await asyncio.gather(*(memory.api.data(query, variables) for _ in range(10)))
    assert all(answer == answers[0] for answer in answers)
    assert len(await memory.listed(subjectId="bob")) == (1 if name == "remember" else 0)
    for item in await memory.listed(subjectId="ann"):
        assert len(await memory.history(item["id"])) <= 3


async def test_without_a_key_each_call_counts(memory: Memories) -> None:
    one, other = [await memory.remember("Tea.", subjectId="ann") for _ in range(2)]
    assert one["id"] != other["id"]


async def test_the_answer_stays_though_the_memory_moved_on(memory: Memories) -> None:
    """The retried call is answered with what it did, not with what others made of it since."""
    given = {"i": {"text": "Tea.", "subjectId": "ann", "spaceKey": "project", "clientKey": "key"}}
    made = (await memory.api.data(REMEMBER, given))["remember"]
    changes = {"id": made["id"], "c": {"text": "Coffee."}, "k": "next"}
    changed = (await memory.api.data(CHANGE, changes))["changeMemory"]
    await memory.retract(made["id"])
    again = (await memory.api.data(REMEMBER, given))["remember"]
    assert {**again, "systemTo": None} == made
    assert again["systemTo"] == changed["systemFrom"]
    assert (await memory.api.data(CHANGE, changes))["changeMemory"]["text"] == "Coffee."
    assert await memory.memory(made["id"]) is None


async def test_a_key_belongs_to_one_person(memory: Memories) -> None:
    await memory.person("helper", "project", Permission.MEMORY_WRITE, Permission.READ)
    given = {"i": {"text": "Tea.", "spaceKey": "project", "clientKey": "key"}}
    mine = (await memory.api.data(REMEMBER, given))["remember"]
    theirs = (await memory.api.data(REMEMBER, given, token=token_of(memory.world, "helper")))["remember"]
    assert mine["id"] != theirs["id"]


async def test_a_call_that_failed_has_not_used_its_key(memory: Memories) -> None:
    bad = {"text": "x", "groupKey": "team", "clientKey": "key"}
    assert (await memory.refusal(REMEMBER, {"i": bad}))[0] == "NOT_FOUND"
    await memory.group("team")
    assert (await memory.api.data(REMEMBER, {"i": bad}))["remember"]["text"] == "x"


@pytest.mark.parametrize("key", ["", "k" * 129, "a\u0000b", "\ud800"])
async def test_a_key_that_cannot_be_kept_is_refused(memory: Memories, key: str) -> None:
    own, team = await prepared(memory)
    for query, variables in (
        (REMEMBER, {"i": {"text": "x", "clientKey": key}}),
        (CORRECT, {"id": own, "c": {"text": "x"}, "k": key}),
        (CHANGE, {"id": own, "c": {"text": "x"}, "k": key}),
        (RETRACT, {"id": own, "k": key}),
        (PROPOSE, {"id": team, "c": {"text": "x"}, "k": key}),
        (ACCEPT, {"id": team, "r": 1, "k": key}),
        (FORGET, {"id": "ann", "k": key}),
        (SUBJECT, {"id": "bob", "k": key}),
        (GROUP, {"key": "crew", "k": key}),
        (MEMBER, {"g": "team", "s": "ann", "v": True, "m": True, "k": key}),
    ):
        before = await clock(memory)
        # A lone surrogate is refused for the whole request, before anybody knows its field.
        field = None if key == "\ud800" else "clientKey"
        assert await memory.refusal(query, variables) == ("BAD_USER_INPUT", field)
        assert await clock(memory) == before


@pytest.mark.parametrize("key", ["k" * 128, "ключ", "a b", "'; DROP TABLE client_keys; --", "\u202e"])
async def test_any_other_text_is_a_key(memory: Memories, key: str) -> None:
    given = {"i": {"text": "Tea.", "spaceKey": "project", "clientKey": key}}
    assert await memory.api.data(REMEMBER, given) == await memory.api.data(REMEMBER, given)
    assert len(await memory.listed(spaceKey="project")) == 1
