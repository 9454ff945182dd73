import io
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.worksheet.table import Table

from app.providers.parsers.blocks import Parsed, Unsupported
from app.providers.parsers.package import MAX_UNPACKED
from app.providers.parsers.workbook import parse_workbook
from tests.providers.parsers.making import repacked, workbook
from tests.providers.parsers.test_blocks import assert_whole

SHEET = "xl/worksheets/sheet1.xml"
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def sheet(fill: Callable[[openpyxl.worksheet.worksheet.Worksheet], object]) -> bytes:
    def both(book: openpyxl.Workbook) -> None:
        book.active.title = "Prices"
        fill(book.active)

    return workbook(both)


def rows(parsed: Parsed) -> list[tuple[str | None, str | None, int | None, str]]:
    assert_whole(parsed)
    assert all(block.row_start == block.row_end for block in parsed.blocks)
    return [
        (block.sheet, block.table, block.row_start, parsed.text[block.start : block.end]) for block in parsed.blocks
    ]


def header(parsed: Parsed, number: int) -> str | None:
    span = parsed.blocks[number].header
    return None if span is None else parsed.text[slice(*span)]


def test_rows_have_their_sheet_and_number_and_stand_under_the_head() -> None:
    def fill(page: openpyxl.worksheet.worksheet.Worksheet) -> None:
        for cells in (["Budget"], [], ["Item", "Price"], ["Apple", 1.5], ["Pear", 2], [], ["Nut", 3]):
            page.append(cells)

    parsed = parse_workbook(sheet(fill))
    assert rows(parsed) == [
        ("Prices", None, 1, "Budget"),
        ("Prices", None, 3, "Item | Price"),
        ("Prices", None, 4, "Apple | 1.5"),
        ("Prices", None, 5, "Pear | 2"),
        ("Prices", None, 7, "Nut | 3"),
    ]
    assert [header(parsed, number) for number in range(5)] == [None, None, "Item | Price", "Item | Price", None]
    assert {block.heading_path for block in parsed.blocks} == {("Prices",)}


def test_values_are_written_as_people_read_them() -> None:
    def fill(page: openpyxl.worksheet.worksheet.Worksheet) -> None:
        midnight = datetime(2026, 1, 2, tzinfo=UTC).replace(tzinfo=None)
        page.append(
            [midnight, midnight.replace(hour=3, minute=4, second=5), date(2026, 5, 6), time(7, 8), timedelta(hours=30)]
        )
        page.append([True, 1e3, 0.125, 12345678901234, "text"])
        page["C2"].number_format = "0.0%"

    assert [text for *_, text in rows(parse_workbook(sheet(fill)))] == [
        "2026-01-02 | 2026-01-02 03:04:05 | 2026-05-06 | 07:08:00 | 1 day, 6:00:00",
        "TRUE | 1000 | 12.5% | 12345678901234 | text",
    ]


def test_a_formula_is_its_stored_value_or_else_itself() -> None:
    data = sheet(lambda page: page.append([1, "=A1+1"]))
    parsed = parse_workbook(data)
    assert [text for *_, text in rows(parsed)] == ["1 | =A1+1"]
    assert parsed.problems == ("Formulas without a stored value, kept as formulas: 1.",)
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        stored = package.read(SHEET).replace(b"<v />", b"<v>2</v>").replace(b"<v></v>", b"<v>2</v>")
    assert [text for *_, text in rows(parse_workbook(repacked(data, {SHEET: stored})))] == ["1 | 2"]


def test_merged_cells_are_read_in_each_row() -> None:
    def fill(page: openpyxl.worksheet.worksheet.Worksheet) -> None:
        for cells in (["Region", "City"], ["North", "Oslo"], [None, "Bergen"], [None, "Tromsø"], ["South", "Rome"]):
            page.append(cells)
        page.merge_cells("A2:A4")

    assert [text for *_, text in rows(parse_workbook(sheet(fill)))][1:] == [
        "North | Oslo",
        "North | Bergen",
        "North | Tromsø",
        "South | Rome",
    ]


def test_hidden_sheets_are_told_of_and_not_read() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        book.active["A1"] = "seen"
        for name, state in (("Notes", "hidden"), ("Keys", "veryHidden")):
            page = book.create_sheet(name)
            page["A1"], page.sheet_state = "unseen", state

    parsed = parse_workbook(workbook(fill))
    assert "unseen" not in parsed.text
    assert parsed.problems == ("Hidden sheets not read: Notes, Keys.",)


