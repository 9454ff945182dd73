"""Team memories: what is proposed is not given; what is accepted is, and evidence names entry and revision."""

import asyncio

from app.domain.instant import format_instant, parse_instant
from app.domain.principal import Permission
from tests.memory.conftest import ACCEPT, PROPOSE, Memories

RECORD = "query($id: ID!) { attribution(id: $id) { record } }"

_PROPOSAL = "memoryId revision state changes proposedBy proposedAt decidedBy decidedAt"
REJECT = f"mutation($id: ID!, $r: Int!) {{ rejectMemory(memoryId: $id, revision: $r) {{ {_PROPOSAL} }} }}"
PROPOSALS = f"""query($space: String, $memoryId: ID, $pending: Boolean! = true, $first: Int, $after: String) {{
    proposals(spaceKey: $space, memoryId: $memoryId, pending: $pending, first: $first, after: $after) {{
    edges {{ node {{ {_PROPOSAL} }} }} pageInfo {{ hasNextPage endCursor }} }} }}"""


async def propose(memory: Memories, **given: object) -> tuple[str, int]:
    made = (await memory.api.data(PROPOSE, given))["proposeMemory"]
    return made["memoryId"], made["revision"]


async def accept(memory: Memories, id: str, revision: int):
    return (await memory.api.data(ACCEPT, {"id": id, "r": revision}))["acceptMemory"]


async def test_a_new_memory_is_proposed_then_accepted(memory: Memories) -> None:
    await memory.group("team")
    await memory.remember("Ann.", subjectId="ann")
    await memory.member("team", "ann")
    id, revision = await propose(memory, group="team", c={"text": "We ship on Fridays.", "importance": 0.9})
    assert revision == 1
    assert await memory.given(subjectId="ann") == {"Ann."}
    assert await memory.memory(id) is None
    assert await memory.listed(groupKey="team") == []
    assert await memory.history(id) == []
    accepted = await accept(memory, id, 1)
    assert (accepted["id"], accepted["text"], accepted["importance"], accepted["revision"]) == (
        id,
        "We ship on Fridays.",
        0.9,
        1,
    )
    assert accepted["validFrom"] == accepted["systemFrom"]
    answer = await memory.retrieve(subjectId="ann")
    assert [(item["memoryId"], item["revision"]) for item in answer["groupMemories"]] == [(id, 1)]


async def test_a_revision_is_given_once_accepted_and_evidence_names_it(memory: Memories) -> None:
    made = await memory.remember("We ship on Mondays.", validFrom=None, importance=0.7, tags=["release"])
    id, revision = await propose(memory, id=made["id"], c={"text": "We ship on Fridays."})
    assert (id, revision) == (made["id"], 2)
    answer = await memory.retrieve()
    assert [(item["text"], item["revision"]) for item in answer["memories"]] == [("We ship on Mondays.", 1)]
    accepted = await accept(memory, id, 2)
    # What was not proposed stays.
    assert (accepted["importance"], accepted["tags"], accepted["revision"]) == (0.7, ["release"], 2)
    answer = await memory.retrieve()
    assert [(item["text"], item["revision"]) for item in answer["memories"]] == [("We ship on Fridays.", 2)]
    [entry] = (await memory.api.data(RECORD, {"id": answer["attributionId"]}))["attribution"]["record"]["memories"]
    assert (entry["memoryId"], entry["revision"], entry["owner"]) == (id, 2, "space")
    assert entry["versionId"] == accepted["versionId"]
    assert entry["sha256"] == answer["memories"][0]["contentSha256"]
    # Before that it was as it was, on both clocks.
    assert await memory.text(id, made["systemFrom"]) == "We ship on Mondays."
    assert await memory.text(id, known_at=made["systemFrom"]) == "We ship on Mondays."


