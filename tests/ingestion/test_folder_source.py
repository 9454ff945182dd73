"""A folder as a source, on the real store."""

import asyncio
import os
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.errors import Code, MunimentError
from app.ingestion.folder_source import folder_drafts
from app.ingestion.report import Report
from app.ingestion.runner import BATCH, Ingestion
from app.ingestion.sources import ingest_place
from app.providers.folder import MAX_FILE_BYTES
from app.storage import catalogue
from tests.ingestion.audit import TICK
from tests.ingestion.gate import Held, until

WRITTEN = datetime(2026, 2, 1, 9, 30, 0, 123456, tzinfo=UTC)
LATER = WRITTEN + timedelta(days=1)

GUIDE = "# Guide\n\nRefunds are authorised by tier one agents.\n\n## Limits\n\nUp to one hundred pounds.\n"
CHANGED = GUIDE.replace("one hundred", "two hundred")


def put(folder, name, text, at=WRITTEN):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    moment = int(at.timestamp()) * 1_000_000_000 + at.microsecond * 1000
    os.utime(path, ns=(moment, moment))


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "handbook"
    place.mkdir()
    put(place, "guide.md", GUIDE)
    put(place, "notes/plan.txt", "Move the office in May.\n")
    return place


async def test_a_file_holds_since_it_was_written(intake, folder):
    report = await intake.read(folder)
    assert (report.seen, report.documents, report.versions, report.failures) == (2, 2, 2, {})
    source = await intake.source(folder)
    assert await intake.audit.texts_at(source, WRITTEN - TICK) == {}
    now = await intake.audit.texts_at(source, WRITTEN)
    assert now == {"guide.md": GUIDE, "notes/plan.txt": "Move the office in May.\n"}


async def test_read_again_nothing_is_written_but_the_synchronisation(intake, folder):
    await intake.read(folder)
    await intake.embed()
    before = await intake.audit.rows()
    report = await intake.read(folder)
    assert (report.documents, report.versions, report.chunks, report.seen) == (0, 0, 0, 2)
    after = await intake.audit.rows()
    touched = {table for table in before if before[table] != after[table]}
    assert touched == {"source_syncs", "organisation_clocks"}
    assert len(after["source_syncs"]) == len(before["source_syncs"]) + 1
    assert before["source_syncs"] < after["source_syncs"]


async def test_a_touched_file_with_the_same_bytes_is_no_change(intake, folder):
    await intake.read(folder)
    before = await intake.audit.rows()
    put(folder, "guide.md", GUIDE, LATER)
    await intake.read(folder)
    after = await intake.audit.rows()
    assert {table for table in before if before[table] != after[table]} == {"source_syncs", "organisation_clocks"}


async def test_a_new_file_leaves_the_others_alone(intake, folder):
    await intake.read(folder)
    source = await intake.source(folder)
    before = await intake.audit.chunks(source)
    put(folder, "new.md", "# New\n\nSomething else.\n", LATER)
    report = await intake.read(folder)
    assert report.documents == 1
    after = await intake.audit.chunks(source)
    assert before.items() <= after.items()
    assert {chunk["document_id"] for chunk in before.values()} < {chunk["document_id"] for chunk in after.values()}


async def test_a_changed_file_keeps_its_unchanged_chunks_and_their_embeddings(intake, folder):
    await intake.read(folder)
    await intake.embed()
    source = await intake.source(folder)
    chunks, vectors = await intake.audit.chunks(source), await intake.audit.vectors(source)
    put(folder, "guide.md", CHANGED, LATER)
    report = await intake.read(folder)
    assert (report.documents, report.chunks) == (1, 1)
    now = await intake.audit.chunks(source)
    # The slice that stayed keeps its row; the one that went is copied for the time until it went.
    new = await intake.audit.queued()
    assert await intake.audit.texts_of_chunks(new) == {"## Limits\n\nUp to two hundred pounds.": 1}
    assert {now[id]["valid_from"] for id in new} == {LATER}
    kept = {id for id in chunks if id in now}
    assert len(kept) == len(chunks) - 1
    copied = set(now) - kept - new
    assert [(now[id]["valid_from"], now[id]["valid_to"]) for id in copied] == [(WRITTEN, LATER)]
    after = await intake.audit.vectors(source)
    assert {id: after[id] for id in kept} == {id: vectors[id] for id in kept}
    assert [after[id] for id in copied] == [vectors[id] for id in chunks if id not in kept]
    assert (await intake.audit.texts_at(source, LATER - TICK))["guide.md"] == GUIDE
    assert (await intake.audit.texts_at(source, LATER))["guide.md"] == CHANGED
    assert await intake.embed() == 1