def test_named_tables_are_cited_by_name() -> None:
    def fill(page: openpyxl.worksheet.worksheet.Worksheet) -> None:
        page.append(["Above the table"])
        for cells in (["Name", "Age"], ["Ann", 3], ["Bob", 4]):
            page.append(cells)
        page.add_table(Table(displayName="People", ref="A2:B4"))

    parsed = parse_workbook(sheet(fill))
    assert rows(parsed)[1:] == [
        ("Prices", "People", 2, "Name | Age"),
        ("Prices", "People", 3, "Ann | 3"),
        ("Prices", "People", 4, "Bob | 4"),
    ]
    assert parsed.blocks[3].heading_path == ("Prices", "People")
    assert header(parsed, 3) == "Name | Age"


def test_wide_tables_name_each_cell() -> None:
    names = [f"Column number {number}" for number in range(20)]
    parsed = parse_workbook(sheet(lambda page: [page.append(names), page.append([*range(19), None])]))
    assert rows(parsed)[1][3].split("\n") == [f"{name}: {number}" for number, name in enumerate(names[:19])]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.none() | st.integers(-9, 9) | st.text("ab é|=東", max_size=5), max_size=5), max_size=6))
def test_no_cell_is_lost(table: list[list[str | int | None]]) -> None:
    cells = [[None if isinstance(cell, str) and cell.startswith("=") else cell for cell in row] for row in table]
    data = sheet(lambda page: [page.append(row) for row in cells])
    wanted = {n: "".join(str(c) for c in row if c is not None) for n, row in enumerate(cells, 1)}
    wanted = {number: "".join(text.split()) for number, text in wanted.items() if text.strip()}
    if not wanted:
        with pytest.raises(Unsupported, match="blank"):
            parse_workbook(data)
        return
    found = {number: "".join(text.split()) for *_, number, text in rows(parse_workbook(data))}
    assert found.keys() == wanted.keys()
    assert {n: t.replace("|", "") for n, t in found.items()} == {n: t.replace("|", "") for n, t in wanted.items()}


PLAIN = sheet(lambda page: page.append(["hello"]))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", PLAIN[:1500], PLAIN[1500:], repacked(PLAIN, {SHEET: b"<work"})])
def test_damaged_files_are_refused(data: bytes) -> None:
    with pytest.raises(Unsupported, match="Damaged"):
        parse_workbook(data)


def test_a_password_and_an_old_format_are_told_apart() -> None:
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    with pytest.raises(Unsupported, match="password"):
        parse_workbook(ole + "EncryptedPackage".encode("utf-16-le") + bytes(600))
    with pytest.raises(Unsupported, match="old binary"):
        parse_workbook(ole)


def test_a_zip_bomb_is_not_unpacked() -> None:
    bomb = repacked(PLAIN, {SHEET: f"<worksheet {MAIN}><sheetData>{' ' * 30_000_000}</sheetData></worksheet>".encode()})
    assert len(bomb) < 100_000
    with pytest.raises(Unsupported, match="bomb"):
        parse_workbook(bomb)


def test_many_parts_of_some_size_are_too_large_together() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        part = bytes(range(256)) * 4 + bytes(4 * 1024 * 1024 - 2048)
        for number in range(MAX_UNPACKED // len(part) + 1):
            package.writestr(f"xl/part{number}.bin", part)
    with pytest.raises(Unsupported, match="Too large when unpacked"):
        parse_workbook(out.getvalue())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_before_anything_reads_them(encoding: str) -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><worksheet>&b;</worksheet>'
    with pytest.raises(Unsupported, match="entities"):
        parse_workbook(repacked(PLAIN, {SHEET: bomb.encode(encoding)}))


def test_cells_at_the_far_corner_cost_nothing() -> None:
    cells = "<row r='1'><c r='A1'><v>1</v></c><c r='XFD1'><v>2</v></c></row>"
    far = f"<worksheet {MAIN}><sheetData>{cells}</sheetData></worksheet>"
    assert [text for *_, text in rows(parse_workbook(repacked(PLAIN, {SHEET: far.encode()})))] == ["1 | 2"]
