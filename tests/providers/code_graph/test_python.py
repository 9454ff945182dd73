"""What is read of a Python file: definitions, calls with what they mean, imports."""

import ast
from textwrap import dedent
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.assembly.installation import ROOT
from app.providers.code_graph.registry import MAX_CHARACTERS, extract, is_code, is_test_file


def facts(source, name="package/module.py"):
    return extract(name, dedent(source))


def calls(source):
    """(what it is called by, the path that it means, where it stands)"""
    found = facts(source)
    return [
        (call.name, call.target, None if call.within is None else found.definitions[call.within].qualified_name)
        for call in found.references
    ]


def targets(source):
    return [target for _, target, _ in calls(source)]


def test_definitions_with_their_places():
    source = dedent(
        """\
        import os

        @cache
        def outer(a):
            def inner():
                pass
            return inner

        class Shelf(Base):
            size = 3

            @property
            async def fill(self): ...

            class Label:
                def text(self): ...
        """
    )
    found = extract("a.py", source).definitions
    assert [(item.qualified_name, item.kind) for item in found] == [
        ("outer", "function"),
        ("outer.inner", "function"),
        ("Shelf", "class"),
        ("Shelf.fill", "method"),
        ("Shelf.Label", "class"),
        ("Shelf.Label.text", "method"),
    ]
    texts = {item.name: source[item.start : item.end] for item in found}
    assert texts["outer"].startswith("@cache\ndef outer")
    assert texts["outer"].endswith("return inner")
    assert texts["fill"] == "@property\n    async def fill(self): ..."
    assert texts["Label"].startswith("class Label")


def test_offsets_count_code_points():
    source = "# ключ 𝒳 部署\ndef café():\n    return zoë()\n"
    found = extract("a.py", source)
    (definition,), (call,) = found.definitions, found.references
    assert source[definition.start : definition.end] == "def café():\n    return zoë()"
    assert source[call.offset :].startswith("zoë()")
    assert call.name == "zoë"


def test_tests_are_known_by_their_names():
    found = facts(
        """
        def test_one():
            def helper(): ...
        def testing(): ...
        def attest_(): ...
        class TestShelf:
            def test_two(self): ...
            def helped(self): ...
        class Shelf:
            def test_connection(self): ...
            def other(self): ...
        """
    )
    assert [item.qualified_name for item in found.definitions if item.is_test] == [
        "test_one",
        "test_one.helper",
        "TestShelf",
        "TestShelf.test_two",
        "TestShelf.helped",
        "Shelf.test_connection",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("test_a.py", True), ("x/a_test.py", True), ("tests/helper.py", False), ("contest.py", False), ("a.md", False)],
)
def test_test_files(name, expected):
    assert is_test_file(name) is expected


def test_only_code_has_a_graph():
    assert is_code("a/B.PY")
    assert is_code("a.pyi")
    assert not is_code("a.md")
    assert extract("a.md", "def f(): g()") is None


def test_imports():
    found = facts(
        """
        import a.b.c, os as system
        import a.b as c
        from x.y import z
        from .near import one as two
        from .. import (
            up,
            down,
        )
        from q import *
        """
    )
    assert [(item.local, item.module, item.name) for item in found.imports] == [
        ("a", "a.b.c", None),
        ("system", "os", None),
        ("c", "a.b", None),
        ("z", "x.y", "z"),
        ("two", ".near", "one"),
        ("up", "..", "up"),
        ("down", "..", "down"),
        ("*", "q", "*"),
    ]


def test_calls_through_imports_mean_what_was_imported():
    assert targets(
        """
        import a.b as c
        import d.e
        from .x import y as z
        from .. import top
        from p.q import Thing

        c.run(); d.e.run(); z(); top.go(); Thing(); Thing.make(); Thing.Part.make()
        """
    ) == ["a.b.run", "d.e.run", ".x.y", "..top.go", "p.q.Thing", "p.q.Thing.make", "p.q.Thing.Part.make"]


def test_an_alias_is_known_by_its_own_name():
    found = facts("from m import true_name as alias\nalias()")
    assert [call.name for call in found.references] == ["true_name"]


def test_calls_of_the_files_own():
    assert calls(
        """
        def first(): second()
        def second():
            def inner(): first()
            inner()
        first()
        """
    ) == [
        ("second", ":second", "first"),
        ("first", ":first", "second.inner"),
        ("inner", ":second.inner", "second"),
        ("first", ":first", None),
    ]


def test_methods_through_self_and_cls_and_super():
    assert targets(
        """
        class Base:
            def common(self): ...
        class Shelf(Base):
            def fill(self):
                self.sort(); self.common(); super().common(); self.missing()
            @classmethod
            def make(cls):
                cls().sort(); cls.make()
            @staticmethod
            def free(self):
                self.sort()
            def sort(self): ...
        """
    ) == [
        ":Shelf.sort",
        ":Base.common",
        ":Base.common",
        ":Shelf.sort",
        ":Shelf",
        ":Shelf.make",
    ]


def test_what_is_inherited_from_elsewhere_is_looked_for_there():
    assert targets(
        """
        from shop.base import Base
        class Shelf(Base):
            def fill(self):
                self.common(); super().fill()
        """
    ) == ["shop.base.Base.common", "shop.base.Base.fill"]


