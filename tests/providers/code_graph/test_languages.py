"""Go, TypeScript and JavaScript, Java and Rust: their calls against lists that were made by reading."""

from uuid import NAMESPACE_URL, UUID, uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.code_graph import Call, Names, Place, resolve
from app.providers.code_graph.registry import extract, is_test_file, language_of
from app.providers.parsers.registry import parse, parse_text
from tests.providers.code_graph.projects import PROJECTS, Project
from tests.providers.parsers.test_blocks import assert_whole


def document(path: str) -> UUID:
    return uuid5(NAMESPACE_URL, path)


def edges(project: Project) -> tuple[set[tuple[str, str]], set[str]]:
    """(calls as resolved, definitions that are tests)."""
    places: dict[str, list[Place]] = {}
    for path, text in project.files.items():
        facts = extract(path, text)
        assert facts is not None
        places[path] = [
            Place(document(path), path, item.name, item.qualified_name, item.kind, item.start, item.is_test)
            for item in facts.definitions
        ]
    names = Names(place for found in places.values() for place in found)
    told: set[tuple[str, str]] = set()
    for path, text in project.files.items():
        facts = extract(path, text)
        assert facts is not None
        for item in facts.references:
            module = Place(document(path), path, item.name, None, "module", item.offset)
            caller = module if item.within is None else places[path][item.within]
            callee = resolve(Call(item.name, item.qualifier, item.target, caller, item.offset), names)
            if callee is not None:
                told.add((f"{path}:{caller.qualified_name}", f"{callee.path}:{callee.qualified_name}"))
    tests = {
        f"{path}:{p.qualified_name}"
        for path, found in places.items()
        for p in found
        if p.is_test and is_test_file(path)
    }
    return told, tests


@pytest.mark.parametrize("name", PROJECTS)
def test_calls_are_resolved_through_imports_types_and_packages(name: str) -> None:
    told, _ = edges(PROJECTS[name])
    assert told == set(PROJECTS[name].edges)


@pytest.mark.parametrize("name", PROJECTS)
def test_tests_are_known_by_the_conventions_of_their_language(name: str) -> None:
    _, tests = edges(PROJECTS[name])
    assert tests == set(PROJECTS[name].tests)


@pytest.mark.parametrize("name", PROJECTS)
def test_definitions_stand_where_they_say_and_code_is_cut_at_them(name: str) -> None:
    for path, text in PROJECTS[name].files.items():
        facts = extract(path, text)
        parsed = parse(path, text.encode())
        assert_whole(parsed)
        assert parsed.text == text
        assert parsed.code == facts
        assert facts is not None
        for item in facts.definitions:
            assert item.name in text[item.start : item.end]
            if item.kind != "class" and "." not in item.qualified_name:
                [block] = [block for block in parsed.blocks if block.start <= item.start < block.end]
                assert block.heading_path == (item.name,)
                assert text[item.start : item.end].strip() in text[block.start : block.end]


def test_methods_are_under_their_class_with_the_comments_above_them() -> None:
    adds = "/** Adds. */\n  @Deprecated\n  int add() { return x; }"
    text = f"class A {{\n  int x;\n\n  {adds}\n}}\n\n// Free.\nclass B {{ int y; }}\n"
    blocks = parse("A.java", text.encode()).blocks
    assert [(block.heading_path, text[block.start : block.end].strip()) for block in blocks] == [
        (("A",), "class A {\n  int x;"),
        (("A", "add"), adds),
        (("A",), "}"),
        (("B",), "// Free.\nclass B { int y; }"),
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("util/a.go", 'package a\nimport "github.com/pkg/errors"\nfunc f() { errors.Wrap(nil) }'),
        ("util/a.go", 'package a\nimport "golang.org/x/net/errors"\nfunc f() { errors.Wrap(nil) }'),
        ("util/a.ts", 'import { Wrap } from "errors";\nWrap(1);'),
        ("util/a.go", "package a\nfunc f(x thing) { x.Wrap(nil) }"),
    ],
)
def test_what_others_publish_is_not_taken_for_a_folder_of_the_same_name(path: str, text: str) -> None:
    own = {"errors/errors.go": "package errors\nfunc Wrap(err error) error { return err }", path: text}
    assert edges(Project(own, frozenset(), frozenset()))[0] == set()


NAMES = ["a.go", "a.ts", "a.tsx", "a.js", "A.java", "a.rs"]


@pytest.mark.parametrize("name", NAMES)
def test_each_suffix_has_its_language(name: str) -> None:
    assert language_of(name) is not None


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(NAMES),
    st.sampled_from(sorted(PROJECTS)),
    st.integers(0, 900),
    st.integers(0, 400),
    st.text(max_size=8),
)
def test_broken_code_is_read_as_far_as_it_goes(name: str, project: str, start: int, length: int, noise: str) -> None:
    text = "".join(PROJECTS[project].files.values())[start : start + length] + noise
    facts = extract(name, text)
    assert facts is not None
    for item in facts.definitions:
        assert 0 <= item.start < item.end <= len(text)
    for reference in facts.references:
        assert 0 <= reference.offset < len(text)
        assert reference.within is None or reference.within < len(facts.definitions)
    assert_whole(parse_text(name, text))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["(" * 20_000, "{" * 20_000, "a." * 20_000 + "b()", "f(" * 5_000 + ")" * 5_000])
def test_deep_nesting_is_no_danger(name: str, text: str) -> None:
    assert extract(name, text) is not None


def test_an_assertion_that_names_no_type_is_read_over() -> None:
    facts = extract("a.ts", "const all = [1] as const;\nexport function f() { return (all as const).map(f); }\n")
    assert facts is not None
    assert [item.name for item in facts.definitions] == ["f"]