async def test_a_deleted_file_holds_no_longer_and_its_past_stays(intake, folder):
    await intake.read(folder)
    source = await intake.source(folder)
    before = datetime.now(UTC)
    (folder / "guide.md").unlink()
    report = await intake.read(folder)
    assert (report.documents, report.chunks) == (1, 0)
    ends = [item.valid.end for item in await intake.audit.told(source) if item.name == "guide.md"]
    assert len(ends) == 1
    assert before <= ends[0] <= datetime.now(UTC)
    assert "guide.md" in await intake.audit.texts_at(source, ends[0] - TICK)
    assert "guide.md" not in await intake.audit.texts_at(source, ends[0])
    # Gone is gone: the end does not move when the folder is read once more.
    assert (await intake.read(folder)).documents == 0


async def test_a_file_that_comes_back_is_the_same_document_with_its_embeddings(intake, folder):
    await intake.read(folder)
    await intake.embed()
    source = await intake.source(folder)
    first = {item.name: item.document for item in await intake.audit.told(source)}
    (folder / "guide.md").unlink()
    await intake.read(folder)
    back = datetime.now(UTC)
    put(folder, "guide.md", GUIDE, back)
    report = await intake.read(folder)
    assert (report.documents, report.chunks) == (1, 0)
    assert {item.name: item.document for item in await intake.audit.told(source)} == first
    periods = [item.valid for item in await intake.audit.told(source) if item.name == "guide.md"]
    assert len(periods) == 2
    assert periods[1].start == back
    assert periods[1].end is None
    assert await intake.audit.queued() == set()


async def test_an_old_file_put_back_takes_nothing_from_history(intake, folder):
    """It says when it was written, but not that it stood here all the time."""
    await intake.read(folder)
    put(folder, "guide.md", CHANGED, LATER)
    await intake.read(folder)
    source = await intake.source(folder)
    before = datetime.now(UTC)
    put(folder, "guide.md", GUIDE, WRITTEN - timedelta(days=1))
    await intake.read(folder)
    told = [item for item in await intake.audit.told(source) if item.name == "guide.md"]
    assert [item.text for item in told] == [GUIDE, CHANGED, GUIDE]
    assert told[1].valid.start == LATER
    assert told[1].valid.end == told[2].valid.start
    assert before <= told[2].valid.start <= datetime.now(UTC)


async def test_a_file_moved_away_and_back_was_away(intake, folder):
    await intake.read(folder)
    (folder / "guide.md").rename(folder.parent / "guide.md")
    await intake.read(folder)
    (folder.parent / "guide.md").rename(folder / "guide.md")
    await intake.read(folder)
    source = await intake.source(folder)
    told = [item for item in await intake.audit.told(source) if item.name == "guide.md"]
    assert len(told) == 2
    assert told[0].valid.start == WRITTEN
    assert told[0].valid.end < told[1].valid.start


async def test_an_end_that_somebody_set_survives_reading_the_same_file(intake, folder, world):
    await intake.read(folder)
    source = await intake.source(folder)
    end = datetime.now(UTC) + timedelta(days=300)
    await world.write("guide.md", (GUIDE, WRITTEN, end), source=source)
    assert (await intake.read(folder)).documents == 0
    assert [item.valid.end for item in await intake.audit.told(source) if item.name == "guide.md"] == [end]


