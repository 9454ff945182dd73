"""Who may look into a trace, what they see of it, and why an item is not in an answer."""

from dataclasses import replace
from uuid import uuid4

import pytest
from sqlalchemy import text

from app.domain.errors import Code
from app.domain.principal import Level, Permission
from app.domain.selection import Reason
from app.domain.trace import DELIVERED, NEAR_MISS
from app.evidence.attribution import find
from app.evidence.trace import Outcome, explain, find_trace
from app.memory.people import forget_subject
from app.memory.resolve import Named
from app.memory.revision import Changes
from app.storage.scope import believed_now
from tests.evidence.test_attribution import MALFORMED, refusal
from tests.fixtures.store import make_world
from tests.memory.conftest import Memories
from tests.schema.conftest import Api, connect


@pytest.fixture
async def shelf(world):
    """A team with a document of its own beside those of the project above it."""
    team = await world.add_space("project/team", Level.TEAM, "project")
    own = await world.add_source("own", team)
    for number in range(4):
        await world.write(f"{number}.md", (f"refunds in memo {number}", None, None))
    await world.write("team.md", ("refunds of the team", None, None), source=own)
    await world.settle()
    return world


async def ask(world, **options):
    return await world.ask("refunds", space_key="project/team", top_k=2, max_per_level=50, **options)


async def see(world, answer, by=None):
    return await find_trace(world.parts.database, by or world.principal, str(answer.trace_id))


async def why(world, answer, item, by=None):
    return await explain(world.parts.database, by or world.principal, str(answer.request_id), str(item))


async def test_who_may_see_it(shelf):
    reader = await shelf.add_person("reader", (shelf.project, Permission.SEARCH))
    answer = await ask(shelf, by=reader)
    told = {
        "who retrieved": (reader, True),
        "who may do everything": (shelf.principal, True),
        "admin of the space": (await shelf.add_person("a", (shelf.project, Permission.ADMIN)), True),
        "auditor": (await shelf.add_person("b", (shelf.root, Permission.AUDIT_READ)), True),
        "who may search": (await shelf.add_person("c", (shelf.project, Permission.SEARCH)), False),
        "who holds nothing": (await shelf.add_person("d"), False),
        "a stranger": (replace(reader, id=uuid4()), False),
    }
    for who, (principal, allowed) in told.items():
        if allowed:
            seen = await see(shelf, answer, principal)
            assert (seen.id, seen.request_id) == (answer.trace_id, answer.request_id), who
            assert seen.attribution_id == answer.attribution_id
            assert await why(shelf, answer, uuid4(), principal)
        else:
            assert await refusal(see(shelf, answer, principal)) == (Code.NOT_FOUND, "no such trace", "id", False), who
            refused = await refusal(why(shelf, answer, answer.passages[0].candidate.id, principal))
            assert refused[:3] == (Code.ATTRIBUTION_NOT_FOUND, "no such attribution", "requestId"), who
    stranger = await make_world(shelf.parts)
    assert (await refusal(see(shelf, answer, stranger.principal)))[0] is Code.NOT_FOUND


@pytest.mark.parametrize("id", [*MALFORMED, str(uuid4())])
async def test_unknown_and_malformed_ids_are_one_answer(world, id):
    database = world.parts.database
    assert (await refusal(find_trace(database, world.principal, id)))[0] is Code.NOT_FOUND
    assert (await refusal(explain(database, world.principal, id, str(uuid4()))))[0] is Code.ATTRIBUTION_NOT_FOUND


async def test_what_the_viewer_may_not_search_is_left_out_without_a_count(shelf):
    """An administrator of the space sees the retrieval, not what lay in spaces that they may not search."""
    answer = await ask(shelf)
    everything = (await see(shelf, answer)).trace.candidates
    assert len(everything) == answer.search.candidates == 5
    team = next(item.space for item in everything if item.item == _of_the_team(everything))
    narrow = await shelf.add_person("narrow", (team, Permission.ADMIN), (team, Permission.SEARCH))
    seen = (await see(shelf, answer, narrow)).trace
    assert {item.space for item in seen.candidates} == {team}
    blind = await shelf.add_person("blind", (shelf.project, Permission.ADMIN))
    assert (await see(shelf, answer, blind)).trace.candidates == ()
    auditor = await shelf.add_person("auditor", (shelf.root, Permission.AUDIT_READ))
    assert (await see(shelf, answer, auditor)).trace.candidates == everything


