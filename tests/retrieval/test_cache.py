"""The search step is remembered for who may search the very same, for nobody else, and no longer than it is true."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from sqlalchemy import text

from app.domain.principal import Level, Permission
from app.domain.temporal import Period
from app.evidence.attribution import find, link_response
from app.memory.people import create_group, set_membership
from app.memory.resolve import Named
from app.memory.revision import Changes
from app.retrieval.cache import SearchCache
from app.storage.scope import believed_now
from tests.fixtures.store import make_world
from tests.retrieval.test_remembered import Clock

NOW = datetime.now(UTC)
YEAR = timedelta(days=365)


def remembering(world, cache=None, **changed):
    retriever = replace(world.parts.retriever, cache=cache or SearchCache(), **changed)
    return replace(world, parts=replace(world.parts, retriever=retriever))


@pytest.fixture
async def shelf(world):
    """A cache of its own, and two documents."""
    world = remembering(world)
    await world.write("a.md", ("refunds by tier two", None, None))
    await world.write("b.md", ("refunds in memo one", None, None))
    await world.settle()
    return world


def given(answer):
    return [(item.candidate, item.passage) for item in answer.passages]


async def close(world, table, condition, **values):
    """Believe it no longer, as a deletion does."""
    async with world.parts.database.write(world.organisation) as session:
        closed = await session.run(
            text(f"UPDATE {table} t SET system_to = :stamp WHERE {believed_now('t')} AND {condition}"),
            {"organisation": session.organisation, "stamp": session.stamp, **values},
        )
        assert closed > 0


# What a hit is


async def test_a_hit_is_the_same_answer_with_evidence_of_its_own(shelf):
    first, second = await shelf.ask("refunds"), await shelf.ask("refunds")
    assert (first.search.cache_hit, second.search.cache_hit) == (False, True)
    assert given(first) == given(second) != []
    assert first.search.candidates == second.search.candidates
    assert first.exclusions == second.exclusions
    assert first.limitations == second.limitations
    assert first.contract.indexes == second.contract.indexes
    # It was read when the search was, and issued when it was asked for.
    assert second.contract.valid_at == first.contract.valid_at
    assert second.contract.known_at == first.contract.known_at
    assert second.contract.issued_at > first.contract.issued_at
    assert second.request_id != first.request_id
    database, principal = shelf.parts.database, shelf.principal
    mine = [(await find(database, principal, str(answer.attribution_id))).record for answer in (first, second)]
    own = ("id", "attributionId", "requestId", "issuedAt")
    assert {**mine[0], **{name: mine[1][name] for name in own}} == mine[1]
    assert all(mine[0][name] != mine[1][name] for name in own)


async def test_a_hit_has_the_timing_of_the_cache_and_none_of_a_search(shelf):
    first, second = await shelf.ask("refunds"), await shelf.ask("refunds")
    assert {"cache", "embed", "text", "vector"} <= set(first.search.stage_timings)
    assert "cache" in second.search.stage_timings
    assert not {"embed", "text", "vector"} & set(second.search.stage_timings)


async def test_what_comes_after_the_search_is_done_anew(shelf):
    await shelf.ask("refunds")
    cut = await shelf.ask("refunds", top_k=1, token_budget=None, min_score=0.0)
    assert cut.search.cache_hit
    assert len(cut.passages) == 1
    assert (await shelf.ask("refunds", token_budget=0)).passages == ()


async def test_off(world):
    world = remembering(world, SearchCache(0))
    await world.write("a.md", ("refunds", None, None))
    answers = [await world.ask("refunds") for _ in range(2)]
    assert not any(answer.search.cache_hit for answer in answers)
    assert "cache" not in answers[1].search.stage_timings


async def test_it_is_remembered_for_a_minute(world):
    clock = Clock()
    world = remembering(world, SearchCache(60, clock))
    await world.write("a.md", ("refunds", None, None))
    await world.settle()
    await world.ask("refunds")
    clock.now += 59
    assert (await world.ask("refunds")).search.cache_hit
    clock.now += 1
    again = await world.ask("refunds")
    assert not again.search.cache_hit
    assert "embed" in again.search.stage_timings


# What is another question


@pytest.mark.parametrize(
    "other",
    [
        {"query": "refunds "},
        {"space_key": "/"},
        {"source_kinds": ["docs"]},
        {"source_kinds": []},
        {"providers": ["filesystem"]},
        {"tags": ["gold"]},
        {"as_of": NOW},
        {"as_of": NOW - YEAR},
        {"near_misses": True},
        {"top_k": 50},
    ],
    ids=str,
)
async def test_another_question_is_searched_for(shelf, other):
    asked = {"query": "refunds", "space_key": "project"}
    await shelf.ask(**asked)
    assert not (await shelf.ask(**asked | other)).search.cache_hit
    assert (await shelf.ask(**asked | other)).search.cache_hit
    assert (await shelf.ask(**asked)).search.cache_hit


async def test_another_embedder_or_weight_is_another_search(shelf):
    await shelf.ask("refunds")
    cache = shelf.parts.retriever.cache
    for changed in (
        {"embedder": None},
        {"level_weights": dict.fromkeys(shelf.parts.retriever.level_weights, 0.5)},
        {"approximate": True},
    ):
        assert not (await remembering(shelf, cache, **changed).ask("refunds")).search.cache_hit


async def test_without_a_question_nothing_is_remembered(shelf):
    for query in (None, " "):
        for _ in range(2):
            assert not (await shelf.ask(query)).search.cache_hit


# What ends it


async def test_case_22_a_source_that_is_deleted_is_gone_at_once(shelf):
    extra = await shelf.add_source("extra")
    await shelf.write("c.md", ("refunds of the extra source", None, None), source=extra)
    await shelf.settle()
    before = await shelf.ask("refunds")
    assert {item.passage.external_id for item in before.passages} == {"a.md", "b.md", "c.md"}
    await close(shelf, "sources", "t.id = :id", id=extra.id)
    after = await shelf.ask("refunds")
    assert not after.search.cache_hit
    assert {item.passage.external_id for item in after.passages} == {"a.md", "b.md"}
    # Nor at the point at which it was still there.
    for _ in range(2):
        past = await shelf.ask("refunds", as_of=before.contract.valid_at, known_at=before.contract.known_at)
        assert {item.passage.external_id for item in past.passages} == {"a.md", "b.md"}


async def test_every_write_makes_a_new_search(shelf):
    await shelf.ask("refunds")
    await shelf.write("c.md", ("refunds again", None, None), embed=False)
    assert len((await shelf.ask("refunds")).passages) == 3
    await shelf.write("c.md", ("other words", None, None), embed=False)
    answer = await shelf.ask("refunds")
    assert not answer.search.cache_hit
    await shelf.write("a.md")
    assert "a.md" not in {item.passage.external_id for item in (await shelf.ask("refunds")).passages}


async def test_evidence_links_and_the_sequencer_end_nothing(shelf):
    first = await shelf.ask("refunds")
    await shelf.parts.sequencer.turn(shelf.organisation)
    await link_response(shelf.parts.database, shelf.principal, str(first.attribution_id), "response")
    await shelf.ask("something else")
    await shelf.parts.sequencer.turn(shelf.organisation)
    assert (await shelf.ask("refunds")).search.cache_hit


async def test_a_permission_that_is_taken_back_counts_at_once(shelf):
    team = await shelf.add_space("team", Level.TEAM)
    reader = await shelf.add_person("reader", (shelf.project, Permission.SEARCH), (team, Permission.SEARCH))
    assert (await shelf.ask("refunds", by=reader)).passages
    assert (await shelf.ask("refunds", by=reader)).search.cache_hit
    await close(shelf, "grants", "t.principal_id = :p AND t.space_id = :s", p=reader.id, s=shelf.project)
    with pytest.raises(Exception, match="no such space"):
        await shelf.ask("refunds", by=reader)


async def test_a_permission_that_ends_by_itself_counts_at_once(shelf):
    """No write, and the same clock: the search is remembered, and not for this caller any more."""
    reader = await shelf.add_person("reader", (shelf.project, Permission.READ))
    soon = datetime.now(UTC) + timedelta(seconds=1.2)
    async with shelf.parts.database.write(shelf.organisation) as session:
        await session.run(
            text(
                "INSERT INTO grants (organisation_id, id, principal_id, space_id, permission, valid_to, system_from) "
                "VALUES (:organisation, gen_random_uuid(), :p, :s, 'context:space:search', :soon, :stamp)"
            ),
            {
                "organisation": session.organisation,
                "p": reader.id,
                "s": shelf.project,
                "soon": soon,
                "stamp": session.stamp,
            },
        )
    assert len((await shelf.ask("refunds", by=reader)).passages) == 2
    assert (await shelf.ask("refunds", by=reader)).search.cache_hit
    await asyncio.sleep(max(0.0, (soon - datetime.now(UTC)).total_seconds()) + 0.05)
    late = await shelf.ask("refunds", by=reader)
    assert late.passages == ()
    assert not late.search.cache_hit


async def test_who_may_search_less_is_given_less(shelf):
    """Whoever asks first."""
    secret = await shelf.add_space("secret", Level.TEAM, "project")
    hidden = await shelf.add_source("hidden", secret)
    await shelf.write("hidden.md", ("refunds of the secret team", None, None), source=hidden)
    await shelf.settle()
    insider = shelf.principal
    outsider = await shelf.add_person("outsider", (shelf.root, Permission.READ), (shelf.project, Permission.READ))
    beside = await shelf.add_person("beside", (secret, Permission.SEARCH))
    for order in ((insider, outsider, beside), (beside, outsider, insider)):
        seen = {}
        for principal in order * 2:
            answer = await shelf.ask("refunds", by=principal, space_key="secret")
            seen[principal.external_id] = {item.passage.external_id for item in answer.passages}
        assert seen == {
            insider.external_id: {"a.md", "b.md", "hidden.md"},
            "outsider": set(),
            "beside": {"hidden.md"},
        }
        await shelf.write(f"{len(order)}.md", ("other words altogether", None, None), embed=False)
        await shelf.write(f"{len(order)}.md")


async def test_two_keys_never_share(shelf):
    keys = [replace(shelf.principal, api_key_id=uuid4()) for _ in range(2)]
    assert not (await shelf.ask("refunds", by=keys[0])).search.cache_hit
    assert not (await shelf.ask("refunds", by=keys[1])).search.cache_hit
    assert (await shelf.ask("refunds", by=keys[0])).search.cache_hit
    scoped = replace(keys[0], allowed_providers=frozenset({"git"}))
    assert (await shelf.ask("refunds", by=scoped)).passages == ()


async def test_organisations_never_share(shelf, parts):
    other = remembering(await make_world(parts), shelf.parts.retriever.cache)
    assert (await shelf.ask("refunds")).passages
    answer = await other.ask("refunds")
    assert not answer.search.cache_hit
    assert answer.passages == ()
    assert "embed" in answer.search.stage_timings


# The next instant at which a fact begins or ends


def in_a_moment(seconds=1.5):
    return datetime.now(UTC) + timedelta(seconds=seconds)


async def after(moment):
    await asyncio.sleep(max(0.0, (moment - datetime.now(UTC)).total_seconds()) + 0.05)


async def test_it_ends_when_a_document_begins_or_ends(shelf):
    """Nothing is written meanwhile."""
    soon = in_a_moment()
    await shelf.write("c.md", ("refunds of the old kind", NOW - YEAR, soon), ("refunds of the new kind", soon, None))
    await shelf.settle()
    before = [await shelf.ask("refunds") for _ in range(2)]
    assert before[1].search.cache_hit
    assert "refunds of the old kind" in {item.passage.text for item in before[1].passages}
    await after(soon)
    answer = await shelf.ask("refunds")
    assert not answer.search.cache_hit
    assert "refunds of the new kind" in {item.passage.text for item in answer.passages}
    assert answer.contract.valid_at >= soon
    assert (await shelf.ask("refunds")).search.cache_hit


async def test_it_ends_when_a_memory_or_a_membership_begins(shelf):
    soon = in_a_moment(2.0)
    database, principal = shelf.parts.database, shelf.principal
    await create_group(database, principal, "group", space_key="project")
    for said, start, owner in (
        ("The team ships refunds.", None, {"group_key": "group"}),
        ("She likes refunds.", soon, {"subject_id": "subject", "space_key": "project"}),
    ):
        await shelf.parts.memory.remember(
            principal, Named(**owner), Changes(text=said), since=start, until=None, from_now=False
        )
    await set_membership(database, principal, "group", "subject", verified=True, period=Period(soon, None))
    asked = {"subject_id": "subject"}
    before = [await shelf.ask("refunds", **asked) for _ in range(2)]
    assert before[1].search.cache_hit
    assert not before[1].memories
    assert not before[1].group_memories
    await after(soon)
    answer = await shelf.ask("refunds", **asked)
    assert [item.text.text for item in answer.memories] == ["She likes refunds."]
    assert [item.text.text for item in answer.group_memories] == ["The team ships refunds."]


async def test_a_named_moment_has_no_end(shelf):
    soon = in_a_moment(0.3)
    await shelf.write("c.md", ("refunds", NOW - YEAR, soon))
    await shelf.settle()
    await shelf.ask("refunds", as_of=NOW)
    await after(soon)
    assert (await shelf.ask("refunds", as_of=NOW)).search.cache_hit


async def test_the_present_as_it_was_once_known_is_not_remembered(shelf):
    first = await shelf.ask("refunds")
    await shelf.write("c.md", ("other", None, None), embed=False)
    for _ in range(2):
        past = await shelf.ask("refunds", known_at=first.contract.known_at)
        assert not past.search.cache_hit
    for _ in range(2):
        past = await shelf.ask("refunds", known_at=first.contract.known_at, as_of=NOW)
    assert past.search.cache_hit


# Many at once


async def test_readers_and_a_writer_at_once(shelf):
    """Each answer is that of the clock it names, from the cache or not."""
    known: dict[datetime, set[str]] = {}

    async def read():
        for _ in range(12):
            answer = await shelf.ask("refunds", max_per_level=50, top_k=50)
            seen = {item.passage.external_id for item in answer.passages}
            assert known.setdefault(answer.contract.known_at, seen) == seen

    async def write():
        for number in range(6):
            await shelf.write(f"w{number}.md", (f"refunds in note {number}", None, None), embed=False)
            await asyncio.sleep(0.01)

    await asyncio.gather(write(), *(read() for _ in range(4)))
    last = await shelf.ask("refunds", max_per_level=50, top_k=50)
    assert {f"w{number}.md" for number in range(6)} <= {item.passage.external_id for item in last.passages}


async def test_nothing_is_kept_of_an_answer_that_failed(shelf, monkeypatch):
    async def fail(*arguments, **options):
        raise RuntimeError("not recorded")

    with monkeypatch.context() as patched:
        patched.setattr("app.retrieval.pipeline.record", fail)
        with pytest.raises(RuntimeError):
            await shelf.ask("refunds")
    assert not (await shelf.ask("refunds")).search.cache_hit
