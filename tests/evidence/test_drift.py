"""When a retrieval does not come out again as it was recorded, it is said what moved, and only that."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from app.domain.errors import Code, MunimentError
from app.domain.principal import Level, Permission
from app.domain.replay import Drift, ReplayVerdict
from app.identity.level_weights import set_level_weights
from app.providers.embedder.hashing import HashingEmbedder
from app.retrieval.answer import Answer
from tests.evidence.replaying import replayed, why
from tests.evidence.test_staleness import close_source
from tests.fixtures.endpoint import LocalEndpoint, says, scores
from tests.fixtures.store import World
from tests.memory.conftest import Memories
from tests.retrieval.optional import with_stages

TIN = "# Tea\n\nTea is kept in the {} tin."
QUESTION = "where is the tea kept"


async def told(world: World, **options: Any) -> Answer:
    await world.write("tea.md", (TIN.format("red"), None, None))
    await world.write("coffee.md", ("# Coffee\n\nCoffee is kept in the blue tin.", None, None))
    await world.settle()
    answer = await world.ask(QUESTION, **options)
    assert answer.passages
    return answer


async def edit(owner: asyncpg.Connection, statement: str, *values: object) -> None:
    """As a superuser who switches the triggers off does."""
    async with owner.transaction():
        await owner.execute("SET LOCAL session_replication_role = replica")
        assert not (await owner.execute(statement, *values)).endswith(" 0")


def traceless(world: World) -> World:
    retriever = replace(world.parts.retriever, traces=False)
    return replace(world, parts=replace(world.parts, retriever=retriever))


# Against the recorded clocks.


async def test_a_text_changed_in_place(world: World, owner: asyncpg.Connection) -> None:
    answer = await told(world)
    changed = answer.passages[0].candidate.id
    await edit(
        owner,
        "UPDATE chunks SET text_sha256 = (SELECT text_sha256 FROM chunks WHERE id = $2) WHERE id = $1",
        changed,
        (await world.ask("Coffee", top_k=1)).passages[0].candidate.id,
    )
    found = await replayed(world, answer)
    assert Drift.HASH_MISMATCH in why(found)
    assert changed in found.reasons[0].items


async def test_what_ranking_reads_changed_in_place(world: World, owner: asyncpg.Connection) -> None:
    answer = await told(world)
    statement = "UPDATE lexeme_frequencies SET frequency = frequency + 7 WHERE organisation_id = $1"
    await edit(owner, statement, world.organisation)
    assert why(await replayed(world, answer)) == {Drift.STORE_CHANGED}


async def test_an_embedding_that_is_gone(world: World, owner: asyncpg.Connection) -> None:
    answer = await told(world)
    gone = answer.passages[0].candidate.id
    await edit(owner, "DELETE FROM embeddings WHERE organisation_id = $1 AND chunk_id = $2", world.organisation, gone)
    found = await replayed(world, answer)
    assert why(found) == {Drift.MODEL_CHANGED}
    assert found.reasons[0].items == (gone,)


async def test_a_subject_that_was_forgotten(world: World, memory: Memories) -> None:
    await memory.remember("ada likes tea", subjectId="ada")
    made = await memory.remember("tea is served at four")
    answer = await world.ask(QUESTION, subject_id="ada")
    assert len(answer.memories) == 2
    await memory.forget("ada")
    with pytest.raises(MunimentError) as refused:
        await replayed(world, answer)
    assert (refused.value.code, refused.value.field) == (Code.BAD_USER_INPUT, "query")
    found = await replayed(world, answer, QUESTION)
    assert not found.traced
    assert Drift.ERASED in why(found)
    [erased] = [reason for reason in found.reasons if reason.reason is Drift.ERASED]
    assert {item.whole for item in found.items if item.item in erased.items} != {made["id"]}
    assert len(erased.items) == 1


async def test_a_chunk_that_was_erased(world: World, owner: asyncpg.Connection) -> None:
    answer = await told(world)
    gone = answer.passages[0].candidate.id
    for table in ("chunks", "postings", "embeddings"):
        column = "id" if table == "chunks" else "chunk_id"
        await edit(owner, f"DELETE FROM {table} WHERE organisation_id = $1 AND {column} = $2", world.organisation, gone)
    found = await replayed(world, answer)
    assert why(found) == {Drift.ERASED}
    assert found.reasons[0].items == (gone,)


async def test_weights_of_the_deployment(world: World) -> None:
    answer = await told(world)
    retriever = replace(
        world.parts.retriever, level_weights={**world.parts.retriever.level_weights, Level.PROJECT: 1.3}
    )
    other = replace(world, parts=replace(world.parts, retriever=retriever))
    assert why(await replayed(other, answer)) == {Drift.WEIGHTS_CHANGED}


async def test_a_record_that_was_altered(world: World, owner: asyncpg.Connection) -> None:
    answer = await told(world)
    await world.parts.sequencer.sweep()
    assert (await replayed(world, answer)).verdict is ReplayVerdict.REPRODUCED
    await edit(
        owner,
        "UPDATE evidence SET payload = convert_to(replace(convert_from(payload, 'UTF8'), '\"topK\":8', '\"topK\":9'), "
        "'UTF8') WHERE organisation_id = $1 AND id = $2",
        world.organisation,
        answer.attribution_id,
    )
    assert why(await replayed(world, answer)) == {Drift.RECORD_ALTERED}


async def test_a_trace_that_was_altered(world: World, owner: asyncpg.Connection) -> None:
    answer = await told(world)
    other = await world.ask("where is the coffee kept", top_k=1)
    await edit(
        owner,
        "UPDATE retrieval_traces t SET payload = o.payload FROM retrieval_traces o "
        "WHERE t.organisation_id = $1 AND t.attribution_id = $2 AND o.attribution_id = $3",
        world.organisation,
        answer.attribution_id,
        other.attribution_id,
    )
    assert Drift.TRACE_ALTERED in why(await replayed(world, answer))


# Without a trace.


async def test_without_a_trace_the_question_is_passed_again(world: World) -> None:
    bare = traceless(world)
    answer = await told(bare)
    await world.write("tea.md", (TIN.format("green"), None, None))
    for wrong in (None, "  ", "where is the coffee kept"):
        with pytest.raises(MunimentError) as refused:
            await replayed(bare, answer, wrong)
        assert (refused.value.code, refused.value.field) == (Code.BAD_USER_INPUT, "query")
    found = await replayed(bare, answer, QUESTION)
    assert (found.verdict, found.reasons, found.traced) == (ReplayVerdict.REPRODUCED, (), False)


async def test_a_question_that_is_not_the_recorded_one_is_refused_also_with_a_trace(world: World) -> None:
    answer = await told(world)
    with pytest.raises(MunimentError):
        await replayed(world, answer, "where is the coffee kept")
    assert (await replayed(world, answer, QUESTION)).verdict is ReplayVerdict.REPRODUCED


async def test_without_a_question_no_trace_is_needed(world: World, memory: Memories) -> None:
    bare = traceless(world)
    await memory.remember("tea is served at four")
    answer = await bare.ask(None)
    assert answer.memories
    assert (await replayed(bare, answer)).verdict is ReplayVerdict.REPRODUCED


async def test_another_model_without_a_trace(world: World) -> None:
    bare = traceless(world)
    answer = await told(bare)
    embedder = HashingEmbedder()
    embedder.model = "another"  # type: ignore[misc]
    other = replace(bare, parts=replace(bare.parts, retriever=replace(bare.parts.retriever, embedder=embedder)))
    found = await replayed(other, answer, QUESTION)
    assert Drift.APPROXIMATE in why(found)


async def test_what_other_hosts_said_comes_from_the_trace(world: World, endpoint: LocalEndpoint) -> None:
    """No host is asked; without a trace it is said that they are missed."""
    await told(world)
    endpoint.does(says("where is coffee kept"), scores(lambda text: float("red" in text)))
    async with with_stages(world, chat=endpoint.url, rerank=endpoint.url) as asked:
        answer = await asked.ask(QUESTION)
    assert answer.contract.rewritten_query == "where is coffee kept"
    assert [item.candidate.scores.rerank for item in answer.passages] == [1.0, 0.0]
    endpoint.does(scores(lambda text: float("red" in text)))
    async with with_stages(traceless(world), rerank=endpoint.url) as bare:
        silent = await bare.ask(QUESTION)
    before = len(endpoint.calls)
    assert (await replayed(world, answer)).verdict is ReplayVerdict.REPRODUCED
    assert Drift.APPROXIMATE in why(await replayed(world, silent, QUESTION))
    assert len(endpoint.calls) == before


# Who asks.


async def test_recorded_permissions_serve_the_verdict_whoever_asks(world: World) -> None:
    ann = await world.add_person("ann", (world.project, Permission.SEARCH))
    auditor = await world.add_person("auditor", (world.root, Permission.AUDIT_READ))
    stranger = await world.add_person("stranger", (world.project, Permission.SEARCH))
    answer = await told(world, by=ann)
    for viewer in (ann, auditor, world.principal):
        found = await replayed(world, answer, by=viewer)
        assert found.verdict is ReplayVerdict.REPRODUCED
        assert found.items
    with pytest.raises(MunimentError) as refused:
        await replayed(world, answer, by=stranger)
    assert refused.value.code is Code.ATTRIBUTION_NOT_FOUND


async def test_of_what_was_not_delivered_only_that_is_told_which_the_viewer_may_search(
    world: World, owner: asyncpg.Connection
) -> None:
    above = await world.add_source("above", world.root)
    await world.write("pot.md", ("# Pot\n\nThe tea pot is kept upstairs.", None, None), source=above)
    warden = await world.add_person("warden", (world.project, Permission.ADMIN))
    auditor = await world.add_person("auditor", (world.root, Permission.AUDIT_READ))
    answer = await told(world, top_k=1)
    hidden = (await world.ask("pot", space_key="/", top_k=1)).passages[0].candidate.id
    statement = "UPDATE lexeme_frequencies SET frequency = frequency + 7 WHERE organisation_id = $1"
    await edit(owner, statement, world.organisation)
    for viewer, knows in ((auditor, True), (world.principal, True), (warden, False)):
        [reason] = (await replayed(world, answer, by=viewer)).reasons
        assert answer.passages[0].candidate.id in reason.items
        assert (hidden in reason.items) is knows


async def test_a_permission_that_was_taken_back(world: World, owner: asyncpg.Connection) -> None:
    ann = await world.add_person("ann", (world.project, Permission.SEARCH))
    answer = await told(world, by=ann)
    async with world.parts.database.write(world.organisation) as write:
        stamp = write.stamp
    await owner.execute("UPDATE grants SET system_to = $1 WHERE principal_id = $2", stamp, ann.id)
    assert (await replayed(world, answer, by=ann)).verdict is ReplayVerdict.REPRODUCED
    found = await replayed(world, answer, now=True)
    assert why(found) == {Drift.PERMISSION_CHANGED}


# Against now.


async def test_nothing_moved_against_now(world: World) -> None:
    answer = await told(world)
    assert (await replayed(world, answer, now=True)).verdict is ReplayVerdict.REPRODUCED
    await world.write("sugar.md", ("# Sugar\n\nNobody asks.", None, None), source=await world.add_source("away"))
    found = await replayed(world, answer, now=True)
    assert why(found) <= {Drift.CONTENT_ADDED}


async def test_a_correction_against_now(world: World) -> None:
    answer = await told(world)
    await world.write("tea.md", (TIN.format("green"), None, None))
    found = await replayed(world, answer, now=True)
    assert Drift.CONTENT_CORRECTED in why(found)
    assert why(found) <= {Drift.CONTENT_CORRECTED, Drift.CONTENT_ADDED}
    assert (await replayed(world, answer)).verdict is ReplayVerdict.REPRODUCED


async def test_a_retraction_against_now(world: World) -> None:
    answer = await told(world)
    await world.write("tea.md")
    assert why(await replayed(world, answer, now=True)) == {Drift.CONTENT_CORRECTED}


async def test_something_new_against_now(world: World) -> None:
    answer = await told(world, top_k=1)
    await world.write("pot.md", ("# Where\n\nWhere is the tea kept? Where the tea is kept.", None, None))
    assert why(await replayed(world, answer, now=True)) == {Drift.CONTENT_ADDED}


async def test_what_was_to_end_against_now(world: World) -> None:
    past = datetime.now(UTC) - timedelta(days=10)
    await world.write("tea.md", (TIN.format("red"), None, past))
    answer = await world.ask(QUESTION, as_of=past - timedelta(days=1))
    assert answer.passages
    # The question was of a moment, and still is.
    assert (await replayed(world, answer, now=True)).verdict is ReplayVerdict.REPRODUCED


async def test_weights_against_now(world: World) -> None:
    await world.add_space("project/part", Level.SUBPROJECT, "project")
    answer = await told(world)
    defaults = world.parts.retriever.level_weights
    await set_level_weights(world.parts.database, world.principal, defaults, [(Level.PROJECT, 0.01)])
    limited = await world.ask(QUESTION, min_score=0.05)
    assert why(await replayed(world, limited, now=True)) == set()
    await set_level_weights(world.parts.database, world.principal, defaults, [])
    assert (await replayed(world, answer, now=True)).verdict is ReplayVerdict.REPRODUCED
    assert why(await replayed(world, limited, now=True)) >= {Drift.WEIGHTS_CHANGED}


async def test_a_source_removed_against_now(world: World, owner: asyncpg.Connection) -> None:
    answer = await told(world)
    await close_source(world, owner, world.source.id)
    assert why(await replayed(world, answer, now=True)) == {Drift.SOURCE_REMOVED}
    found = await replayed(world, answer)
    assert found.verdict is ReplayVerdict.REPRODUCED


async def test_an_erasure_against_now(world: World, memory: Memories) -> None:
    await memory.remember("ada likes tea", subjectId="ada")
    answer = await world.ask(QUESTION, subject_id="ada")
    await memory.forget("ada")
    found = await replayed(world, answer, QUESTION, now=True)
    assert Drift.ERASED in why(found)


async def test_a_membership_that_ended_against_now(world: World, memory: Memories) -> None:
    await memory.group("team")
    await memory.remember("ada likes tea", subjectId="ada")
    await memory.remember("the team drinks tea", groupKey="team")
    await memory.member("team", "ada")
    answer = await world.ask(QUESTION, subject_id="ada")
    assert len(answer.group_memories) == 1
    await memory.member("team", "ada", member=False)
    assert (await replayed(world, answer)).verdict is ReplayVerdict.REPRODUCED
    [reason] = (await replayed(world, answer, now=True)).reasons
    assert reason.reason is Drift.PERMISSION_CHANGED
    assert reason.items == (answer.group_memories[0].candidate.id,)