def _of_the_team(candidates):
    """The candidate of the source that has but one."""
    sources = {}
    for item in candidates:
        sources.setdefault(item.source, []).append(item)
    return min(sources.values(), key=len)[0].item


async def test_it_is_today_s_permission_that_counts(shelf):
    reader = await shelf.add_person("reader", (shelf.project, Permission.SEARCH))
    answer = await ask(shelf, by=reader)
    seen = (await see(shelf, answer, reader)).trace.candidates
    assert len(seen) == 5
    gone = seen[-1]
    async with shelf.parts.database.write(shelf.organisation) as session:
        await session.run(
            text(f"UPDATE sources t SET system_to = :stamp WHERE {believed_now('t')} AND t.id = :id"),
            {"organisation": session.organisation, "stamp": session.stamp, "id": gone.source},
        )
    left = (await see(shelf, answer, reader)).trace.candidates
    assert gone.source not in {item.source for item in left}
    # What is not the viewer's to know is told as what never was.
    assert await why(shelf, answer, gone.item, reader) == await why(shelf, answer, uuid4(), reader)
    async with shelf.parts.database.write(shelf.organisation) as session:
        await session.run(
            text(f"UPDATE grants t SET system_to = :stamp WHERE {believed_now('t')} AND t.principal_id = :id"),
            {"organisation": session.organisation, "stamp": session.stamp, "id": reader.id},
        )
    assert (await see(shelf, answer, reader)).trace.candidates == ()
    assert (await why(shelf, answer, left[0].item, reader)).outcome is Outcome.NEVER_A_CANDIDATE


async def test_a_provider_that_the_credential_does_not_admit(shelf):
    answer = await ask(shelf)
    reader = await shelf.add_person("reader", (shelf.project, Permission.SEARCH), (shelf.project, Permission.ADMIN))
    narrow = replace(reader, allowed_providers=frozenset({"git"}))
    assert len((await see(shelf, answer, reader)).trace.candidates) == 5
    assert (await see(shelf, answer, narrow)).trace.candidates == ()


# Why it is not in the answer


async def test_delivered_excluded_and_never(shelf):
    answer = await ask(shelf, token_budget=8)
    trace = (await see(shelf, answer)).trace
    fates = {item.item: item for item in trace.candidates}
    assert {item.stage for item in fates.values()} >= {DELIVERED, "cap"}
    for id, item in fates.items():
        for named in (id, item.whole):
            found = await why(shelf, answer, named)
            if item.stage == DELIVERED:
                assert found.outcome is Outcome.DELIVERED
                assert (found.stage, found.type) == (None, None)
                assert str(item.index) in found.sentence
            else:
                assert found.outcome is Outcome.EXCLUDED
                assert (found.stage, found.type) == (item.stage, item.reason)
                assert found.sentence
            assert found.candidate == item
    for nothing in (uuid4(), shelf.project, "nonsense", ""):
        found = await why(shelf, answer, nothing)
        assert found.outcome is Outcome.NEVER_A_CANDIDATE
        assert (found.candidate, found.stage, found.type) == (None, None, None)


async def test_a_document_is_told_by_its_best_candidate(shelf):
    sections = "\n\n".join(f"# Part {n}\n\nRefunds and more in part {n}." for n in range(5))
    await shelf.write("long.md", (sections, None, None))
    await shelf.settle()
    answer = await shelf.ask("refunds and more in part 3", max_passages_per_document=1, top_k=3)
    trace = (await see(shelf, answer)).trace
    [delivered] = [item for item in trace.candidates if item.stage == DELIVERED and _long(trace, item)]
    found = await why(shelf, answer, delivered.whole)
    assert (found.outcome, found.candidate) == (Outcome.DELIVERED, delivered)
    nothing = await shelf.ask("refunds and more in part 3", top_k=0)
    found = await why(shelf, nothing, delivered.whole)
    assert found.outcome is Outcome.EXCLUDED
    assert found.candidate.rank == min(
        item.rank for item in (await see(shelf, nothing)).trace.candidates if item.whole == delivered.whole
    )


def _long(trace, item):
    return sum(other.whole == item.whole for other in trace.candidates) > 1


