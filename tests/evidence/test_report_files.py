"""Reports as files: a table that no spreadsheet computes, lines from which everything can be computed again."""

import csv
import hashlib
import io
import json
import tracemalloc
from datetime import timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.canonical import canonical
from app.domain.chain import Entry, mac
from app.domain.errors import Code, MunimentError
from app.domain.evidence_tree import leaf
from app.domain.principal import Level
from app.evidence import report_files
from app.evidence.report_files import HEADER, ReportFormat, defused, report
from app.evidence.reports import NO_FILTER, Filter
from app.providers.ids import new_id
from app.storage import queue, tenancy
from tests.evidence.support import chain_of, enqueue, make_event
from tests.evidence.test_reports import START
from tests.evidence.test_verification import filled

EVIL = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
    "＝1",
    "\u00a0=1",
    '=HYPERLINK("http://x","y")',
    'a"b,\nc',
]


async def written(office, format, filter=NO_FILTER) -> bytes:
    return b"".join([piece async for piece in report(office.database, office.organisation, format, filter)])


async def test_a_line_has_all_that_is_needed_to_compute_it_again(office, monkeypatch):
    monkeypatch.setattr(report_files, "PAGE", 3)
    await enqueue(office.database, office.organisation, 10, note="ü 部署 \u2028 ")
    await office.drain()
    lines = (await written(office, ReportFormat.JSONL)).decode().split("\n")
    assert lines.pop() == ""
    records, rows = [json.loads(line) for line in lines], await chain_of(office.database, office.organisation)
    key = office.keys.organisation_key(office.organisation, office.keys.current_id)
    assert [record["sequence"] for record in records] == list(range(1, 11))
    for record, row in zip(records, rows, strict=True):
        payload, previous = record["payload"].encode(), bytes.fromhex(record["previousMac"])
        assert payload == row.payload
        assert hashlib.sha256(payload).hexdigest() == record["payloadSha256"]
        again = mac(
            key, office.organisation, record["sequence"], record["keyId"], previous_mac=previous, payload=payload
        )
        assert again.hex() == record["mac"]
        entry = Entry(record["sequence"], record["keyId"], previous, again, payload)
        assert leaf(office.organisation, entry).hex() == record["leaf"]
        assert record["organisation"] == str(office.organisation)


async def test_a_table_reads_back_and_computes_nothing(office):
    events = []
    for number, evil in enumerate(EVIL):
        client = {"id": evil, "name": evil, "version": None}
        issued = (START + timedelta(minutes=number)).isoformat(timespec="microseconds").replace("+00:00", "Z")
        chunks = [{}] * number
        events.append(
            make_event(office.organisation, sessionId=evil, client=client, issuedAt=issued, chunks=chunks, memories=[])
        )
    async with office.database.unstamped(office.organisation) as session:
        for event in events:
            await queue.enqueue(session, event.id, event.payload)
    await office.drain()
    header, *rows = csv.reader(io.StringIO((await written(office, ReportFormat.CSV)).decode(), newline=""))
    assert header == list(HEADER)
    for number, (row, event, evil) in enumerate(zip(rows, events, EVIL, strict=True)):
        told = dict(zip(HEADER, row, strict=True))
        assert told["id"] == str(event.id)
        assert told["sequence"] == str(number + 1)
        assert (told["chunks"], told["memories"], told["clientVersion"], told["model"]) == (str(number), "0", "", "")
        assert told["payloadSha256"] == hashlib.sha256(event.payload).hexdigest()
        for cell in ("sessionId", "clientId", "clientName"):
            assert told[cell] in (evil, f"'{evil}")
        assert not any(cell.lstrip().startswith(tuple("=+-@")) for cell in row)


@given(st.text())
def test_only_what_begins_like_a_formula_is_touched(cell):
    made = defused(cell)
    assert made in (cell, f"'{cell}")
    assert not made.lstrip().startswith(tuple("=+-@"))
    if cell[:1].isalnum():
        assert made == cell


async def test_a_report_is_of_the_moment_it_was_begun(office, monkeypatch):
    monkeypatch.setattr(report_files, "PAGE", 2)
    await enqueue(office.database, office.organisation, 5)
    await office.drain()
    pieces = report(office.database, office.organisation, ReportFormat.JSONL, NO_FILTER)
    first = await anext(pieces)
    await enqueue(office.database, office.organisation, 5)
    await office.drain()
    rest = b"".join([piece async for piece in pieces])
    assert (first + rest).count(b"\n") == 5


@pytest.mark.parametrize("format", list(ReportFormat))
async def test_filters_are_those_of_the_api(office, format):
    space, now = uuid4(), START
    async with office.database.unstamped(office.organisation) as session:
        for number in range(12):
            id = new_id()
            record = {
                "id": str(id),
                "category": "a" if number % 2 else "b",
                "spaceId": str(space if number % 3 else uuid4()),
                "issuedAt": (now + timedelta(hours=number)).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            }
            await queue.enqueue(session, id, canonical(record))
    await office.drain()
    lines = 1 if format is ReportFormat.CSV else 0
    for filter, count in (
        (Filter(category="a"), 6),
        (Filter(space_id=str(space)), 8),
        (Filter(start=now + timedelta(hours=5)), 7),
        (Filter(end=now + timedelta(hours=5)), 5),
        (Filter(start=now + timedelta(hours=2), end=now + timedelta(hours=5), category="a"), 1),
        (Filter(start=now + timedelta(days=9)), 0),
        (Filter(subject_pseudonym="f" * 64), 0),
    ):
        assert (await written(office, format, filter)).count(b"\n") == count + lines


async def test_a_space_is_named_by_its_key_path_too(office):
    space = uuid4()
    await tenancy.create_organisation(office.database, office.organisation, str(office.organisation), "Office")
    async with office.database.write(office.organisation) as session:
        await tenancy.create_space(
            session, id=space, parent=None, key_path="claims", level=Level.PROJECT, name="Claims"
        )
    async with office.database.unstamped(office.organisation) as session:
        for named in (space, uuid4()):
            id = new_id()
            record = {"id": str(id), "spaceId": str(named), "issuedAt": "2026-06-01T00:00:00.000000Z"}
            await queue.enqueue(session, id, canonical(record))
    await office.drain()
    for key in ("claims", "/claims/"):
        assert (await written(office, ReportFormat.JSONL, Filter(space_key=key))).count(b"\n") == 1
    with pytest.raises(MunimentError) as raised:
        await written(office, ReportFormat.JSONL, Filter(space_key="nowhere"))
    assert raised.value.code is Code.SPACE_NOT_FOUND


async def test_memory_does_not_grow_with_the_chain(office):
    async def peak(organisation) -> int:
        tracemalloc.start()
        try:
            async for _ in report(office.database, organisation, ReportFormat.JSONL, NO_FILTER):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = await filled(office, 2_000), await filled(office, 20_000)
    await peak(few)
    least = await peak(few)
    assert least > report_files.PAGE * 400
    assert await peak(many) < 2 * least
