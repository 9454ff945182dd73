"""A git repository as a source, on the real store: valid time is what its commits say."""

import asyncio
from datetime import UTC, datetime

import numpy as np
import pygit2
import pytest

from app.domain.temporal import Period
from app.ingestion.embedding import EmbeddingWorker
from app.ingestion.sources import ingest_place
from app.providers.embedder.hashing import HashingEmbedder
from tests.ingestion.audit import TICK
from tests.ingestion.gate import Held, until
from tests.providers.test_git_history import START, commit

HOUR = 3600
GUIDE = b"# Guide\n\nRefunds are authorised by tier one agents.\n\n## Limits\n\nUp to one hundred pounds.\n"
CHANGED = GUIDE.replace(b"one hundred", b"two hundred")
PLAN = b"# Plan\n\nMove the office in May.\n"


def at(hours):
    return datetime.fromtimestamp(START + hours * HOUR, UTC)


class Recording(HashingEmbedder):
    """The real embedder; it remembers what it was asked to embed."""

    def __init__(self):
        super().__init__()
        self.texts = []

    async def embed_documents(self, texts):
        self.texts += texts
        return await super().embed_documents(texts)


@pytest.fixture
def repo(tmp_path):
    return pygit2.init_repository(str(tmp_path / "handbook"))


@pytest.fixture
def place(repo, tmp_path):
    return tmp_path / "handbook"


@pytest.fixture
def recording(world):
    embedder = Recording()
    yield embedder
    embedder.close()


async def embedded(world, recording):
    """Embed all that waits; the texts that were embedded for it."""
    recording.texts.clear()
    await EmbeddingWorker(world.parts.database, recording).drain(world.organisation)
    return sorted(recording.texts)


def only_synced(before, after):
    return {table for table in before if before[table] != after[table]} == {"source_syncs", "organisation_clocks"}


async def test_valid_time_is_commit_time(intake, repo, place):
    commit(repo, {"guide.md": GUIDE}, START)
    commit(repo, {"guide.md": CHANGED, "plan.md": PLAN}, START + HOUR)
    report = await intake.read(place)
    assert (report.documents, report.versions) == (2, 3)
    source = await intake.source(place)
    texts = {
        moment: await intake.audit.texts_at(source, moment) for moment in (at(0) - TICK, at(0), at(1) - TICK, at(1))
    }
    assert texts[at(0) - TICK] == {}
    assert texts[at(0)] == texts[at(1) - TICK] == {"guide.md": GUIDE.decode()}
    assert texts[at(1)] == {"guide.md": CHANGED.decode(), "plan.md": PLAN.decode()}


async def test_read_again_nothing_is_written_but_the_synchronisation(intake, repo, place):
    commit(repo, {"guide.md": GUIDE, "plan.md": PLAN}, START)
    commit(repo, {"guide.md": CHANGED}, START + HOUR)
    await intake.read(place)
    await intake.embed()
    before = await intake.audit.rows()
    report = await intake.read(place)
    assert (report.documents, report.versions, report.chunks) == (0, 0, 0)
    assert only_synced(before, await intake.audit.rows())


async def test_all_of_it_read_again_is_no_change_either(intake, repo, place, owner, world):
    commit(repo, {"guide.md": GUIDE, "plan.md": PLAN}, START)
    commit(repo, {"guide.md": CHANGED}, START + HOUR)
    await intake.read(place)
    await owner.execute("UPDATE source_syncs SET cursor = NULL WHERE organisation_id = $1", world.organisation)
    before = await intake.audit.rows()
    report = await intake.read(place)
    assert (report.seen, report.documents) == (2, 0)
    assert only_synced(before, await intake.audit.rows())


async def test_a_commit_that_touches_nothing_readable_is_no_change(intake, repo, place):
    commit(repo, {"guide.md": GUIDE}, START)
    await intake.read(place)
    before = await intake.audit.rows()
    commit(repo, {"guide.md": GUIDE, "logo.png": b"\x89PNG"}, START + HOUR)
    await intake.read(place)
    assert only_synced(before, await intake.audit.rows())


async def test_a_rename_keeps_the_document(intake, repo, place, world, recording):
    untitled = GUIDE.replace(b"# Guide\n\n", b"")
    commit(repo, {"old.md": untitled}, START)
    await intake.read(place)
    source = await intake.source(place)
    first = await intake.audit.told(source)
    assert await embedded(world, recording)
    commit(repo, {"docs/new.md": untitled}, START + HOUR)
    await intake.read(place)
    told = {item.name: item for item in await intake.audit.told(source)}
    assert {item.document for item in told.values()} == {first[0].document}
    assert told["old.md"].valid == Period(at(0), at(1))
    assert told["docs/new.md"].valid == Period(at(1), None)
    # Its title was its name: search sees another one now, and what is embedded carries it.
    assert {text.split("\n")[0] for text in await embedded(world, recording)} == {"new.md"}


