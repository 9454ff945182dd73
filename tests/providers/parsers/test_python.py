from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.providers.parsers.python import parse_python
from tests.providers.parsers.test_blocks import assert_whole

SOURCE = '''#!/usr/bin/env python
"""What it does."""

import os
from a import b

LIMIT = 1
NAMES = [
    "x",
]

# About f.
@decorated(
    1
)
async def f(x):
    """Doc."""
    def inner(): ...
    return inner


class C(
    Base,
):
    """A class."""

    field: int = 1

    # About m.
    @property
    def m(self):
        return "é" * 3

    class D:
        def n(self): pass

if __name__ == "__main__":
    f()
# the end
'''


def pieces(source: str) -> list[tuple[str, tuple[str, ...], str]]:
    parsed = parse_python(source)
    return [(b.kind, b.heading_path, parsed.text[b.start : b.end].strip()) for b in parsed.blocks]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_module_is_cut_at_its_definitions(newline: str) -> None:
    found = pieces(SOURCE.replace("\n", newline))
    assert [(kind, path, text.splitlines()[0], text.splitlines()[-1]) for kind, path, text in found] == [
        ("docstring", (), "#!/usr/bin/env python", '"""What it does."""'),
        ("import", (), "import os", "from a import b"),
        ("code", (), "LIMIT = 1", "]"),
        ("function", ("f",), "# About f.", "    return inner"),
        ("class", ("C",), "class C(", "):"),
        ("docstring", ("C",), '"""A class."""', '"""A class."""'),
        ("code", ("C",), "field: int = 1", "field: int = 1"),
        ("function", ("C", "m"), "# About m.", '        return "é" * 3'),
        ("class", ("C", "D"), "class D:", "class D:"),
        ("function", ("C", "D", "n"), "def n(self): pass", "def n(self): pass"),
        ("code", (), 'if __name__ == "__main__":', "    f()"),
        ("paragraph", (), "# the end", "# the end"),
    ]


def test_definitions_on_one_line_are_all_kept() -> None:
    for source in (
        "class A: x = 1; y = 2",
        "x = 1; y = 2; import os; z = 3\ndef f(): pass",
        "class A: pass\nclass B: pass",
    ):
        assert_whole(parse_python(source))


@pytest.mark.parametrize(
    "source",
    [
        "def broken(:\n\n    pass\n",
        "print 'two'",
        "(" * 10_000,
        "-" * 100_000 + "1",
        "1+" * 100_000 + "1",
        "not " * 50_000,
        "a" + "[0]" * 50_000,
        "\udcff",
        "if 1:\n\tx\n        y",
    ],
    ids=lambda source: ascii(source[:12]),
)
def test_what_python_cannot_read_is_plain_text(source: str) -> None:
    parsed = parse_python(source)
    assert parsed.problems == ("Not valid Python; read as plain text.",)
    assert parsed.language == "python"
    assert_whole(parsed)


def test_a_doubtful_escape_is_no_problem(recwarn: pytest.WarningsRecorder) -> None:
    assert parse_python("x = '\\d'").problems == ()
    assert not recwarn.list


LINES = st.sampled_from(
    [
        "import a",
        "x = 1",
        "def f(): pass",
        "class C: pass",
        "class C:",
        "    y = 2",
        "    def m(self):",
        "        return 1",
        "# c",
        "",
        '"""d"""',
        "@d",
        "if x:",
        "    z",
        "x = '''",
        "'''",
        "\x0c",
        "é = '\u2028'",
        "a; b",
    ]
)


@given(st.lists(LINES, max_size=20), st.sampled_from(["\n", "\r\n", "\r"]))
@settings(max_examples=300, deadline=None)
def test_every_visible_character_is_in_one_block(lines: list[str], newline: str) -> None:
    assert_whole(parse_python(newline.join(lines)))


def test_this_repository_is_read() -> None:
    paths = sorted((Path(__file__).parents[3] / "app").rglob("*.py"))
    assert paths
    for path in paths:
        parsed = parse_python(path.read_text())
        assert parsed.problems == ()
        assert_whole(parsed)


def test_many_threads_read_at_once() -> None:
    paths = sorted((Path(__file__).parents[3] / "app").rglob("*.py"))[:60]
    texts = [path.read_text() for path in paths] * 3
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(parse_python, texts))
    assert [parsed.problems for parsed in found] == [()] * len(texts)
