import json
import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ingestion.chunking import MAX_CHARACTERS, MAX_PIECES, Slice, chunk
from app.providers.parsers.blocks import Block, Parsed
from app.providers.parsers.delimited import parse_delimited
from app.providers.parsers.html import parse_html
from app.providers.parsers.markdown import parse_markdown
from app.providers.parsers.plain import parse_plain
from app.providers.parsers.python import parse_python
from app.providers.parsers.records import parse_records
from app.providers.wordpieces import WordPieces
from tests.providers.parsers.test_markdown import FRAGMENTS

PIECES = WordPieces()


def words(text: str) -> Sequence[int]:
    return [match.start() for match in re.finditer(r"\S+", text)]


def assert_sound(parsed: Parsed, slices: list[Slice], limit: int) -> None:
    position = 0
    for number, piece in enumerate(slices):
        assert piece.ordinal == number
        assert piece.text == parsed.text[piece.start : piece.end]
        assert piece.text == piece.text.strip() != ""
        assert piece.pieces == PIECES.count(piece.text)
        assert piece.pieces <= limit
        assert len(piece.text) <= MAX_CHARACTERS
        assert not parsed.text[position : piece.start].strip()
        position = piece.end
    assert not parsed.text[position:].strip()


def assert_paths(parsed: Parsed, slices: list[Slice]) -> None:
    """A slice holds text of its own heading path, and besides it only headings that lead in to it."""
    for piece in slices:
        for block in parsed.blocks:
            if parsed.text[max(block.start, piece.start) : min(block.end, piece.end)].strip():
                leads_in = (
                    block.kind == "heading" and piece.heading_path[: len(block.heading_path)] == block.heading_path
                )
                assert block.heading_path == piece.heading_path or leads_in


TEXTS = (
    st.text(max_size=300)
    | st.lists(
        st.sampled_from(
            ["word ", "東京都", "한국어", "e\u0301", "x" * 150, ". ", "。", "\n", "\n\n", "\x1c", "😀", "[SEP]"]
        )
    ).map("".join)
    | st.lists(FRAGMENTS, max_size=40).map("".join)
)


@given(TEXTS, st.integers(6, 40), st.sampled_from([parse_markdown, parse_plain, parse_python, parse_html]))
@settings(max_examples=400, deadline=None)
def test_slices_are_exact_bounded_and_leave_nothing_out(text: str, limit: int, parse: object) -> None:
    assert callable(parse)
    parsed = parse(text)
    slices = chunk(parsed, PIECES.starts, limit)
    assert_sound(parsed, slices, limit)
    assert_paths(parsed, slices)


@given(
    TEXTS, st.lists(st.tuples(st.integers(1, 40), st.sampled_from([(), ("A",), ("A", "B")]), st.booleans()), min_size=1)
)
@settings(max_examples=200, deadline=None)
def test_blocks_that_meet_inside_a_word_are_cut_right(
    text: str, shapes: list[tuple[int, tuple[str, ...], bool]]
) -> None:
    blocks: list[Block] = []
    position = 0
    while position < len(text):
        length, path, heading = shapes[len(blocks) % len(shapes)]
        end = min(position + length, len(text))
        if text[position:end].strip():
            blocks.append(Block(position, end, path, "heading" if heading else "paragraph"))
        position = end
    parsed = Parsed(text, None, tuple(blocks), "text/plain", None)
    slices = chunk(parsed, PIECES.starts, 12)
    assert_sound(parsed, slices, 12)
    assert_paths(parsed, slices)


def texts(source: str, limit: int) -> list[str]:
    return [piece.text for piece in chunk(parse_markdown(source), words, limit)]


def test_a_section_that_fits_is_one_slice_with_its_heading() -> None:
    slices = chunk(parse_markdown("# A\n\none\n\n- two\n- three\n\n## B\n\nfour\n"), words)
    assert [(s.heading_path, s.text) for s in slices] == [
        (("A",), "# A\n\none\n\n- two\n- three"),
        (("A", "B"), "## B\n\nfour"),
    ]