async def test_a_correction_made_while_a_file_is_read_is_not_undone(intake, folder, world):
    await intake.read(folder)
    source = await intake.source(folder)
    put(folder, "guide.md", CHANGED, LATER)
    held = Held(world.parts.database)
    late = asyncio.create_task(ingest_place(held, world.organisation, source, folder, world.parts.preparer, embed=True))
    await until(held.reached, late)
    ninety, earlier = GUIDE.replace("one hundred", "ninety"), WRITTEN - timedelta(days=1)
    await world.write("guide.md", (ninety, earlier, WRITTEN), (GUIDE, WRITTEN, None), source=source)
    held.gate.set()
    await late
    told = [(item.text, item.valid.start) for item in await intake.audit.told(source) if item.name == "guide.md"]
    assert told == [(ninety, earlier), (GUIDE, WRITTEN), (CHANGED, LATER)]
    await intake.audit.check(source)


async def test_a_renamed_file_ends_and_another_begins(intake, folder):
    """A folder does not say what was renamed; the texts are stored once all the same."""
    await intake.read(folder)
    source = await intake.source(folder)
    (folder / "guide.md").rename(folder / "manual.md")
    report = await intake.read(folder)
    assert report.documents == 2
    told = {item.name: item for item in await intake.audit.told(source)}
    assert told["guide.md"].valid.end is not None
    assert told["manual.md"].valid == type(told["manual.md"].valid)(WRITTEN, None)
    assert told["manual.md"].text == told["guide.md"].text
    assert told["manual.md"].document != told["guide.md"].document


async def test_the_same_bytes_under_two_names_are_two_documents(intake, folder):
    put(folder, "copy.md", GUIDE)
    await intake.read(folder)
    source = await intake.source(folder)
    told = [item for item in await intake.audit.told(source) if item.text == GUIDE]
    assert [item.name for item in told] == ["copy.md", "guide.md"]
    assert told[0].document != told[1].document


async def test_two_equal_paragraphs_in_one_file_are_both_kept(intake, folder):
    again = "# One\n\nThe same words.\n\n# Two\n\nOther words.\n\n# One\n\nThe same words.\n"
    put(folder, "twice.md", again)
    await intake.read(folder)
    source = await intake.source(folder)
    chunks = await intake.audit.chunks(source)
    texts = await intake.audit.texts_of_chunks(chunks)
    assert texts["# One\n\nThe same words."] == 2
    # One of the two goes: one stays, with its row.
    put(folder, "twice.md", "# One\n\nThe same words.\n\n# Two\n\nOther words.\n", LATER)
    report = await intake.read(folder)
    assert report.chunks == 0
    now = await intake.audit.chunks(source)
    current = {id: chunk for id, chunk in now.items() if chunk["valid_to"] is None}
    assert (await intake.audit.texts_of_chunks(current))["# One\n\nThe same words."] == 1
    assert current.keys() <= chunks.keys()


BINARY = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
BROKEN = {"nul.txt": b"before\x00after\n", "latin.txt": b"caf\xe9\n", "binary.txt": BINARY, "picture.md": bytes(9000)}


async def test_one_bad_file_is_told_in_one_line_and_stops_nothing(intake, folder):
    for name, data in BROKEN.items():
        put(folder, name, data)
    os.mkfifo(folder / "pipe.md")
    put(folder, "huge.md", b"x" * (MAX_FILE_BYTES + 1))
    report = await intake.read(folder)
    assert sorted(report.failures) == ["binary.txt", "huge.md"]
    assert sorted(report.repairs) == ["latin.txt", "nul.txt", "picture.md"]
    for line in (*report.failures.values(), *report.repairs.values()):
        assert line.strip()
        assert len(line.splitlines()) == 1
    source = await intake.source(folder)
    told = {item.name: item.text for item in await intake.audit.told(source)}
    assert told["guide.md"] == GUIDE
    assert told["nul.txt"] == "beforeafter\n"
    assert told["latin.txt"] == "café\n"
    assert not told.keys() & {"binary.txt", "huge.md", "pipe.md"}


async def test_a_file_that_can_no_longer_be_read_stays_believed(intake, folder):
    await intake.read(folder)
    source = await intake.source(folder)
    put(folder, "guide.md", BINARY, LATER)
    report = await intake.read(folder)
    assert list(report.failures) == ["guide.md"]
    assert (await intake.audit.texts_at(source, LATER + TICK))["guide.md"] == GUIDE


