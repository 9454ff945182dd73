"""What was corrected by hand stays until the source itself says something new; what it said first stays readable."""

from datetime import timedelta

import pygit2
import pytest
from sqlalchemy import text

from app.domain.temporal import Period
from app.ingestion.prepare import Preparer
from tests.ingestion.audit import TICK
from tests.ingestion.test_folder_source import CHANGED, GUIDE, LATER, WRITTEN, folder, put
from tests.ingestion.test_git_source import HOUR, at
from tests.providers.test_git_history import START, commit

__all__ = ["folder"]

CORRECTED = GUIDE.replace("tier one", "tier two")


async def document(intake, source):
    async with intake.world.parts.database.snapshot(intake.world.organisation) as session:
        return str(
            await session.value(
                text("SELECT id FROM documents WHERE source_id = :source ORDER BY external_key"),
                {"source": source.id},
            )
        )


async def correct(intake, source, words, period=None):
    editor, principal = intake.world.parts.editor, intake.world.principal
    id = await document(intake, source)
    await editor.correct(principal, id, words, *([period] if period else []))


async def texts(intake, source, when):
    return (await intake.audit.texts_at(source, when)).get("guide.md")


async def test_reading_a_folder_again_does_not_undo_a_correction(intake, folder):
    await intake.read(folder)
    source = await intake.source(folder)
    await correct(intake, source, CORRECTED)
    before = await intake.audit.rows()
    report = await intake.read(folder)
    assert (report.documents, report.versions) == (0, 0)
    after = await intake.audit.rows()
    assert {table for table in before if before[table] != after[table]} == {"source_syncs", "organisation_clocks"}
    assert await texts(intake, source, WRITTEN) == CORRECTED


async def test_what_the_source_says_next_is_believed_from_then_on(intake, folder):
    await intake.read(folder)
    source = await intake.source(folder)
    await correct(intake, source, CORRECTED)
    put(folder, "guide.md", CHANGED, LATER)
    await intake.read(folder)
    assert await texts(intake, source, LATER - TICK) == CORRECTED
    assert await texts(intake, source, LATER) == CHANGED


@pytest.fixture
def place(tmp_path):
    return tmp_path / "handbook"


@pytest.mark.parametrize("part", [None, Period(at(1), at(2)), Period(None, at(1)), Period(at(1), None)])
async def test_a_history_read_again_keeps_what_was_corrected_of_it(intake, place, part):
    repo = pygit2.init_repository(str(place))
    commit(repo, {"guide.md": GUIDE.encode()}, START)
    await intake.read(place)
    source = await intake.source(place)
    await correct(intake, source, CORRECTED, part)
    told = [await texts(intake, source, at(hours)) for hours in range(4)]
    assert CORRECTED in told
    report = await intake.read(place)
    assert (report.documents, report.versions) == (0, 0)
    commit(repo, {"guide.md": CHANGED.encode()}, START + 3 * HOUR)
    await intake.read(place)
    again = [await texts(intake, source, at(hours)) for hours in range(4)]
    assert again == [*told[:3], CHANGED]
    assert await texts(intake, source, at(3) + timedelta(days=9)) == CHANGED


async def test_the_same_bytes_at_another_time_are_not_corrected_with_it(intake, place):
    repo = pygit2.init_repository(str(place))
    commit(repo, {"guide.md": GUIDE.encode()}, START)
    await intake.read(place)
    source = await intake.source(place)
    await correct(intake, source, CORRECTED, Period(at(0), at(1)))
    commit(repo, {"guide.md": CHANGED.encode()}, START + 2 * HOUR)
    commit(repo, {"guide.md": GUIDE.encode()}, START + 3 * HOUR)
    await intake.read(place)
    told = [await texts(intake, source, at(hours)) for hours in range(4)]
    assert told == [CORRECTED, GUIDE, CHANGED, GUIDE]


async def test_a_text_is_prepared_once_however_many_portions_it_corrects(intake, folder, monkeypatch):
    await intake.read(folder)
    source = await intake.source(folder)
    for hours in range(1, 5):
        start = WRITTEN + timedelta(hours=hours)
        await correct(intake, source, f"{GUIDE}\n{hours}\n", Period(start, start + timedelta(minutes=1)))
    prepare, names = Preparer.content, []

    def counted(self, name, *rest):
        names.append(name)
        return prepare(self, name, *rest)

    monkeypatch.setattr(Preparer, "content", counted)
    await correct(intake, source, CORRECTED)
    assert names == ["guide.md"]
    assert await texts(intake, source, WRITTEN + timedelta(hours=2)) == CORRECTED
    assert await texts(intake, source, LATER) == CORRECTED
