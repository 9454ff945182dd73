"""Facts that move in with their own system times."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.assembly.services import Services
from app.domain.errors import Code, MunimentError
from app.domain.instant import format_instant
from app.domain.principal import Principal, principal_id
from app.domain.temporal import ALWAYS, Period
from app.history.importing import HistoryImport
from app.history.lines import FactKind, Line, Verb
from app.history.rectangles import history
from app.identity.development import SUBJECT
from app.ingestion.editing import read_document
from app.memory.reading import list_memories, read_memory
from app.memory.resolve import Named
from app.memory.revision import Changes
from app.retrieval.request import make_request
from app.settings import Settings
from tests.fixtures.server import LiveServer

PERSON = "mover"
TICK = timedelta(microseconds=1)


def day(number: int) -> datetime:
    return datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=number)


def line(system: int, verb: Verb, fact: str = "a", period: Period = ALWAYS, **value: Any) -> Line:
    kind = FactKind(value.pop("kind", "memory"))
    return Line(kind, fact, verb, day(system), period, value)


class Mover:
    """An import, and its organisation read by the one who made it."""

    def __init__(self, parts: Services, organisation: UUID | None = None) -> None:
        self.parts = parts
        self.organisation = organisation or uuid4()
        self.run = self.importer().run
        self.principal = Principal(self.organisation, principal_id(self.organisation, "person", PERSON), PERSON)

    def importer(self) -> HistoryImport:
        self.last = HistoryImport(
            self.parts.database, self.parts.preparer, self.parts.memory.reviser, self.organisation, PERSON, embed=True
        )
        return self.last

    def id(self, fact: str = "a", kind: FactKind = FactKind.MEMORY) -> str:
        return str(self.last.result.facts[kind, fact])

    async def text(self, valid_at: int, known_at: int | None, fact: str = "a") -> str | None:
        known = None if known_at is None else day(known_at)
        found = await read_memory(self.parts.database, self.principal, self.id(fact), day(valid_at), known)
        return None if found is None else found.facts.text

    async def document(self, valid_at: int, known_at: int | None, name: str) -> str | None:
        known = None if known_at is None else day(known_at)
        id = self.id(name, FactKind.DOCUMENT)
        found = await read_document(self.parts.database, self.principal, id, day(valid_at), known)
        return None if found is None else found.text


@pytest.fixture
def mover(parts: Services) -> Mover:
    return Mover(parts)


async def test_memories_move_in_with_both_their_clocks(mover: Mover) -> None:
    done = await mover.run(
        [
            line(10, Verb.ASSERT, text="Tea.", subject="ann", importance=0.25, tags=["x"], period=Period(day(0), None)),
            line(20, Verb.UPDATE, text="Coffee.", period=Period(day(5), day(7))),
            line(30, Verb.RETRACT, period=Period(day(100), None)),
        ]
    )
    assert (done.operations, list(done.facts)) == (3, [(FactKind.MEMORY, "a")])
    assert [await mover.text(6, known_at) for known_at in (9, 10, 19, 20, None)] == [
        None,
        "Tea.",
        "Tea.",
        "Coffee.",
        "Coffee.",
    ]
    assert [await mover.text(100, known_at) for known_at in (10, 29, 30)] == ["Tea.", "Tea.", None]
    rows = await history(mover.parts.database, mover.principal, mover.id())
    assert {row.system.start for row in rows} == {day(10), day(20), day(30)}
    [listed] = await list_memories(
        mover.parts.database, mover.principal, Named(subject_id="ann"), day(0), day(15), limit=5
    )
    assert (listed.facts.text, listed.facts.importance, listed.facts.tags) == ("Tea.", 0.25, ("x",))
    assert listed.facts.transform_type == "ingest"


async def test_documents_move_in_and_are_found_as_of_then(mover: Mover) -> None:
    await mover.run(
        [
            line(10, Verb.ASSERT, "g.md", kind="document", text="# Guide\n\nRefunds take five days.", tags=["v1"]),
            line(20, Verb.ASSERT, "g.md", kind="document", text="# Guide\n\nRefunds take nine days.", url="https://x"),
            line(30, Verb.RETRACT, "g.md", kind="document", period=Period(day(25), None)),
        ]
    )
    assert "five" in (await mover.document(15, 15, "g.md") or "")
    assert "nine" in (await mover.document(15, 25, "g.md") or "")
    assert await mover.document(25, 30, "g.md") is None
    assert "nine" in (await mover.document(24, 30, "g.md") or "")
    assert mover.parts.embedding is not None
    await mover.parts.embedding.drain(mover.organisation)

    async def asked(known_at: int | None, valid_at: int) -> list[str]:
        request = make_request(
            mover.principal,
            query="how long do refunds take",
            as_of=day(valid_at),
            known_at=None if known_at is None else day(known_at),
        )
        return [item.passage.text.split()[-2] for item in (await mover.parts.retriever.retrieve(request)).passages]

    assert await asked(15, 15) == ["five"]
    assert await asked(25, 15) == ["nine"]
    assert await asked(None, 24) == ["nine"]
    assert await asked(None, 26) == []


async def test_what_shares_an_instant_becomes_visible_together(mover: Mover) -> None:
    await mover.run(
        [
            line(10, Verb.ASSERT, text="One."),
            line(10, Verb.RETRACT, period=Period(day(5), day(6))),
            line(10, Verb.ASSERT, "b", text="Other."),
            line(10, Verb.ASSERT, "d.txt", kind="document", text="Draft."),
            line(10, Verb.ASSERT, "d.txt", kind="document", text="Final."),
            line(10, Verb.UPDATE, text="Two.", period=Period(day(7), None)),
        ]
    )
    assert [await mover.text(at, 10) for at in (4, 5, 6, 7)] == ["One.", None, "One.", "Two."]
    assert [row.system for row in await history(mover.parts.database, mover.principal, mover.id())] == [
        Period(day(10), None)
    ] * 3
    assert await mover.document(0, 10, "d.txt") == "Final."
    document = mover.id("d.txt", FactKind.DOCUMENT)
    assert len(await history(mover.parts.database, mover.principal, document)) == 1
    assert await mover.text(4, 9) is await mover.text(4, 9, "b") is None


async def test_what_is_erased_is_gone_from_every_clock(mover: Mover, owner: asyncpg.Connection) -> None:
    await mover.run(
        [
            line(10, Verb.ASSERT, text="A secret that must go."),
            line(20, Verb.UPDATE, text="Something else.", period=Period(day(5), None)),
            line(30, Verb.ERASE, period=Period(None, day(5))),
        ]
    )
    assert [await mover.text(0, known_at) for known_at in (10, 20, 30)] == [None, None, None]
    assert [await mover.text(5, known_at) for known_at in (10, 20, 30)] == [
        "A secret that must go.",
        "Something else.",
        "Something else.",
    ]
    await mover.run([line(40, Verb.ERASE), line(50, Verb.ASSERT, text="Anew.")])
    assert [await mover.text(5, known_at) for known_at in (10, 20, 40, 50)] == [None, None, None, "Anew."]
    texts = await owner.fetch("SELECT text FROM memory_versions WHERE organisation_id = $1", mover.organisation)
    assert [row["text"] for row in texts] == ["Anew."]


async def test_a_document_is_not_erased_by_an_import(mover: Mover) -> None:
    with pytest.raises(MunimentError, match="cannot be erased"):
        await mover.run(
            [
                line(10, Verb.ASSERT, "d.txt", kind="document", text="Draft."),
                line(20, Verb.ERASE, "d.txt", kind="document"),
            ]
        )


async def test_only_into_an_organisation_that_is_new(mover: Mover) -> None:
    await mover.run([line(10, Verb.ASSERT, text="Tea.")])
    again = Mover(mover.parts, mover.organisation)
    with pytest.raises(MunimentError) as refused:
        await again.run([line(20, Verb.ASSERT, text="Other.")])
    assert (refused.value.code, refused.value.field) == (Code.CONFLICT, "organisation")
    assert await mover.text(0, None) == "Tea."
    assert await list_memories(mover.parts.database, mover.principal, Named(), day(0), None, limit=9) != []


async def test_system_time_only_moves_on(mover: Mover) -> None:
    with pytest.raises(MunimentError, match="backwards"):
        await mover.run([line(20, Verb.ASSERT, text="Tea."), line(10, Verb.ASSERT, text="Coffee.")])
    other = Mover(mover.parts)
    await other.run([line(10, Verb.ASSERT, text="Tea.")])
    for system in (10, 9):
        with pytest.raises(MunimentError) as refused:
            await other.run([line(system, Verb.UPDATE, text="Coffee.")])
        assert refused.value.code is Code.CONFLICT
    await other.run([line(11, Verb.UPDATE, text="Coffee.")])
    assert [await other.text(0, known_at) for known_at in (10, 11)] == ["Tea.", "Coffee."]


async def test_after_the_move_life_goes_on(mover: Mover) -> None:
    """The clock goes on from the last instant of the import, and what was moved in is like anything else."""
    await mover.run([line(10, Verb.ASSERT, text="Tea.", subject="ann")])
    changed = await mover.parts.memory.correct(mover.principal, mover.id(), Changes(text="Coffee."))
    assert changed.system_from > datetime.now(UTC) - timedelta(minutes=1)
    assert [await mover.text(0, known_at) for known_at in (10, None)] == ["Tea.", "Coffee."]
    request = make_request(mover.principal, query="tea", subject_id="ann", known_at=day(10))
    [item] = (await mover.parts.retriever.retrieve(request)).memories
    assert item.text.text == "Tea."


async def test_a_future_clock_is_the_clock(mover: Mover) -> None:
    """Facts recorded by a clock that ran ahead: nothing is stamped before them."""
    ahead = datetime.now(UTC) + timedelta(days=30)
    future = Line(FactKind.MEMORY, "a", Verb.ASSERT, ahead, ALWAYS, {"text": "Tea."})
    await mover.run([future])
    changed = await mover.parts.memory.correct(mover.principal, mover.id(), Changes(text="Coffee."))
    assert changed.system_from == ahead + TICK


# The command.


@pytest.fixture
def command(parts: Services, settings: Settings) -> LiveServer:
    """`muniment …` on the suite's database."""
    return LiveServer(settings.home)


