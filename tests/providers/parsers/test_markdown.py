import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.providers.parsers.markdown import parse_markdown
from tests.providers.parsers.test_blocks import assert_whole

FRAGMENTS = st.sampled_from(
    [
        "# A\n",
        "## B *c*\n",
        "### \n",
        "Title\n===\n",
        "sub\n---\n",
        "---\n",
        "title: x\n",
        "text\n",
        "\n",
        "- a\n",
        "  b\n",
        "1. c\n",
        "> q\n",
        "> # in a quotation\n",
        "```\n",
        "~~~py\n",
        "    code\n",
        "| a | b |\n",
        "|---|---|\n",
        "<div>\n",
        "[x]: http://y\n",
        "\t",
        " ",
        "\r\n",
        "\r",
        "<!-- c\n",
        "-->\n",
        "\u2028",
        "\x0c",
        "\\",
        "[",
        "`",
        "*",
        "&amp;",
    ]
)


def pieces(text: str) -> list[tuple[str, tuple[str, ...], str]]:
    return [(b.kind, b.heading_path, text[b.start : b.end].strip()) for b in parse_markdown(text).blocks]


def test_blocks_stand_under_their_headings() -> None:
    text = "intro\n\n# One *big* `x`\n\npara\nsame\n\n## Two\n- a\n- b\n\n  more\n\n# Three\n\n#### Deep\nend"
    one, two = "One big x", "Two"
    assert pieces(text) == [
        ("paragraph", (), "intro"),
        ("heading", (one,), "# One *big* `x`"),
        ("paragraph", (one,), "para\nsame"),
        ("heading", (one, two), "## Two"),
        ("paragraph", (one, two), "- a"),
        ("paragraph", (one, two), "- b"),
        ("paragraph", (one, two), "more"),
        ("heading", ("Three",), "# Three"),
        ("heading", ("Three", "Deep"), "#### Deep"),
        ("paragraph", ("Three", "Deep"), "end"),
    ]
    assert parse_markdown(text).title == one


def test_a_fence_is_one_block_and_its_hashes_are_no_headings() -> None:
    fence = "```py\n# not a heading\n\nx = 1\n```"
    assert pieces(f"# A\n{fence}\n") == [("heading", ("A",), "# A"), ("code", ("A",), fence)]


def test_a_table_is_one_block() -> None:
    table = "| a | b |\n|---|:-:|\n| 1 | 2 |"
    assert pieces(f"x\n\n{table}\n\ny") == [
        ("paragraph", (), "x"),
        ("table", (), table),
        ("paragraph", (), "y"),
    ]


def test_a_heading_in_a_quotation_or_list_opens_no_section() -> None:
    text = "# A\n\n> # B\n> text\n\n- # C\n\nlast"
    assert {path for _, path, _ in pieces(text)} == {("A",)}


def test_a_setext_heading_and_an_empty_one() -> None:
    assert [path for _, path, _ in pieces("A\nlong\n===\nx\n\n##\ny\n\nB\n---\nz")] == [
        ("A long",),
        ("A long",),
        ("A long",),
        ("A long",),
        ("A long", "B"),
        ("A long", "B"),
    ]


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("A [link](http://x) here", "A link here"),
        ("`a_b` & **c** &amp; d", "a_b & c & d"),
        ("An ![image](x.png) <b>bold</b>", "An image bold"),
        ("Trailing ###", "Trailing"),
        ("a \\* b", "a * b"),
        ("C# and F#", "C# and F#"),
        ("snake_case_name", "snake_case_name"),
    ],
)
def test_heading_paths_are_plain_text(source: str, plain: str) -> None:
    assert parse_markdown(f"# {source}\n").blocks[0].heading_path == (plain,)


@pytest.mark.parametrize("end", ["---", "..."])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_front_matter_is_a_block_and_names_the_page(end: str, newline: str) -> None:
    text = newline.join(["---", 'title: "A page"', "tags: [x]", end, "# Heading", "text"])
    parsed = parse_markdown(text)
    assert parsed.title == "A page"
    assert [(b.kind, b.heading_path) for b in parsed.blocks] == [
        ("front_matter", ()),
        ("heading", ("Heading",)),
        ("paragraph", ("Heading",)),
    ]
    assert text[parsed.blocks[1].start :].startswith("# Heading")


@pytest.mark.parametrize("text", ["---\nplain words\n---\n", "---\ntitle: never ends\n", "---\n", "---"])
def test_a_rule_at_the_top_is_no_front_matter(text: str) -> None:
    parsed = parse_markdown(text)
    assert parsed.title is None
    assert all(block.kind != "front_matter" for block in parsed.blocks)


@given(st.lists(FRAGMENTS, max_size=30).map("".join) | st.text(max_size=80))
@settings(max_examples=300, deadline=None)
def test_every_visible_character_is_in_one_block(text: str) -> None:
    parsed = parse_markdown(text)
    assert parsed.text == text
    assert_whole(parsed)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        ">" * 10_000,
        "> " * 10_000 + "a",
        "[" * 10_000,
        "# " + "[" * 200_000,
        "#" * 100_000,
        "- " * 10_000,
        "[a]: b\n" * 40_000,
        "`" * 100_000 + "\n" + "*_" * 50_000,
        "<!--" * 50_000,
        "|" * 100_000,
        "title: " + " " * 100_000,
        "---\ntitle: " + "x " * 100_000 + "\n---\n",
        "a|b\n" + "-" * 50_000 + " x",
    ],
    ids=lambda text: f"{text[:6]!r} {len(text)}",
)
def test_what_is_built_to_break_a_parser_is_read(text: str) -> None:
    assert_whole(parse_markdown(text))


def test_a_big_page_is_read_whole() -> None:
    page = "# Heading\n\nSome words of text in a paragraph.\n\n- item\n- item\n\n```\ncode\n```\n\n"
    text = page * (600_000 // len(page))
    parsed = parse_markdown(text)
    assert_whole(parsed)
    assert sum(block.kind == "heading" for block in parsed.blocks) == text.count("# Heading")
