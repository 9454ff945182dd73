from hypothesis import given
from hypothesis import strategies as st

from app.providers.parsers.plain import parse_plain
from tests.providers.parsers.test_blocks import assert_whole


def test_blank_lines_separate_blocks() -> None:
    text = "\n one\ntwo\r\n \t\r\nthree\r\rfour\n\n\n"
    parsed = parse_plain(text)
    assert [text[b.start : b.end] for b in parsed.blocks] == ["\n one\ntwo", "three", "four"]
    assert {(b.kind, b.heading_path) for b in parsed.blocks} == {("paragraph", ())}


def test_source_code_says_so() -> None:
    parsed = parse_plain("fn main() {}", "text/x-rust", "rust")
    assert (parsed.blocks[0].kind, parsed.language, parsed.mime) == ("code", "rust", "text/x-rust")


def test_two_equal_paragraphs_are_two_blocks() -> None:
    assert [(b.start, b.end) for b in parse_plain("same\n\nsame").blocks] == [(0, 4), (6, 10)]


@given(st.text() | st.text(alphabet="a \n\r\t\x0b\u2028"))
def test_every_visible_character_is_in_one_block(text: str) -> None:
    assert_whole(parse_plain(text))


def test_long_runs_of_blanks_are_read_in_one_pass() -> None:
    for text in (" " * 500_000 + "a", "\n" * 500_000 + "a", ("\n" + " " * 1000) * 500 + "a", "\r\n" * 200_000):
        assert_whole(parse_plain(text))