async def test_memories_by_version_and_as_a_whole(shelf):
    for number in range(3):
        await shelf.parts.memory.remember(
            shelf.principal,
            Named(space_key="project"),
            Changes(text=f"We give refunds {number}."),
            since=None,
            until=None,
            from_now=False,
        )
    answer = await ask(shelf, max_memories=1)
    memories = [item for item in (await see(shelf, answer)).trace.candidates if item.source is None]
    assert len(memories) == 3
    for item in memories:
        for named in (item.item, item.whole):
            found = await why(shelf, answer, named)
            expected = Outcome.DELIVERED if item.index else Outcome.EXCLUDED
            assert (found.outcome, found.candidate) == (expected, item)


async def test_a_near_miss_says_why_it_never_was_one(shelf, instant):
    await shelf.write("old.md", ("refunds in the old days", None, instant))
    await shelf.settle()
    answer = await ask(shelf, near_misses=True)
    [missed] = (await see(shelf, answer)).trace.near_misses
    found = await why(shelf, answer, missed.document)
    assert (found.outcome, found.stage, found.type) == (Outcome.NEVER_A_CANDIDATE, NEAR_MISS, Reason.EXPIRED)
    blind = await shelf.add_person("blind", (shelf.project, Permission.ADMIN))
    assert await why(shelf, answer, missed.document, blind) == await why(shelf, answer, uuid4(), blind)


async def test_no_trace_is_told_to_who_may_know_of_the_retrieval(shelf):
    off = replace(shelf, parts=replace(shelf.parts, retriever=replace(shelf.parts.retriever, traces=False)))
    answer = await ask(off)
    code, message, field, _ = await refusal(why(shelf, answer, answer.passages[0].candidate.id))
    assert (code, field) == (Code.NOT_FOUND, "requestId")
    assert "no trace" in message
    outsider = await shelf.add_person("outsider")
    assert (await refusal(why(shelf, answer, uuid4(), outsider)))[0] is Code.ATTRIBUTION_NOT_FOUND


async def test_after_erasure(shelf):
    await shelf.parts.memory.remember(
        shelf.principal,
        Named(subject_id="ann", space_key="project"),
        Changes(text="Ann likes refunds."),
        since=None,
        until=None,
        from_now=False,
    )
    answer = await ask(shelf, subject_id="ann")
    assert (await why(shelf, answer, answer.memories[0].candidate.id)).outcome is Outcome.DELIVERED
    await forget_subject(shelf.parts.database, shelf.principal, "ann")
    assert (await refusal(see(shelf, answer)))[0] is Code.NOT_FOUND
    assert (await refusal(why(shelf, answer, uuid4())))[0] is Code.NOT_FOUND
    assert (await find(shelf.parts.database, shelf.principal, str(answer.attribution_id))).id == answer.attribution_id


# Groups


async def test_a_memory_of_a_group_that_the_subject_has_left(world, parts):
    """Old clocks never widen access: who asked may not look into what they were given as a member."""
    async with connect(parts) as http:
        memory = Memories(Api(world, http))
        await memory.group("team")
        await memory.remember("The refunds of ada.", subjectId="ada")
        await memory.remember("The refunds of the team.", groupKey="team")
        await memory.member("team", "ada")
        reader = await world.add_person("reader", (world.project, Permission.SEARCH))
        answer = await world.ask("refunds", by=reader, subject_id="ada")
        [given] = answer.group_memories
        item = given.candidate.id
        assert (await why(world, answer, item, reader)).outcome is Outcome.DELIVERED
        everything = (await see(world, answer, reader)).trace.candidates
        await memory.member("team", "ada", verified=False)
        left = (await see(world, answer, reader)).trace.candidates
        assert {one.item for one in everything} - {one.item for one in left} == {item}
        assert await why(world, answer, item, reader) == await why(world, answer, uuid4(), reader)
        await memory.member("team", "ada", member=False)
        assert await why(world, answer, item, reader) == await why(world, answer, uuid4(), reader)
        auditor = await world.add_person("auditor", (world.root, Permission.AUDIT_READ))
        assert (await why(world, answer, item, auditor)).outcome is Outcome.DELIVERED
        await memory.member("team", "ada")
        assert (await see(world, answer, reader)).trace.candidates == everything