def test_a_heading_without_text_leads_in_to_its_first_subsection_only() -> None:
    slices = chunk(parse_markdown("# A\n\n## B\n\none\n\n## C\n\n# D\n\ntwo\n\n# E\n"), words)
    assert [(s.heading_path, s.text) for s in slices] == [
        (("A", "B"), "# A\n\n## B\n\none"),
        (("A", "C"), "## C"),
        (("D",), "# D\n\ntwo"),
        (("E",), "# E"),
    ]


def test_two_equal_paragraphs_are_both_kept() -> None:
    assert texts("a b c d\n\na b c d\n", 4) == ["a b c d", "a b c d"]


def test_cuts_prefer_paragraphs_then_lines_then_sentences_then_blanks() -> None:
    assert texts("a b c\n\nd e f\n", 4) == ["a b c", "d e f"]
    assert texts("a b c d\ne f g h", 6) == ["a b c d", "e f g h"]
    assert texts("a b c\nd e. f\ng h i", 7) == ["a b c\nd e.", "f\ng h i"]
    assert texts("```\nb c d. e\nf g h i\n```", 7) == ["```\nb c d. e", "f g h i\n```"]
    assert texts("a b c. d e f", 4) == ["a b c.", "d e f"]
    assert texts("a b c d e f", 4) == ["a b c", "d e f"]


