from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.providers.parsers.blocks import Block, Parsed, fill_gaps, heading_text, line_starts


def assert_whole(parsed: Parsed) -> None:
    """Blocks are in order, disjoint, never blank, and leave out blank characters only."""
    position = 0
    for block in parsed.blocks:
        assert position <= block.start < block.end <= len(parsed.text)
        assert not parsed.text[position : block.start].strip()
        assert parsed.text[block.start : block.end].strip()
        position = block.end
    assert not parsed.text[position:].strip()


@given(st.text(alphabet=st.sampled_from("ab\r\n\x0b\x0c\x85\u2028")))
def test_lines_end_where_commonmark_and_python_end_them(text: str) -> None:
    starts = line_starts(text)
    lines = [text[a:b] for a, b in pairwise(starts)]
    assert "".join(lines) == text
    assert [line.rstrip("\r\n") for line in lines] == text.replace("\r\n", "\n").replace("\r", "\n").removesuffix(
        "\n"
    ).split("\n")[: len(lines)]


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6))
def test_whatever_the_blocks_the_gaps_between_them_are_filled(text: str, ranges: list[tuple[int, int]]) -> None:
    blocks = [Block(a, min(b, len(text)), (), "x") for a, b in sorted(ranges)]
    assert_whole(Parsed(text, None, fill_gaps(text, blocks), "text/plain", None))


def test_a_gap_belongs_to_the_headings_before_it() -> None:
    blocks = [Block(2, 4, ("H",), "heading"), Block(8, 10, ("I",), "heading")]
    assert fill_gaps("a HH  b II c", blocks) == (
        Block(0, 2, (), "paragraph"),
        Block(2, 4, ("H",), "heading"),
        Block(4, 8, ("H",), "paragraph"),
        Block(8, 10, ("I",), "heading"),
        Block(10, 12, ("I",), "paragraph"),
    )


def test_a_heading_is_one_bounded_line() -> None:
    assert heading_text("  a\n  b\t c ") == "a b c"
    assert len(heading_text("word " * 1000)) <= 200
