"""A folder of files of every kind, read as users read it: each answer cites the page, sheet, rows or message."""

import json
import os
from pathlib import Path

import docx
import openpyxl
import pytest

from app.ingestion.report import Report
from app.ingestion.sources import ensure_source, ingest_place, provider_of
from tests.providers.parsers.making import pdf, word, workbook
from tests.schema.conftest import Api

ASK = """
query ($question: String!) {
  retrieve(input: {query: $question, spaceKey: "project", topK: 1, excludeRelated: true}) {
    passages { text citation { externalId title headingPath page sheet table rowStart rowEnd } }
  }
}
"""


def report(document: docx.document.Document) -> None:
    document.add_heading("Travel", 1)
    document.add_paragraph("Journeys by train are preferred.")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ["Class", "Allowance", "Sleeper", "ninety crowns"], strict=True):
        cell.text = text


def prices(book: openpyxl.Workbook) -> None:
    book.active.title = "Tariff"
    book.active.append(["Product", "Fee"])
    for number in range(200):
        book.active.append([f"Product number {number}", number])
    book.active.append(["Zeppelin", 777])


MESSAGES = [
    {"thread": "Launch", "sender": "ann", "time": "2026-01-02T03:04:05Z", "text": "When do we launch?"},
    {"thread": "Launch", "sender": "bob", "time": "2026-01-02T03:05:05Z", "text": "The submarine sails on Thursday."},
]
ISSUES = [
    {"number": 7, "title": "Slow start", "state": "open", "body": "It takes a minute."},
    {"number": 8, "title": "Wrong colour", "state": "closed", "body": "The chameleon is painted magenta."},
]
GO = "package shop\n\n// Price adds the levy.\nfunc Price(net int) int {\n\treturn net + leviathan(net)\n}\n"


@pytest.fixture
async def read(api: Api, tmp_path: Path) -> Report:
    place = tmp_path / "everything"
    place.mkdir()
    files = {
        "book.pdf": pdf(["A first page about nothing.", "The kraken sleeps below."], "Sea book", [("Monsters", 1)]),
        "travel.docx": word(report),
        "prices.xlsx": workbook(prices),
        "staff.csv": ("name,role\n" + "".join(f"person{n},clerk\n" for n in range(300)) + "Quixote,miller\n").encode(),
        "talk.jsonl": "\n".join(map(json.dumps, MESSAGES)).encode(),
        "issues.jsonl": "\n".join(map(json.dumps, ISSUES)).encode(),
        "page.html": b"<title>Garden</title><h1>Trees</h1><p>Baobabs are old.</p>",
        "kana.txt": "会議は東京で行われた。議題は予算と人員配置である。".encode("shift_jis"),
        "broken.docx": word(report)[:3000],
        "broken.pdf": b"%PDF-1.7",
        "logo.png": b"\x89PNG",
    }
    for name, data in files.items():
        (place / name).write_bytes(data)
    (place / "loop").symlink_to(place)
    os.mkfifo(place / "pipe.md")
    parts = api.world.parts
    source = await ensure_source(
        parts.database, api.world.organisation, api.world.project, provider_of(place), name="everything", kind="docs"
    )
    return await ingest_place(parts.database, api.world.organisation, source, place, parts.preparer, embed=False)


async def test_every_kind_is_found_and_cited_where_it_stands(api: Api, read: Report) -> None:
    wanted = {
        "kraken": {"externalId": "book.pdf", "title": "Sea book", "page": 2, "headingPath": "Monsters"},
        "sleeper allowance": {"externalId": "travel.docx", "table": "Table 1", "headingPath": "Travel", "rowEnd": 2},
        "zeppelin": {"externalId": "prices.xlsx", "sheet": "Tariff", "rowEnd": 202},
        "quixote": {"externalId": "staff.csv", "rowEnd": 302},
        "submarine": {"externalId": "talk.jsonl", "headingPath": "Launch", "rowStart": 2, "rowEnd": 2},
        "chameleon": {"externalId": "issues.jsonl", "headingPath": "#8 Wrong colour", "rowStart": 2, "rowEnd": 2},
        "baobabs": {"externalId": "page.html", "title": "Garden", "headingPath": "Trees"},
        "東京": {"externalId": "kana.txt"},
    }  # fmt: skip
    for question, place in wanted.items():
        data = await api.data(ASK, {"question": question})
        [passage] = data["retrieve"]["passages"]
        assert {name: passage["citation"][name] for name in place} == place
    sheet = (await api.data(ASK, {"question": "zeppelin"}))["retrieve"]["passages"][0]
    assert sheet["text"].startswith("Product | Fee\n")
    assert sheet["text"].endswith("Zeppelin | 777")
    assert sheet["citation"]["rowStart"] + sheet["text"].count("\n") - 1 == sheet["citation"]["rowEnd"]
    message = (await api.data(ASK, {"question": "submarine"}))["retrieve"]["passages"][0]
    assert message["text"] == "bob · 2026-01-02T03:05:05Z\nThe submarine sails on Thursday."


async def test_what_cannot_be_read_is_told_and_stops_nothing(read: Report) -> None:
    assert read.failures == {
        "broken.docx": "broken.docx: Damaged: it is not a whole package.",
        "broken.pdf": "broken.pdf: Damaged: it cannot be opened.",
    }
    assert read.repairs == {"kana.txt": "Not UTF-8; read as Shift-JIS."}
    assert read.skipped == {
        "logo.png": "No parser reads this kind of file.",
        "loop": "Links are not followed.",
        "pipe.md": "Not a file: a pipe, socket or device.",
    }
    assert read.skipped_kinds() == [
        "Skipped 1 without suffix: Links are not followed.",
        "Skipped 1 .png: No parser reads this kind of file.",
        "Skipped 1 .md: Not a file: a pipe, socket or device.",
    ]
    assert read.documents == 8
