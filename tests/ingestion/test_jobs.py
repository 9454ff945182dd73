"""Jobs: done once for any number of workers, resumed when one is killed, parked when they cannot be done."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.domain.errors import Code, MunimentError
from app.domain.principal import Permission
from app.ingestion import jobs as module
from app.ingestion.jobs import Hopeless, JobKind, JobWorker, Progress
from app.ingestion.sources import Provider, ensure_source
from app.ingestion.syncing import follow_job, list_jobs, read_job, retry_job, sync_source
from app.providers.ids import new_id
from app.storage import catalogue, jobs
from app.storage.jobs import StoredJob
from tests.fixtures.store import World, make_world

SYNC = JobKind.SYNC_SOURCE
FOREVER = datetime.max.replace(tzinfo=UTC)


class Labour:
    """Work that notes who did it, and waits, fails or goes on as it is told."""

    def __init__(self) -> None:
        self.began: list[UUID] = []
        self.ended = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.failing: Exception | None = None

    async def __call__(self, organisation: UUID, source: UUID, progress: Progress) -> Mapping[str, Any]:
        self.began.append(source)
        progress.expect(2)
        progress.advance(1)
        await self.gate.wait()
        if self.failing is not None:
            raise self.failing
        progress.advance(1)
        self.ended += 1
        return {"read": 2}


@pytest.fixture
def labour() -> Labour:
    return Labour()


@pytest.fixture
def worker(world: World, labour: Labour) -> JobWorker:
    return JobWorker(world.parts.database, {SYNC: labour})


async def add(world: World, source: UUID | None = None) -> StoredJob:
    async with world.parts.database.unstamped(world.organisation) as session:
        return await jobs.add(session, new_id(), SYNC, source or world.source.id, world.principal.id)


async def state(world: World, job: StoredJob) -> StoredJob:
    async with world.parts.database.snapshot(world.organisation) as session:
        found = await jobs.job(session, job.id)
    assert found is not None
    return found


async def overdue(owner: asyncpg.Connection, job: StoredJob) -> None:
    """As if the worker had been killed a while ago."""
    await owner.execute(
        "UPDATE jobs SET claimed_until = now() - interval '1 second', due_at = now() WHERE id = $1", job.id
    )


async def test_a_job_is_done_and_says_what_it_did(world: World, worker: JobWorker) -> None:
    job = await add(world)
    assert (job.state, job.attempts) == ("WAITING", 0)
    assert await worker.next(world.organisation)
    done = await state(world, job)
    assert (done.state, done.attempts, done.done, done.total, done.outcome) == ("DONE", 1, 2, 2, {"read": 2})
    assert done.finished_at is not None
    assert not await worker.next(world.organisation)


async def test_one_that_waits_is_asked_for_once(world: World, worker: JobWorker) -> None:
    first, second = await add(world), await add(world)
    assert first.id == second.id
    await worker.next(world.organisation)
    assert (await add(world)).id != first.id


async def test_many_workers_do_each_job_once_and_one_of_a_source_at_a_time(world: World, labour: Labour) -> None:
    sources = [uuid4() for _ in range(6)]
    found = [await add(world, source) for source in sources]
    rivals = [JobWorker(world.parts.database, {SYNC: labour}) for _ in range(4)]
    while any(await asyncio.gather(*(rival.next(world.organisation) for rival in rivals))):
        pass
    assert sorted(labour.began) == sorted(sources)
    assert {(await state(world, job)).state for job in found} == {"DONE"}


async def test_a_second_job_of_a_source_waits_for_the_first(world: World, worker: JobWorker, labour: Labour) -> None:
    labour.gate.clear()
    first = await add(world)
    running = asyncio.create_task(worker.next(world.organisation))
    while not labour.began:
        await asyncio.sleep(0.01)
    second = await add(world)
    assert second.id != first.id
    assert not await worker.next(world.organisation)
    labour.gate.set()
    await running
    assert await worker.next(world.organisation)
    assert (await state(world, second)).state == "DONE"


async def test_the_job_of_a_killed_worker_is_done_by_another(
    world: World, worker: JobWorker, labour: Labour, owner: asyncpg.Connection
) -> None:
    job = await add(world)
    async with world.parts.database.unstamped(world.organisation) as session:
        assert await jobs.claim(session, new_id()) is not None
    assert not await worker.next(world.organisation)
    await overdue(owner, job)
    assert await worker.next(world.organisation)
    assert ((await state(world, job)).state, labour.ended) == ("DONE", 1)


async def test_a_worker_that_lost_its_job_stops_and_says_nothing_of_it(
    world: World, worker: JobWorker, labour: Labour, owner: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ALIVE", 0.05)
    labour.gate.clear()
    job = await add(world)
    stalled = asyncio.create_task(worker.next(world.organisation))
    while not labour.began:
        await asyncio.sleep(0.01)
    await overdue(owner, job)
    thief = new_id()
    async with world.parts.database.unstamped(world.organisation) as session:
        taken = await jobs.claim(session, thief)
    assert taken is not None
    await stalled
    found = await state(world, job)
    assert (found.state, found.attempts, labour.ended) == ("RUNNING", 2, 0)


async def test_who_stops_in_good_order_leaves_the_job_to_the_next_at_once(
    world: World, worker: JobWorker, labour: Labour
) -> None:
    labour.gate.clear()
    job = await add(world)
    stopped = asyncio.create_task(worker.next(world.organisation))
    while not labour.began:
        await asyncio.sleep(0.01)
    stopped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopped
    labour.gate.set()
    assert await worker.next(world.organisation)
    done = await state(world, job)
    assert (done.state, done.attempts) == ("DONE", 1)


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (MunimentError(Code.NOT_FOUND, "The folder is not there."), "The folder is not there."),
        (
            ValueError("the text of a user"),
            "An unexpected failure (ValueError); the log says more.",
        ),
    ],
)
async def test_a_failure_is_tried_again_and_then_parked(
    world: World, worker: JobWorker, labour: Labour, owner: asyncpg.Connection, failure: Exception, sentence: str
) -> None:
    labour.failing = failure
    job = await add(world)
    for attempt in range(1, module.ATTEMPTS + 1):
        assert await worker.next(world.organisation)
        found = await state(world, job)
        assert (found.state, found.attempts, found.error) == (
            "PARKED" if attempt == module.ATTEMPTS else "WAITING",
            attempt,
            sentence,
        )
        # Not at once again.
        assert not await worker.next(world.organisation)
        await owner.execute("UPDATE jobs SET due_at = now() WHERE id = $1", job.id)
    assert not await worker.next(world.organisation)
    labour.failing = None
    async with world.parts.database.unstamped(world.organisation) as session:
        assert await jobs.retry(session, job.id)
        assert not await jobs.retry(session, job.id)
    assert await worker.next(world.organisation)
    assert (await state(world, job)).state == "DONE"


async def test_what_is_hopeless_is_parked_at_once(world: World, worker: JobWorker, labour: Labour) -> None:
    labour.failing = Hopeless("The source was deleted.")
    job = await add(world)
    await worker.next(world.organisation)
    found = await state(world, job)
    assert (found.state, found.attempts, found.error) == ("PARKED", 1, "The source was deleted.")


async def test_one_bad_job_stops_no_other_organisation(world: World, parts: Any, labour: Labour) -> None:
    other = await make_world(parts)
    bad, good = await add(world), await add(other)
    labour.failing = ValueError()
    worker = JobWorker(parts.database, {SYNC: labour})
    await worker.next(world.organisation)
    labour.failing = None
    await worker.next(other.organisation)
    assert (await state(world, bad)).state == "WAITING"
    assert (await state(other, good)).state == "DONE"


async def placed(world: World, folder: Path) -> None:
    async with world.parts.database.unstamped(world.organisation) as session:
        await catalogue.note_place(session, world.source.id, str(folder))


async def test_a_source_is_read_again_from_its_place(world: World, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Kettles whistle.")
    await placed(world, tmp_path)
    job = await sync_source(world.parts.database, world.principal, str(world.source.id))
    seen: list[StoredJob] = []

    async def follow() -> None:
        async for one in follow_job(world.parts.database, world.principal, str(job.id), FOREVER):
            seen.append(one)

    following = asyncio.create_task(follow())
    while not seen:
        await asyncio.sleep(0.01)
    assert await world.parts.jobs.next(world.organisation)
    await following
    assert seen[0].state == "WAITING"
    assert seen[-1].state == "DONE"
    assert seen[-1].outcome == {
        "documents": 1,
        "versions": 1,
        "chunks": 1,
        "seen": 1,
        "failed": 0,
        "failures": {},
    }
    answer = await world.ask("do kettles whistle")
    assert [item.passage.external_id for item in answer.passages] == ["a.md"]
    listed = await list_jobs(world.parts.database, world.principal, str(world.source.id), None, 10)
    assert [one.id for one in listed] == [job.id]


async def test_a_folder_that_is_not_there_is_not_an_empty_one(
    world: World, tmp_path: Path, owner: asyncpg.Connection
) -> None:
    folder = tmp_path / "mounted"
    folder.mkdir()
    (folder / "a.md").write_text("Kettles whistle.")
    await placed(world, folder)
    await sync_source(world.parts.database, world.principal, str(world.source.id))
    await world.parts.jobs.next(world.organisation)
    folder.rename(tmp_path / "unmounted")
    job = await sync_source(world.parts.database, world.principal, str(world.source.id))
    await world.parts.jobs.next(world.organisation)
    found = await read_job(world.parts.database, world.principal, str(job.id))
    assert (found.state, found.error) == ("WAITING", "The folder of the source is not there.")
    assert len((await world.ask("do kettles whistle")).passages) == 1
    (tmp_path / "unmounted").rename(folder)
    await owner.execute("UPDATE jobs SET due_at = now() WHERE id = $1", job.id)
    await world.parts.jobs.next(world.organisation)
    assert (await read_job(world.parts.database, world.principal, str(job.id))).state == "DONE"


async def test_a_place_that_cannot_be_read_is_told_of_without_its_path(world: World, tmp_path: Path) -> None:
    database = world.parts.database
    source = await ensure_source(database, world.organisation, world.project, Provider.GIT, name="gitp", kind="docs")
    async with database.unstamped(world.organisation) as session:
        await catalogue.note_place(session, source.id, str(tmp_path))
    job = await sync_source(database, world.principal, str(source.id))
    await world.parts.jobs.next(world.organisation)
    found = await read_job(database, world.principal, str(job.id))
    assert found.error == "The place is not a readable git repository."


async def test_who_may_ask_for_it_and_see_it(world: World, tmp_path: Path) -> None:
    database = world.parts.database
    reader = await world.add_person("reader", (world.project, Permission.READ))
    stranger = await world.add_person("stranger")
    source = str(world.source.id)
    for who, code in ((world.principal, Code.BAD_USER_INPUT), (reader, Code.FORBIDDEN), (stranger, Code.NOT_FOUND)):
        with pytest.raises(MunimentError) as refused:
            await sync_source(database, who, source)
        assert refused.value.code is code
    await placed(world, tmp_path)
    job = await sync_source(database, world.principal, source)
    assert (await read_job(database, reader, str(job.id))).id == job.id
    for id in (str(job.id), str(uuid4()), "nonsense"):
        with pytest.raises(MunimentError) as refused:
            await read_job(database, stranger, id)
        assert (refused.value.code, refused.value.field) == (Code.NOT_FOUND, "id")
    with pytest.raises(MunimentError) as refused:
        await retry_job(database, world.principal, str(job.id))
    assert refused.value.code is Code.CONFLICT


async def test_a_job_of_a_source_that_was_deleted_is_parked(world: World, tmp_path: Path) -> None:
    await placed(world, tmp_path)
    await sync_source(world.parts.database, world.principal, str(world.source.id))
    async with world.parts.database.write(world.organisation) as session:
        await catalogue.remove(session, world.source.id)
    await world.parts.jobs.next(world.organisation)
    async with world.parts.database.snapshot(world.organisation) as session:
        [job] = await jobs.jobs(session, world.source.id, None, 5)
    assert (job.state, job.error) == ("PARKED", "The source was deleted.")


def test_the_pause_grows() -> None:
    assert timedelta(seconds=32) == module.PAUSE * 2 ** (module.ATTEMPTS - 1)
