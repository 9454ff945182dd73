from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.providers.parsers.blocks import Parsed, Unsupported
from app.providers.parsers.pdf import MAX_PAGES, parse_pdf
from tests.providers.parsers.making import pdf
from tests.providers.parsers.test_blocks import assert_whole

SAMPLES = Path(__file__).parent / "samples"


def told(parsed: Parsed) -> list[tuple[int | None, tuple[str, ...], str]]:
    assert_whole(parsed)
    return [(block.page, block.heading_path, parsed.text[block.start : block.end]) for block in parsed.blocks]


def test_each_block_stands_on_its_page() -> None:
    parsed = parse_pdf(pdf(["First page.\nSecond line.", "", "Third page: naïve café."], "A report"))
    assert told(parsed) == [(1, (), "First page.\nSecond line."), (3, (), "Third page: naïve café.")]
    assert (parsed.title, parsed.mime) == ("A report", "application/pdf")
    assert parsed.problems == ("Pages without text: 1 of 3.",)


def test_the_outline_makes_the_heading_path_from_the_place_of_its_words() -> None:
    pages = ["Preface words.\nChapter one\nIts text.", "Still in it.\nChapter two\nMore text."]
    parsed = parse_pdf(pdf(pages, outline=[("Chapter one", 0), ("Chapter two", 1)]))
    assert told(parsed) == [
        (1, (), "Preface words."),
        (1, ("Chapter one",), "Chapter one\nIts text."),
        (2, ("Chapter one",), "Still in it."),
        (2, ("Chapter two",), "Chapter two\nMore text."),
    ]


def test_a_heading_whose_words_are_not_on_its_page_begins_with_the_page() -> None:
    parsed = parse_pdf(pdf(["One.", "Two."], outline=[("Elsewhere", 1)]))
    assert told(parsed) == [(1, (), "One."), (2, ("Elsewhere",), "Two.")]


def test_what_a_browser_printed_is_read() -> None:
    parsed = parse_pdf((SAMPLES / "chromium.pdf").read_bytes())
    assert parsed.title == "Quarterly notes"
    assert [(page, path) for page, path, _ in told(parsed)] == [
        (1, ("First part",)),
        (1, ("First part", "Second part")),
        (2, ("Third part",)),
    ]
    assert "Beta text on the first page: bold words." in parsed.text


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.text("abc XYZ019()\\.,", min_size=1).map(str.strip), max_size=4), min_size=1, max_size=4))
def test_no_word_of_any_page_is_lost(pages: list[list[str]]) -> None:
    data = pdf(["\n".join(lines) for lines in pages])
    if not any(line for lines in pages for line in lines):
        with pytest.raises(Unsupported, match="no text"):
            parse_pdf(data)
        return
    blocks = told(parse_pdf(data))
    for number, lines in enumerate(pages, 1):
        written = "".join(text for page, _, text in blocks if page == number)
        assert "".join(written.split()) == "".join("".join(lines).split())


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_a_part_of_a_file_is_refused(share: float) -> None:
    whole = pdf([f"Page {number}" for number in range(20)])
    with pytest.raises(Unsupported, match=r"Damaged|no text"):
        parse_pdf(whole[: int(len(whole) * share)])


def test_no_pdf_at_all_is_damaged() -> None:
    with pytest.raises(Unsupported, match="Damaged"):
        parse_pdf(b"%PDF-1.7 nothing else")


def test_a_password_is_named_as_the_reason() -> None:
    # Standard security handler, revision 3, with a user password: nobody can open it without.
    keys = "/O <" + "41" * 32 + "> /U <" + "42" * 32 + ">"
    locked = f"/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 {keys} >> /ID [<00> <00>]"
    with pytest.raises(Unsupported, match="password"):
        parse_pdf(pdf(["Secret."], trailer=locked))


def test_more_pages_than_people_read_are_refused() -> None:
    with pytest.raises(Unsupported, match=str(MAX_PAGES)):
        parse_pdf(pdf([""] * (MAX_PAGES + 1)))
