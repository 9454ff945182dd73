from typing import Any

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from hypothesis import given, settings
from hypothesis import strategies as st

from app.providers.parsers.blocks import Parsed, Unsupported
from app.providers.parsers.word import parse_word
from tests.providers.parsers.making import repacked, word
from tests.providers.parsers.test_blocks import assert_whole

W = nsdecls("w")


def told(parsed: Parsed) -> list[tuple[tuple[str, ...], str]]:
    assert_whole(parsed)
    return [(block.heading_path, parsed.text[block.start : block.end]) for block in parsed.blocks]


def paragraph(document: Any, inner: str) -> None:
    document.element.body.insert(len(document.element.body) - 1, parse_xml(f"<w:p {W}>{inner}</w:p>"))


def test_headings_make_the_path_and_the_title() -> None:
    def fill(document: docx.document.Document) -> None:
        document.add_heading("Handbook", 0)
        document.add_heading("Refunds", 1)
        document.add_paragraph("Tier two decides.")
        document.add_heading("Limits", 2)
        document.add_paragraph("One hundred.")
        document.add_heading("Leave", 1)
        document.add_paragraph("Thirty days.")

    parsed = parse_word(word(fill))
    assert told(parsed) == [
        (("Handbook",), "Handbook"),
        (("Handbook", "Refunds"), "Refunds"),
        (("Handbook", "Refunds"), "Tier two decides."),
        (("Handbook", "Refunds", "Limits"), "Limits"),
        (("Handbook", "Refunds", "Limits"), "One hundred."),
        (("Handbook", "Leave"), "Leave"),
        (("Handbook", "Leave"), "Thirty days."),
    ]
    assert parsed.title == "Handbook"


def test_styles_that_derive_from_headings_are_headings() -> None:
    def fill(document: docx.document.Document) -> None:
        style = document.styles.add_style("House", docx.enum.style.WD_STYLE_TYPE.PARAGRAPH)
        style.base_style = document.styles["Heading 2"]
        document.add_paragraph("A house heading", style="House")
        document.add_paragraph("Its text.")

    assert told(parse_word(word(fill)))[1] == (("A house heading",), "Its text.")


def test_tables_keep_their_rows_and_their_head() -> None:
    def fill(document: docx.document.Document) -> None:
        table = document.add_table(rows=4, cols=3)
        for row, cells in enumerate(
            [("Region", "City", "Staff"), ("North", "Oslo", "12"), ("", "Bergen", "7"), ("South", "Rome", "9")]
        ):
            for column, text in enumerate(cells):
                table.cell(row, column).text = text
        table.cell(1, 0).merge(table.cell(2, 0))

    parsed = parse_word(word(fill))
    rows = [(b.table, b.row_start, b.row_end, parsed.text[b.start : b.end]) for b in parsed.blocks]
    assert rows == [
        ("Table 1", 1, 1, "Region | City | Staff"),
        ("Table 1", 2, 2, "North | Oslo | 12"),
        ("Table 1", 3, 3, "North | Bergen | 7"),
        ("Table 1", 4, 4, "South | Rome | 9"),
    ]
    start, end = parsed.blocks[2].header or (0, 0)
    assert parsed.text[start:end] == "Region | City | Staff"
    assert parsed.blocks[0].header is None


def test_a_caption_names_its_table() -> None:
    def fill(document: docx.document.Document) -> None:
        document.add_paragraph("Staff by city", style="Caption")
        document.add_table(rows=1, cols=1).cell(0, 0).text = "x"

    assert parse_word(word(fill)).blocks[-1].table == "Staff by city"


def test_insertions_links_and_controls_are_text_deletions_are_not() -> None:
    run = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>".format

    def fill(document: docx.document.Document) -> None:
        gone = "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        paragraph(
            document, f"{run('kept ')}{gone}<w:ins>{run('added ')}</w:ins><w:hyperlink>{run('linked')}</w:hyperlink>"
        )
        document.element.body.insert(
            1, parse_xml(f"<w:sdt {W}><w:sdtContent><w:p>{run('controlled')}</w:p></w:sdtContent></w:sdt>")
        )
        paragraph(document, "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>")

    assert [text for _, text in told(parse_word(word(fill)))] == ["kept added linked", "controlled", "a\tb\nc"]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.text("ab é東\u0301", min_size=1, max_size=20)), min_size=1, max_size=8))
def test_no_word_is_lost_and_paths_follow_the_levels(items: list[tuple[int, str]]) -> None:
    def fill(document: docx.document.Document) -> None:
        for level, text in items:
            document.add_heading(text, level) if level else document.add_paragraph(text)

    written = [(level, " ".join(text.split())) for level, text in items if text.strip()]
    if not written:
        return
    found = told(parse_word(word(fill)))
    assert ["".join(text.split()) for _, text in found] == ["".join(text.split()) for _, text in written]
    path: list[tuple[int, str]] = []
    for (level, text), (heading_path, _) in zip(written, found, strict=True):
        if level:
            path = [*(item for item in path if item[0] < level), (level, text)]
        assert heading_path == tuple(name for _, name in path)


PLAIN = word(lambda document: document.add_paragraph("hello"))


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04", PLAIN[:2000], PLAIN[2000:], repacked(PLAIN, {"word/document.xml": b"<w"})]
)
def test_damaged_files_are_refused(data: bytes) -> None:
    with pytest.raises(Unsupported, match="Damaged"):
        parse_word(data)


def test_no_text_is_told() -> None:
    with pytest.raises(Unsupported, match="no text"):
        parse_word(word(lambda document: None))


def test_elements_nested_beyond_reason_are_refused() -> None:
    deep = f"<w:p {W}>{'<w:ins>' * 5000}{'</w:ins>' * 5000}</w:p>".encode()
    with pytest.raises(Unsupported, match="Damaged"):
        parse_word(repacked(PLAIN, {"word/document.xml": deep}))