def test_receivers_known_by_annotation_assignment_and_attribute():
    assert targets(
        """
        from shop.till import Till, open_till
        class Clerk:
            till: Till
            spare: "Till | None" = None
            def __init__(self, other: Till):
                self.other = other
                self.own = Till()
            def work(self, given: Till, maybe: Till | None, listed: list[Till]):
                given.a(); maybe.b(); self.till.c(); self.spare.d(); self.other.e(); self.own.f()
                made = Till(1)
                made.g()
                with Till() as opened:
                    opened.h()
                listed.append(2)
                listed.append(1)
                (waited := Till()).j()
                waited.k()
        """
    )[1:] == [
        "shop.till.Till.a",
        "shop.till.Till.b",
        "shop.till.Till.c",
        "shop.till.Till.d",
        "shop.till.Till.e",
        "shop.till.Till.f",
        "shop.till.Till",
        "shop.till.Till.g",
        "shop.till.Till",
        "shop.till.Till.h",
        "shop.till.Till.j",
        "shop.till.Till",
        "shop.till.Till.k",
    ]


def test_what_a_function_of_the_file_returns_is_known():
    assert targets(
        """
        from shop.till import Till
        def find() -> Till | None: ...
        class Box:
            @classmethod
            def make(cls) -> "Box": ...
            @property
            def till(self) -> Till: ...
            def lid(self): ...
        def work():
            find().ring()
            box = Box.make()
            box.lid()
            box.till.ring()
        """
    ) == ["shop.till.Till.ring", ":find", ":Box.make", ":Box.lid", "shop.till.Till.ring"]


def test_awaits_comprehensions_lambdas_and_defaults():
    assert calls(
        """
        from m import a, b, c, d, e, f
        @d(1)
        def g(x=c(), y: e() = 1):
            return [await b(i) for i in a() if b(i)]
        key = lambda item: f(item)
        """
    ) == [
        ("d", "m.d", None),
        ("c", "m.c", None),
        ("e", "m.e", None),
        ("b", "m.b", "g"),
        ("a", "m.a", "g"),
        ("b", "m.b", "g"),
        ("f", "m.f", None),
    ]


def test_names_that_are_bound_to_values_mean_nothing():
    assert targets(
        """
        from m import run, go
        def run_it(run): run()
        def loop(things):
            for go in things: go()
            [go() for go in things]
        def local():
            go = pick()
            go()
        def nested():
            def go(): ...
            go()
        (lambda run: run())(1)
        """
    ) == [None, ":nested.go"]


def test_the_class_body_is_not_seen_from_its_methods():
    assert targets(
        """
        def make(): ...
        class Shelf:
            def make(self): make()
            made = make()
        """
    ) == [":make", ":Shelf.make"]


def test_builtins_and_the_standard_library_are_left_out():
    assert targets(
        """
            import json, asyncio
            from collections import Counter
            def f(text: str, names: dict[str, int]):
                len(text); print(json.dumps(1)); text.strip().split(); names.items(); "".join(()); Counter().update()
                asyncio.run(1); [].append(1); f"{1}".encode(); something().append(2)
            """
    ) == [None]


def test_unknown_receivers_keep_their_name():
    (call,) = facts("def f(world): world.parts.settle()").references
    assert (call.name, call.qualifier, call.target) == ("settle", "parts", None)


@pytest.mark.parametrize(
    "source", ["def f(:\n  g()\nclass A\n  def h(self): i()\n", "def", "(" * 2000, "@", "a.b.", ""]
)
def test_broken_code_gives_what_can_be_read(source):
    found = extract("a.py", source)
    assert found.language == "python"


def test_what_follows_a_broken_line_is_still_read():
    found = extract("a.py", "def whole():\n    other()\n\ndef broken(:\n    pass\n\ndef after():\n    whole()\n")
    assert {"whole", "after"} <= {item.name for item in found.definitions}
    assert ":whole" in {call.target for call in found.references}


WORDS = 'def |class |f|(|)|:|@|import |from |.|x|=|lambda |é|[|*|await |self|,|as |with |#|super()|-> |None|\n|    |"'
pieces = st.sampled_from([*WORDS.split("|"), "|"])


@given(st.lists(pieces, max_size=60).map("".join) | st.text(max_size=200))
def test_any_text_is_read_without_an_error(source):
    found = extract("a.py", source)
    for item in found.definitions:
        assert 0 <= item.start <= item.end <= len(source)
    for call in found.references:
        assert 0 <= call.offset <= len(source)
        assert call.within is None or call.within < len(found.definitions)


def test_a_file_of_a_megabyte_takes_little():
    """Of processor time, with ample room."""
    block = "class C{0}:\n    def m(self, other: 'C{0}'):\n        return [self.m(x) for x in other.m(f(x))]\n\n"
    source = "".join(block.format(number) for number in range(10_500))
    assert len(source) > 1_000_000
    started = process_time()
    found = extract("a.py", source)
    assert process_time() - started < 20
    assert len(found.definitions) == 21_000
    assert len(found.references) > 10_000


def test_what_is_nested_deeply_ends():
    assert extract("a.py", "f(" * 20_000) is not None
    assert extract("a.py", "x = " + "(a." * 5000 + "b" + ")" * 5000) is not None
    assert extract("a.py", "a" + ".b" * 20_000 + "()") is not None
    assert extract("a.py", "".join(f"{' ' * depth}def f{depth}():\n" for depth in range(300))) is not None


def test_what_is_too_long_has_no_graph():
    assert extract("a.py", "#" * (MAX_CHARACTERS + 1)) is None


def test_this_repository_is_read_as_its_own_parser_reads_it():
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for path in sorted((ROOT / "app").rglob("*.py")):
        source = path.read_text()
        expected = [(node.lineno, node.name) for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
        found = extract(str(path), source).definitions
        assert [item.name for item in found] == [name for _, name in sorted(expected)], path