async def test_a_rename_of_a_titled_page_embeds_nothing(intake, repo, place, world, recording):
    commit(repo, {"old.md": GUIDE}, START)
    await intake.read(place)
    source = await intake.source(place)
    await embedded(world, recording)
    before = await intake.audit.chunks(source)
    commit(repo, {"new.md": GUIDE}, START + HOUR)
    report = await intake.read(place)
    assert (report.versions, report.chunks) == (2, 0)
    assert await intake.audit.chunks(source) == before
    assert await embedded(world, recording) == []


async def test_a_deletion_retracts_from_its_commit_on(intake, repo, place):
    commit(repo, {"guide.md": GUIDE, "plan.md": PLAN}, START)
    commit(repo, {"plan.md": PLAN}, START + HOUR)
    await intake.read(place)
    source = await intake.source(place)
    assert "guide.md" in await intake.audit.texts_at(source, at(1) - TICK)
    assert await intake.audit.texts_at(source, at(1)) == {"plan.md": PLAN.decode()}


async def test_a_page_that_comes_back_is_not_embedded_again(intake, repo, place, world, recording):
    commit(repo, {"guide.md": GUIDE, "plan.md": PLAN}, START)
    commit(repo, {"plan.md": PLAN}, START + HOUR)
    await intake.read(place)
    source = await intake.source(place)
    await embedded(world, recording)
    document = {item.document for item in await intake.audit.told(source) if item.name == "guide.md"}
    commit(repo, {"guide.md": GUIDE, "plan.md": PLAN}, START + 2 * HOUR)
    report = await intake.read(place)
    assert report.chunks == 0
    assert await embedded(world, recording) == []
    again = [item for item in await intake.audit.told(source) if item.name == "guide.md"]
    assert {item.document for item in again} == document
    assert [item.valid for item in again] == [Period(at(0), at(1)), Period(at(2), None)]
    live = [chunk for chunk in (await intake.audit.chunks(source)).values() if chunk["valid_to"] is None]
    vectors = await intake.audit.vectors(source)
    assert {chunk["id"] for chunk in live} <= vectors.keys()


async def test_a_new_commit_costs_what_it_changed(intake, repo, place, world, recording):
    commit(repo, {"guide.md": GUIDE, "plan.md": PLAN}, START)
    await intake.read(place)
    source = await intake.source(place)
    assert len(await embedded(world, recording)) == 3
    chunks, vectors = await intake.audit.chunks(source), await intake.audit.vectors(source)
    commit(repo, {"guide.md": CHANGED, "plan.md": PLAN}, START + HOUR)
    report = await intake.read(place)
    assert (report.documents, report.chunks) == (1, 1)
    queued = await intake.audit.queued()
    assert await intake.audit.texts_of_chunks(queued) == {"## Limits\n\nUp to two hundred pounds.": 1}
    assert await embedded(world, recording) == ["Guide\n## Limits\n\nUp to two hundred pounds."]
    now, after = await intake.audit.chunks(source), await intake.audit.vectors(source)
    kept = chunks.keys() & now.keys()
    assert len(kept) == 2
    assert {id: now[id] for id in kept} == {id: chunks[id] for id in kept}
    assert {id: after[id] for id in kept} == {id: vectors[id] for id in kept}
    copied = now.keys() - kept - queued
    (gone,) = chunks.keys() - now.keys()
    assert [after[id] for id in copied] == [vectors[gone]]
    await intake.audit.check(source)


def amend(repo, files, at_):
    """Replace the last commit, as `git commit --amend` does."""
    last = repo.head.peel(pygit2.Commit)
    new = commit(repo, files, at_, parents=list(last.parent_ids), ref=None)
    repo.head.set_target(new)


@pytest.mark.parametrize("depth", [0, 1])
async def test_an_amended_commit_leaves_only_the_new_truth(intake, repo, place, depth):
    if depth:
        commit(repo, {"plan.md": PLAN}, START - HOUR)
    commit(repo, {"guide.md": GUIDE, "gone.md": b"# Gone\n\nNever said.\n", "plan.md": PLAN}, START)
    await intake.read(place)
    await intake.embed()
    source = await intake.source(place)
    amend(repo, {"guide.md": CHANGED, "plan.md": PLAN}, START + HOUR)
    await intake.read(place)
    first = -1 if depth else 1
    assert [(item.name, item.text, item.valid) for item in await intake.audit.told(source)] == [
        ("guide.md", CHANGED.decode(), Period(at(1), None)),
        ("plan.md", PLAN.decode(), Period(at(first), None)),
    ]
    await intake.embed()
    await intake.audit.check(source)