def test_what_lies_in_a_folder_that_cannot_be_read_is_not_gone(folder):
    put(folder, "notes/deep/far.md", "Far.\n")
    report = Report()
    known = ["guide.md", "gone.md", "notes/plan.txt", "notes/deep/far.md", "notes.md"]
    drafts = folder_drafts(folder, known, LATER, report)
    assert next(drafts).external_key == "guide.md"
    (folder / "notes").rename(folder.parent / "elsewhere")
    rest = [(draft.external_key, draft.read_at, draft.revisions) for draft in drafts]
    assert rest == [("gone.md", LATER, ()), ("notes.md", LATER, ())]
    assert list(report.failures) == ["notes"]


async def test_twice_at_once_is_once(intake, folder):
    for number in range(150):
        put(folder, f"pages/{number}.md", f"# Page {number}\n\nIt says {number}.\n")
    reports = await asyncio.gather(*(intake.read_unchecked(folder) for _ in range(4)))
    assert [report.failures for report in reports] == [{}] * 4
    source = await intake.source(folder)
    await intake.audit.check(source)
    told = await intake.audit.told(source)
    assert len(told) == len({item.name for item in told}) == len({item.document for item in told}) == 152
    assert sum(report.documents for report in reports) == 152


async def test_changes_and_deletions_twice_at_once(intake, folder):
    for number in range(150):
        put(folder, f"pages/{number}.md", f"# Page {number}\n\nIt says {number}.\n\n## Same\n\nAlways.\n")
    await intake.read(folder)
    source = await intake.source(folder)
    for number in range(0, 150, 3):
        (folder / f"pages/{number}.md").unlink()
    for number in range(1, 150, 3):
        put(folder, f"pages/{number}.md", f"# Page {number}\n\nIt says more.\n\n## Same\n\nAlways.\n", LATER)
    reports = await asyncio.gather(*(intake.read_unchecked(folder) for _ in range(3)))
    assert [report.failures for report in reports] == [{}] * 3
    await intake.audit.check(source)
    now = await intake.audit.texts_at(source, datetime.now(UTC))
    assert len(now) == 102
    assert sum("more" in text for text in now.values()) == 50
    before = await intake.audit.rows()
    await intake.read(folder)
    after = await intake.audit.rows()
    assert {table for table in before if before[table] != after[table]} == {"source_syncs", "organisation_clocks"}


async def test_a_version_in_the_middle_of_history(world, intake, instant):
    """A correction of the past: what lies before and after it stays as it is."""
    first, last = instant, instant + timedelta(days=10)
    await world.write("page.md", (GUIDE, first, last), (CHANGED, last, None))
    await world.settle()
    chunks = await intake.audit.chunks(world.source)
    vectors = await intake.audit.vectors(world.source)
    middle = [instant + timedelta(days=days) for days in (3, 5)]
    between = GUIDE.replace("one hundred", "ninety")
    await world.write(
        "page.md",
        (GUIDE, first, middle[0]),
        (between, *middle),
        (GUIDE, middle[1], last),
        (CHANGED, last, None),
    )
    await intake.audit.check(world.source)
    now = await intake.audit.chunks(world.source)
    new = await intake.audit.queued()
    assert await intake.audit.texts_of_chunks(new) == {"## Limits\n\nUp to ninety pounds.": 1}
    copied = set(now) - set(chunks) - new
    assert {(now[id]["valid_from"], now[id]["valid_to"]) for id in copied} == {(first, middle[0]), (middle[1], last)}
    after = await intake.audit.vectors(world.source)
    gone = {vectors[id] for id in chunks if id not in now}
    assert {after[id] for id in copied} == gone
    assert len(gone) == 1


async def test_what_goes_wrong_in_one_batch_is_told_as_it_is(intake, folder):
    """While one batch is written the next is prepared already."""
    for number in range(3 * BATCH):
        (folder / f"{number}.md").write_text(f"Text {number}.")
    source = await intake.source(folder)
    async with intake.world.parts.database.write(intake.world.organisation) as session:
        await catalogue.remove(session, source.id)
    run = Ingestion(intake.world.parts.database, intake.world.organisation, source, intake.world.parts.preparer, True)
    drafts = list(folder_drafts(folder, [], datetime.now(UTC), Report()))
    with pytest.raises(MunimentError) as refused:
        await run.run(drafts, Report())
    assert refused.value.code is Code.NOT_FOUND