async def test_accepting_again_changes_nothing_and_answers_the_same(memory: Memories) -> None:
    made = await memory.remember("One.", validFrom=None)
    _, revision = await propose(memory, id=made["id"], c={"text": "Two."})
    first = await asyncio.gather(*(accept(memory, made["id"], revision) for _ in range(5)))
    assert all(answer == first[0] for answer in first)
    rows = await memory.history(made["id"])
    assert [row["value"]["text"] for row in rows] == ["One.", "One.", "Two."]
    await memory.correct(made["id"], text="Three.")
    again = await accept(memory, made["id"], revision)
    assert (again["text"], again["systemFrom"]) == ("Two.", first[0]["systemFrom"])
    assert await memory.text(made["id"]) == "Three."


async def test_proposals_are_numbered_and_each_can_be_accepted(memory: Memories) -> None:
    made = await memory.remember("One.", validFrom=None)
    numbers = await asyncio.gather(*(propose(memory, id=made["id"], c={"text": f"Offer {n}."}) for n in range(6)))
    assert sorted(number for _, number in numbers) == [2, 3, 4, 5, 6, 7]
    assert (await accept(memory, made["id"], 7))["revision"] == 7
    assert await propose(memory, id=made["id"], c={"text": "More."}) == (made["id"], 8)
    assert (await memory.refusal(ACCEPT, {"id": made["id"], "r": 9})) == ("NOT_FOUND", "revision")
    assert (await memory.refusal(ACCEPT, {"id": made["id"], "r": -1})) == ("NOT_FOUND", "revision")


async def test_a_part_that_is_proposed_joins_what_holds_when_it_is_accepted(memory: Memories) -> None:
    """Not what held when it was proposed, nor what will hold one day."""
    made = await memory.remember("One.", validFrom=None)
    await propose(memory, id=made["id"], c={"importance": 1.0})
    await memory.correct(made["id"], text="Two.")
    later = format_instant(parse_instant(made["systemFrom"]).replace(year=2090))
    await memory.change(made["id"], later, text="One day.")
    accepted = await accept(memory, made["id"], 2)
    assert (accepted["text"], accepted["importance"]) == ("Two.", 1.0)


async def test_a_retracted_memory_can_be_proposed_anew(memory: Memories) -> None:
    made = await memory.remember("One.")
    await memory.retract(made["id"])
    await propose(memory, id=made["id"], c={"importance": 1.0})
    assert (await memory.refusal(ACCEPT, {"id": made["id"], "r": 1}))[0] in {"NOT_FOUND", "BAD_USER_INPUT"}
    _, revision = await propose(memory, id=made["id"], c={"text": "Two."})
    assert (await accept(memory, made["id"], revision))["text"] == "Two."


async def test_only_what_a_team_owns_is_proposed(memory: Memories) -> None:
    made = await memory.remember("Ann.", subjectId="ann")
    assert await memory.refusal(PROPOSE, {"id": made["id"], "c": {"text": "x"}}) == ("BAD_USER_INPUT", "subjectId")
    assert await memory.refusal(PROPOSE, {"space": "project", "c": {"importance": 0.1}}) == ("BAD_USER_INPUT", "text")
    assert (await memory.refusal(PROPOSE, {"group": "none", "c": {"text": "x"}})) == ("NOT_FOUND", "groupKey")


async def test_who_may_write_may_propose_and_who_administers_accepts(memory: Memories) -> None:
    writer = await memory.person("writer", "project", Permission.MEMORY_WRITE, Permission.READ)
    id, revision = (await memory.data(PROPOSE, {"space": "project", "c": {"text": "x"}}, writer)).values()
    assert (await memory.refusal(ACCEPT, {"id": id, "r": revision}, writer))[0] == "FORBIDDEN"
    admin = await memory.person("admin", "project", Permission.ADMIN)
    assert (await memory.data(ACCEPT, {"id": id, "r": revision}, admin))["text"] == "x"
    assert (await memory.refusal(PROPOSE, {"id": id, "c": {"text": "y"}}, admin))[0] == "FORBIDDEN"