def test_an_oversize_paragraph_is_cut_into_equal_parts_without_a_tail() -> None:
    parsed = parse_plain(" ".join(["word"] * (MAX_PIECES + 2)))
    assert [piece.pieces for piece in chunk(parsed, PIECES.starts)] == [MAX_PIECES // 2 + 1] * 2


def test_a_block_that_fits_is_kept_whole_beside_one_that_does_not_fit_with_it() -> None:
    fence = "```\n" + "x = 1\n" * 6 + "```"
    assert texts(f"Some words that lead in here.\n\n{fence}\n", 22) == ["Some words that lead in here.", fence]


def test_a_heading_is_not_left_alone_by_a_cut() -> None:
    first, *_ = texts("# Heading\n\n" + "one two three four five six. " * 4, 20)
    assert first.startswith("# Heading\n\none two")


def test_functions_and_methods_are_slices_of_their_own() -> None:
    source = '"""Doc."""\nimport os\n\n\nclass C:\n    """About."""\n\n    def m(self):\n        return os\n\n\n'
    source += "def f():\n    pass\n"
    assert [(s.heading_path, s.text.splitlines()[0]) for s in chunk(parse_python(source), PIECES.starts)] == [
        ((), '"""Doc."""'),
        (("C",), "class C:"),
        (("C", "m"), "def m(self):"),
        (("f",), "def f():"),
    ]


@pytest.mark.parametrize("source", ["", " \n\t\r\n", "\x0c"])
def test_blank_text_has_no_slices(source: str) -> None:
    assert chunk(parse_markdown(source), PIECES.starts) == []


def test_a_character_of_more_pieces_than_the_limit_is_left_whole() -> None:
    assert [(s.text, s.pieces) for s in chunk(parse_plain("각각"), PIECES.starts, 1)] == [("각", 3), ("각", 3)]


@pytest.mark.parametrize(
    "source",
    [
        "a" * 1_000_000,
        "a " * 300_000,
        "東京" * 100_000,
        "a\n\n" * 20_000,
        ("x" * 5000 + " ") * 60,
        "[" * 10_000,
        "\u200b" * 50_000,
        "word, " * 50_000,
        "a\n" + " " * 500_000 + "b",
        "# " + "b" * 300_000,
    ],
    ids=lambda source: f"{source[:6]!r} {len(source)}",
)
def test_what_is_built_to_break_a_chunker_is_cut(source: str) -> None:
    parsed = parse_markdown(source)
    assert_sound(parsed, chunk(parsed, PIECES.starts), MAX_PIECES)


def test_the_text_is_tokenised_once_where_cuts_fall_between_words() -> None:
    calls: list[int] = []

    def counted(text: str) -> Sequence[int]:
        calls.append(len(text))
        return PIECES.starts(text)

    source = "# A\n\n" + "Some words of a sentence. " * 2000
    assert len(chunk(parse_markdown(source), counted)) > 40
    assert calls == [len(source)]


def table_of(rows: int) -> str:
    body = "".join(f"name{number},{number}\n" for number in range(1, rows + 1))
    return f"name,age\n{body}"


def test_the_head_of_a_table_stands_before_each_slice_of_its_rows() -> None:
    parsed = parse_delimited(table_of(40), "text/csv")
    first, *others = chunk(parsed, PIECES.starts, 40)
    assert others
    assert (first.lead, first.place.row_start) == (0, 1)
    for piece in others:
        assert piece.text == f"name,age\n{parsed.text[piece.start : piece.end]}"
        assert piece.lead == len("name,age\n")
        assert piece.pieces == PIECES.count(piece.text) <= 40
    rows = [(piece.place.row_start, piece.place.row_end) for piece in (first, *others)]
    assert rows[-1][1] == 41
    assert all(before[1] + 1 == after[0] for before, after in pairwise(rows))
    assert f"name{rows[1][0] - 1}," in others[0].text


def test_a_table_among_paragraphs_keeps_its_head_too() -> None:
    rows = "".join(f"| item {number} | {number} |\n" for number in range(30))
    slices = chunk(
        parse_markdown(f"# Stock\n\nWords before.\n\n| item | count |\n|---|---|\n{rows}\nWords after.\n"), words, 60
    )
    inside = [piece for piece in slices if "| item 2" in piece.text]
    assert len(inside) > 1
    assert all("| item | count |\n|---|---|\n" in piece.text for piece in inside)


def test_a_head_that_leaves_no_room_for_rows_is_not_repeated() -> None:
    head = ",".join(f"column{number}" for number in range(12))
    parsed = parse_delimited(f"{head}\n" + f"{','.join(['x'] * 12)}\n" * 10, "text/csv")
    assert all(piece.lead == 0 for piece in chunk(parsed, PIECES.starts, 40))


def test_a_slice_stands_on_one_page_and_in_one_table() -> None:
    text = "one\n\ntwo\n\nthree\n\nfour"
    spans = [(0, 3), (5, 8), (10, 15), (17, 21)]
    places = [{"page": 1}, {"page": 1}, {"page": 2}, {"page": 2, "table": "T", "row_start": 3, "row_end": 3}]
    blocks = tuple(Block(*span, (), "paragraph", **place) for span, place in zip(spans, places, strict=True))
    slices = chunk(Parsed(text, None, blocks, "text/plain", None), words)
    assert [(s.place.page, s.place.table, s.place.row_start, s.text) for s in slices] == [
        (1, None, None, "one\n\ntwo"),
        (2, None, None, "three"),
        (2, "T", 3, "four"),
    ]


def test_each_message_is_a_slice_and_a_long_one_repeats_its_sender() -> None:
    long = "Many words of a long message. " * 30
    records = [{"thread": "T", "sender": "ann", "text": "Short."}, {"thread": "T", "sender": "bob", "text": long}]
    slices = chunk(parse_records("\n".join(map(json.dumps, records))), PIECES.starts, 60)
    assert slices[0].text == "ann\nShort."
    assert len(slices) > 2
    assert all(piece.text.startswith("bob\n") for piece in slices[1:])
    assert [piece.place.row_start for piece in slices] == [1] + [2] * (len(slices) - 1)


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "bb cc", "東京", "x" * 30, "1.5", ""]), min_size=1, max_size=4), max_size=25
    ),
    st.integers(8, 40),
)
@settings(max_examples=150, deadline=None)
def test_slices_of_tables_are_bounded_and_lose_nothing(rows: list[list[str]], limit: int) -> None:
    parsed = parse_delimited("\n".join(",".join(row) for row in [["name", "age"], *rows]), "text/csv")
    position = 0
    for piece in chunk(parsed, PIECES.starts, limit):
        body = parsed.text[piece.start : piece.end]
        assert piece.text[piece.lead :] == body
        assert piece.text[: piece.lead] in {"", "name,age\n"}
        assert piece.pieces == PIECES.count(piece.text) <= limit
        assert not parsed.text[position : piece.start].strip()
        position = piece.end
    assert not parsed.text[position:].strip()
