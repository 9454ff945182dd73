import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.parsers.blocks import Parsed
from app.providers.parsers.delimited import parse_delimited
from tests.providers.parsers.test_blocks import assert_whole

CELLS = st.text(alphabet='ab ,"\né1', max_size=8)


def rows(parsed: Parsed) -> list[tuple[int | None, str]]:
    assert_whole(parsed)
    return [(block.row_start, parsed.text[block.start : block.end].strip()) for block in parsed.blocks]


def test_rows_are_the_text_itself_with_their_numbers_and_the_head() -> None:
    text = 'name,age\nAnn,3\n\n"Bob\nJunior",4\n'
    parsed = parse_delimited(text, "text/csv")
    assert parsed.text == text
    assert rows(parsed) == [(1, "name,age"), (2, "Ann,3"), (4, '"Bob\nJunior",4')]
    assert [block.header for block in parsed.blocks] == [None, (0, 8), (0, 8)]


@pytest.mark.parametrize(
    ("text", "mime"),
    [("a;b\n1,5;2\n", "text/csv"), ("a\tb\n1\t2\n", "text/tab-separated-values"), ("a|b\n1|2\n", "text/csv")],
)
def test_the_sign_between_cells_is_found(text: str, mime: str) -> None:
    assert parse_delimited(text, mime).blocks[1].header == (0, 3)


def test_numbers_in_the_first_row_are_no_head() -> None:
    assert parse_delimited("1,2\n3,4\n", "text/csv").blocks[1].header is None


def test_wide_rows_name_each_cell() -> None:
    head = [f"column {number}" for number in range(30)]
    parsed = parse_delimited(f"{','.join(head)}\n{','.join(map(str, range(30)))}\n", "text/csv")
    assert rows(parsed)[1] == (2, "\n".join(f"column {number}: {number}" for number in range(30)))


def test_a_quotation_that_never_ends_is_read_line_by_line() -> None:
    parsed = parse_delimited('a,b\n"' + "x,y\n" * 50_000, "text/csv")
    assert len(parsed.blocks) == 50_001
    assert parsed.problems == ("Its quotation marks do not match; read line by line.",)


def test_a_hundred_thousand_columns_are_read() -> None:
    size = 100_000
    parsed = parse_delimited(f"{','.join(f'c{n}' for n in range(size))}\n{','.join(map(str, range(size)))}", "text/csv")
    assert f"c{size - 1}: {size - 1}" in parsed.text


@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=6))
def test_every_row_that_a_writer_wrote_is_a_block(table: list[list[str]]) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(table)
    parsed = parse_delimited(out.getvalue(), "text/csv")
    assert_whole(parsed)
    assert [block.row_start for block in parsed.blocks] == list(range(1, len(table) + 1))


@given(st.text(alphabet='ab,;"\n\r\t|é', max_size=80))
def test_any_text_is_whole(text: str) -> None:
    parsed = parse_delimited(text, "text/csv")
    assert_whole(parsed)
    assert parsed.text == text