# Overtaken, rejected, listed


async def states(memory: Memories, by: str | None = None, **given: object) -> dict[tuple[str, int], str]:
    found = await memory.data(PROPOSALS, {"space": "project", "pending": False, "first": 100, **given}, by)
    nodes = [edge["node"] for edge in found["edges"]]
    return {(node["memoryId"], node["revision"]): node["state"] for node in nodes}


async def test_an_older_revision_is_not_accepted_after_a_newer_one(memory: Memories) -> None:
    made = await memory.remember("One.", validFrom=None)
    id = made["id"]
    for text in ("Two.", "Three.", "Four."):
        await propose(memory, id=id, c={"text": text})
    assert (await accept(memory, id, 3))["text"] == "Three."
    assert await memory.refusal(ACCEPT, {"id": id, "r": 2}) == ("CONFLICT", "revision")
    assert await memory.text(id) == "Three."
    assert (await accept(memory, id, 4))["revision"] == 4
    # What was accepted stays accepted, and answers as it did.
    assert (await accept(memory, id, 3))["text"] == "Three."
    assert await states(memory) == {(id, 2): "OVERTAKEN", (id, 3): "ACCEPTED", (id, 4): "ACCEPTED"}


async def test_of_two_that_are_accepted_at_once_the_newer_one_holds(memory: Memories) -> None:
    made = await memory.remember("One.", validFrom=None)
    for text in ("Two.", "Three."):
        await propose(memory, id=made["id"], c={"text": text})
    await asyncio.gather(*(memory.api.ask(ACCEPT, {"id": made["id"], "r": number}) for number in (2, 3)))
    assert await memory.text(made["id"]) == "Three."


async def test_a_rejected_revision_is_never_accepted(memory: Memories) -> None:
    made = await memory.remember("One.", validFrom=None)
    id, revision = await propose(memory, id=made["id"], c={"text": "Two."})
    turned_down = await memory.data(REJECT, {"id": id, "r": revision}, None)
    assert (turned_down["state"], turned_down["changes"]) == ("REJECTED", {"text": "Two."})
    assert turned_down["decidedBy"] == turned_down["proposedBy"] == str(memory.world.principal.id)
    assert await memory.data(REJECT, {"id": id, "r": revision}, None) == turned_down
    assert await memory.refusal(ACCEPT, {"id": id, "r": revision}) == ("CONFLICT", "revision")
    assert await memory.text(id) == "One."
    assert await memory.refusal(REJECT, {"id": id, "r": 9}) == ("NOT_FOUND", "revision")
    id, revision = await propose(memory, id=id, c={"text": "Three."})
    await accept(memory, id, revision)
    assert await memory.refusal(REJECT, {"id": id, "r": revision}) == ("CONFLICT", "revision")


async def test_what_waits_is_listed_for_who_may_propose_or_accept(memory: Memories) -> None:
    await memory.group("team")
    first, _ = await propose(memory, space="project", c={"text": "Space."})
    second, _ = await propose(memory, group="team", c={"text": "Team."})
    third, _ = await propose(memory, space="project", c={"text": "Decided."})
    await accept(memory, third, 1)
    admin = await memory.person("admin", "project", Permission.ADMIN)
    writer = await memory.person("writer", "project", Permission.MEMORY_WRITE)
    for by in (None, admin, writer):
        assert await states(memory, by, pending=True) == {(first, 1): "PENDING", (second, 1): "PENDING"}
    assert await states(memory, memoryId=second) == {(second, 1): "PENDING"}
    reader = await memory.person("reader", "project", Permission.READ)
    assert await memory.refusal(PROPOSALS, {"space": "project"}, reader) == ("FORBIDDEN", None)
    pages, after = [], None
    while True:
        page = await memory.data(PROPOSALS, {"space": "project", "pending": False, "first": 1, "after": after}, None)
        pages += [edge["node"]["memoryId"] for edge in page["edges"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert pages == sorted([first, second, third])
