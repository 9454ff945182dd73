"""Texts that are made to hold up who reads their graph."""

import pytest

from app.providers.code_graph import parsing, python, registry
from app.providers.code_graph.parsing import MAX_BROKEN, MAX_DEPTH
from app.providers.parsers.registry import parse_text

FILES = ("a.py", "a.go", "a.java", "a.rs", "a.ts", "a.tsx", "a.js")


def is_empty(found):
    return not (found.definitions or found.references or found.imports)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("unit", ["(", "{[", "-", ".b()", "a()"])
def test_brackets_that_nothing_closes_have_no_graph(name, unit, monkeypatch):
    def followed(*_):
        raise AssertionError("the tree is followed")

    monkeypatch.setattr(python, "_noted", followed)
    assert is_empty(registry.extract(name, unit * (20 * MAX_BROKEN)))


@pytest.mark.parametrize("name", ["a.go", "a.java", "a.ts", "a.js"])
def test_a_tree_of_too_many_levels_has_no_graph(name):
    source = "x = " + "(" * MAX_DEPTH + "f()" + ")" * MAX_DEPTH + ";"
    assert is_empty(registry.extract(name, source))


def test_too_deep_for_python_either():
    assert is_empty(registry.extract("a.py", "x = " + "(" * MAX_DEPTH + "f()" + ")" * MAX_DEPTH))
    assert registry.extract("a.py", "def f(): ...\nx = " + "(" * 90 + "f()" + ")" * 90).references != ()


def test_broken_code_keeps_its_graph():
    found = registry.extract("a.py", "def f():\n    return 1\n\ndef h():\n    f()\n\nx = (((\n")
    assert {item.name for item in found.definitions} == {"f", "h"}


def test_reading_ends_when_its_time_is_over(monkeypatch):
    assert not is_empty(registry.extract("a.java", "class A { void f() { g(); } }" * 20))
    monkeypatch.setattr(parsing, "MAX_SECONDS", -1.0)
    assert is_empty(registry.extract("a.java", "class A { void f() { g(); } }" * 20))


@pytest.mark.parametrize("name", FILES)
def test_its_text_is_kept_whole(name):
    text = "(" * (2 * MAX_BROKEN)
    parsed = parse_text(name, text)
    assert parsed.text == text
    assert "".join(text[block.start : block.end] for block in parsed.blocks) == text
