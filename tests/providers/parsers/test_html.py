import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.providers.parsers.html import parse_html
from tests.providers.parsers.test_blocks import assert_whole

FRAGMENTS = st.sampled_from(
    [
        "<h1>",
        "</h1>",
        "<h2>A",
        "</h2>",
        "<p>",
        "</p>",
        "<pre>",
        "</pre>",
        "<b>",
        "</b>",
        "<br>",
        "<table><tr><td>",
        "<td>",
        "</table>",
        "<script>",
        "</script>",
        "<style>x</style>",
        "<title>t</title>",
        "<!-- c -->",
        "<svg>",
        "</svg>",
        "<li>",
        "word",
        " ",
        "\n",
        "&amp;",
        "&nbsp;",
        "&#0;",
        "<",
        ">",
        "\u00a0",
        "<template>",
        "</template>",
        "<div>",
        "</div>",
    ]
)


def pieces(source: str) -> list[tuple[str, tuple[str, ...], str]]:
    parsed = parse_html(source)
    return [(b.kind, b.heading_path, parsed.text[b.start : b.end]) for b in parsed.blocks]


def test_text_stands_under_its_headings() -> None:
    source = """<html><head><title> The
      page </title><style>p { }</style></head><body>before
      <h1>One <em>big</em> thing</h1><p>Some <b>bold</b>, text.</p><div>loose<h2>Two</h2>
      <ul><li>first<li>second</ul></div><script>alert("no")</script><h1>Three</h1>end</body></html>"""
    assert pieces(source) == [
        ("paragraph", (), "before"),
        ("heading", ("One big thing",), "One big thing"),
        ("paragraph", ("One big thing",), "Some bold, text."),
        ("paragraph", ("One big thing",), "loose"),
        ("heading", ("One big thing", "Two"), "Two"),
        ("paragraph", ("One big thing", "Two"), "first"),
        ("paragraph", ("One big thing", "Two"), "second"),
        ("heading", ("Three",), "Three"),
        ("paragraph", ("Three",), "end"),
    ]
    assert parse_html(source).title == "The page"


def test_the_title_is_else_the_first_heading() -> None:
    assert parse_html("<h1>A  b</h1><h1>c</h1>").title == "A b"
    assert parse_html("<p>x").title is None


def test_preformatted_text_keeps_its_lines_and_other_text_does_not() -> None:
    assert pieces("<pre>a\n  <b>b</b>\n</pre><p>a\n  <b>b</b> c</p>") == [
        ("code", (), "a\n  b\n"),
        ("paragraph", (), "a b c"),
    ]


def test_cells_and_rows_do_not_run_together() -> None:
    text = parse_html("<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>").text
    assert text.split("\n")[:2] == ["a b", "1 2"]


@pytest.mark.parametrize("tag", ["script", "style", "noscript", "template", "svg"])
def test_what_is_not_shown_is_not_text(tag: str) -> None:
    assert parse_html(f"<p>a</p><{tag}>hidden</{tag}><!-- hidden --><p>b</p>").text.split() == ["a", "b"]


@given(st.lists(FRAGMENTS, max_size=30).map("".join) | st.text(max_size=80))
@settings(max_examples=300, deadline=None)
def test_every_visible_character_is_in_one_block(source: str) -> None:
    assert_whole(parse_html(source))


def test_elements_nested_without_end_are_read_without_structure() -> None:
    parsed = parse_html("<div>" * 100_000 + "deep words")
    assert parsed.text.split() == ["deep", "words"]
    assert parsed.problems == ("Elements nested deeper than 1000; read without structure.",)
    assert_whole(parsed)


@pytest.mark.parametrize(
    "source", ["<p>" * 50_000 + "x", "<" * 200_000, "<div><p>x</p></div>" * 20_000, "<b>" * 900 + "x"]
)
def test_long_pages_are_read(source: str) -> None:
    parsed = parse_html(source)
    assert parsed.problems == ()
    assert_whole(parsed)