async def test_a_rewritten_history_converges_to_the_new_one(intake, repo, place, tmp_path):
    """A force push: another line of commits, older and newer ones, then read as if it had always been so."""
    root = commit(repo, {"guide.md": GUIDE}, START)
    commit(repo, {"guide.md": CHANGED, "plan.md": PLAN}, START + HOUR)
    commit(repo, {"guide.md": CHANGED, "plans/plan.md": PLAN}, START + 2 * HOUR)
    await intake.read(place)
    second = commit(repo, {"guide.md": CHANGED}, START + 3 * HOUR, parents=[root], ref=None)
    third = commit(repo, {"guide.md": CHANGED, "other.md": PLAN}, START + 4 * HOUR, parents=[second], ref=None)
    repo.head.set_target(third)
    await intake.read(place)
    source = await intake.source(place)
    assert [(item.name, item.valid) for item in await intake.audit.told(source)] == [
        ("guide.md", Period(at(0), at(3))),
        ("guide.md", Period(at(3), None)),
        ("other.md", Period(at(4), None)),
    ]
    # What was believed before stays readable by the system clock.
    versions = await intake.audit.fetch(
        "SELECT count(*) FILTER (WHERE system_to IS NOT NULL) FROM document_versions WHERE organisation_id = $1"
    )
    assert versions[0][0] == 4


async def test_two_readers_at_once(intake, repo, place):
    files = {}
    for number in range(4):
        for page in range(40):
            files[f"{page}.md"] = b"# Page %d\n\nRevision %d.\n\n## Same\n\nAlways.\n" % (page, number)
        commit(repo, files, START + number * HOUR)
    reports = await asyncio.gather(*(intake.read_unchecked(place) for _ in range(3)))
    source = await intake.source(place)
    await intake.audit.check(source)
    assert sum(report.documents for report in reports) == 40
    told = await intake.audit.told(source)
    assert len(told) == 160
    assert len({item.document for item in told}) == 40
    # Who came last is not known, so all is read once more, and nothing has to be written.
    before = await intake.audit.rows()
    assert (await intake.read(place)).documents == 0
    assert only_synced(before, await intake.audit.rows())


@pytest.mark.parametrize("recorded_last", [False, True])
async def test_an_old_reader_that_writes_last_does_not_hide_the_new_commit(intake, repo, place, world, recorded_last):
    """One reads the old head and writes after another has written the new one: the next reading mends it."""
    old = commit(repo, {"guide.md": GUIDE}, START)
    new = commit(repo, {"guide.md": CHANGED}, START + HOUR)
    source = await intake.source(place)

    def read(head, gated):
        repo.head.set_target(head)
        held = Held(world.parts.database, gated)
        ingested = ingest_place(held, world.organisation, source, place, world.parts.preparer, embed=True)
        return held, asyncio.create_task(ingested)

    late, late_task = read(old, 1)
    await until(late.reached, late_task)
    # Its documents are written first, then that it was here.
    recent, recent_task = read(new, 2 if recorded_last else None)
    await (until(recent.reached, recent_task) if recorded_last else recent_task)
    late.gate.set()
    await late_task
    assert (await intake.audit.texts_at(source, at(2)))["guide.md"] == GUIDE.decode()
    recent.gate.set()
    await recent_task
    await intake.read(place)
    assert (await intake.audit.texts_at(source, at(2)))["guide.md"] == CHANGED.decode()


async def test_embeddings_are_those_of_the_texts(intake, repo, place, world):
    commit(repo, {"guide.md": GUIDE}, START)
    commit(repo, {"guide.md": CHANGED}, START + HOUR)
    await intake.read(place)
    await intake.embed()
    rows = await intake.audit.fetch(
        "SELECT t.text, e.vector::text AS vector FROM embeddings e JOIN chunks c USING (organisation_id) "
        "JOIN texts t ON t.organisation_id = c.organisation_id AND t.sha256 = c.text_sha256 "
        "WHERE e.organisation_id = $1 AND e.chunk_id = c.id"
    )
    embedder = world.parts.retriever.embedder
    assert len(rows) == 3
    for row in rows:
        (expected,) = embedder.embed([f"Guide\n{row['text']}"])
        stored = np.array([float(part) for part in row["vector"].strip("[]").split(",")])
        np.testing.assert_allclose(stored, expected, atol=1e-3)