def record(system: int, op: str = "assert", **more: Any) -> dict[str, Any]:
    return {"fact": "a", "op": op, "system": format_instant(day(system)), "text": "Tea.", **more}


async def test_the_command_imports_a_file(parts: Services, command: LiveServer, tmp_path: Path) -> None:
    file, organisation = tmp_path / "facts.jsonl", uuid4()
    page = record(20, kind="document", fact="g.md", text="# Guide")
    records = [record(10), record(10, fact="b", subject="ann"), record(20, "retract", text=None), page]
    file.write_text("\n".join(json.dumps(item) for item in records) + "\n\n", "utf-8")
    done = command.run("import-history", str(file), "--organisation", str(organisation))
    assert (done.returncode, done.stdout) == (0, "4 operations on 3 facts imported.\n"), done.stderr
    principal = Principal(organisation, principal_id(organisation, "person", SUBJECT), SUBJECT)
    [kept] = await list_memories(parts.database, principal, Named(subject_id="ann"), day(0), None, limit=9)
    assert kept.system_from == day(10)
    again = command.run("import-history", str(file), "--organisation", str(organisation))
    assert again.returncode == 1
    assert "new organisation only" in again.stderr


async def test_a_file_with_a_fault_writes_nothing(
    owner: asyncpg.Connection, command: LiveServer, tmp_path: Path
) -> None:
    file, organisation = tmp_path / "facts.jsonl", uuid4()
    for fault, said in (
        (record(20, importance=7), "line 4: must lie between 0 and 1"),
        (record(5), "line 4: system times must not run backwards"),
    ):
        records = [record(10), record(11, "update", text="Coffee."), record(12), fault]
        file.write_text("\n".join(json.dumps(item) for item in records), "utf-8")
        done = command.run("import-history", str(file), "--organisation", str(organisation))
        assert done.returncode == 1
        assert f"muniment: {said}" in done.stderr
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
    assert not await owner.fetchval(
        "SELECT EXISTS (SELECT FROM organisations WHERE organisation_id = $1)", organisation
    )
