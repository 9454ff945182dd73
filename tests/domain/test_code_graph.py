"""Which definition a call means; what is worth showing beside a passage."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.code_graph import Call, Names, Place, Span, held, module_of, neighbours, resolve
from app.domain.selection import Relation

HERE = UUID(int=1)


def place(path, qualified, *, start=0, kind=None, is_test=False):
    """A definition in the document of that path; documents are told apart by their paths."""
    kind = kind or ("method" if "." in qualified else "class" if qualified[0].isupper() else "function")
    return Place(document(path), path, qualified.rsplit(".", 1)[-1], qualified, kind, start, is_test)


def document(path):
    return UUID(bytes=path.encode()[-16:].rjust(16, b"."))


def call(name, target=None, *, qualifier=None, path="shop/till.py", caller="work", offset=0, is_test=False):
    return Call(name, qualifier, target, place(path, caller, is_test=is_test), offset)


def meant(made, *definitions):
    found = resolve(made, Names(definitions))
    return None if found is None else (found.path, found.qualified_name)


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("app/domain/budget.py", ("app", "domain", "budget")),
        ("app/domain/__init__.py", ("app", "domain")),
        ("budget.py", ("budget",)),
        ("web/src/index.ts", ("web", "src")),
        ("/rooted/a.py", ("rooted", "a")),
    ],
)
def test_modules(path, steps):
    assert module_of(path) == steps


def test_the_files_own_definition_is_meant_where_the_file_says_so():
    own, other = place("shop/till.py", "count"), place("shop/box.py", "count")
    assert meant(call("count", ":count"), own, other) == ("shop/till.py", "count")
    assert meant(call("count", ":count"), other) is None


def test_of_two_definitions_of_one_name_in_a_file_the_last_stands():
    first, last = place("shop/till.py", "count", start=1), place("shop/till.py", "count", start=9)
    assert resolve(call("count", ":count"), Names([last, first])) is last


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("shop.box.count", "shop/box.py"),
        (".box.count", "shop/box.py"),
        ("..far.box.count", "far/box.py"),
        ("far.box.count", "far/box.py"),
    ],
)
def test_imports_choose_among_equal_names(target, path):
    definitions = [place(one, "count") for one in ("shop/till.py", "shop/box.py", "far/box.py")]
    assert meant(call("count", target), *definitions) == (path, "count")


def test_a_source_may_begin_above_the_folder_of_imports():
    assert meant(call("count", "shop.box.count"), place("src/shop/box.py", "count")) == ("src/shop/box.py", "count")
    two = place("one/shop/box.py", "count"), place("two/shop/box.py", "count")
    assert meant(call("count", "shop.box.count"), *two) is None
    assert meant(call("count", "shop.box.count", path="two/shop/a.py"), *two) == ("two/shop/box.py", "count")


def test_a_package_hands_on_what_its_modules_define():
    box = place("shop/things/box.py", "Box")
    assert meant(call("Box", "shop.things.Box"), box) == ("shop/things/box.py", "Box")
    assert meant(call("Box", "shop.things.Box"), box, place("shop/things/crate.py", "Box")) is None
    assert meant(call("Box", "shop.other.Box"), box) is None
    assert meant(call("Box", "things.Box"), box) is None


def test_what_is_imported_from_outside_means_nothing_inside():
    assert meant(call("text", "sqlalchemy.text"), place("shop/box.py", "text")) is None
    assert meant(call("run", "httpx.Client.run"), place("shop/box.py", "Client.run")) is None


def test_a_method_of_an_imported_class_and_one_that_it_inherits():
    own, base = place("shop/box.py", "Box.open"), place("shop/box.py", "Base.close")
    assert meant(call("open", "shop.box.Box.open", qualifier="box"), own) == ("shop/box.py", "Box.open")
    assert meant(call("close", "shop.box.Box.close", qualifier="box"), base) == ("shop/box.py", "Base.close")
    two = place("shop/box.py", "Other.close")
    assert meant(call("close", "shop.box.Box.close", qualifier="box"), base, two) is None


def test_a_plain_name_that_is_unknown_means_the_only_one_of_a_module():
    assert meant(call("count"), place("far/box.py", "count")) == ("far/box.py", "count")
    assert meant(call("count"), place("far/box.py", "count"), place("a.py", "count")) is None
    assert meant(call("count"), place("far/box.py", "Box.count")) is None
    assert meant(call("count"), place("far/box.py", "outer.count", kind="function")) is None


@pytest.mark.parametrize(
    ("qualifier", "name", "expected"),
    [
        ("box", "open", True),
        ("_box", "open", True),
        ("my_box", "open", True),
        ("thing", "open", False),
        ("", "open", False),
        ("thing", "open_lid", True),
        ("x", "open", False),
    ],
)
def test_a_call_on_something_needs_more_than_the_name(qualifier, name, expected):
    made = call(name, qualifier=qualifier)
    assert (meant(made, place("far/box.py", f"Box.{name}")) is not None) is expected
    assert meant(made, place("far/box.py", name)) is None


def test_of_equal_methods_the_one_whose_class_has_the_receivers_name():
    definitions = place("a.py", "Box.open"), place("b.py", "Door.open"), place("c.py", "open")
    assert meant(call("open", qualifier="door"), *definitions) == ("b.py", "Door.open")
    assert meant(call("open", qualifier="window"), *definitions) is None
    assert meant(call("open", qualifier="door"), *definitions, place("d.py", "Door.open")) is None


paths = st.sampled_from(["a.py", "p/a.py", "p/b.py", "p/__init__.py", "q/p/a.py"])
qualified = st.sampled_from(["run", "Box.run", "Box", "outer.run", "go", "Box.go"])
definitions = st.lists(st.builds(place, paths, qualified, start=st.integers(0, 9)), max_size=8)
made = st.builds(
    call,
    st.sampled_from(["run", "go", "Box"]),
    st.sampled_from([None, ":run", ":Box.run", "p.a.run", ".a.go", "p.Box.run", "...run", "run", "."]),
    qualifier=st.sampled_from([None, "box", "", "thing"]),
    path=paths,
)


@given(made, definitions, st.randoms())
def test_a_call_means_one_of_its_name_whatever_the_order(made, places, chance):
    """Deterministic but for definitions that nothing tells apart."""
    found = resolve(made, Names(places))
    assert found is None or (found in places and found.name == made.name)
    mixed = list(places)
    chance.shuffle(mixed)
    assert resolve(made, Names(mixed)) == found


@given(made, definitions)
def test_more_of_the_same_name_elsewhere_never_make_another_sure(made, places):
    """A further definition may make a call ambiguous, or be what it means itself; it changes no other answer."""
    for further in [place("z/deep/other.py", "run"), place("z/deep/other.py", "Crate.go")]:
        before, after = resolve(made, Names(places)), resolve(made, Names([*places, further]))
        assert after in (before, None, further)


# What a chunk is about


def test_a_chunk_is_about_what_begins_in_it_and_the_function_that_it_continues():
    outer = Span(place("a.py", "Box", start=0), 100)
    first, second = Span(place("a.py", "Box.one", start=10), 50), Span(place("a.py", "Box.two", start=50), 100)
    inner = Span(place("a.py", "Box.one.inner", start=20), 40)
    spans = [outer, first, second, inner]

    def names(start, end):
        return [item.qualified_name for item in held(spans, start, end)]

    assert names(0, 10) == ["Box"]
    assert names(10, 50) == ["Box.one", "Box.one.inner"]
    assert names(50, 100) == ["Box.two"]
    assert names(25, 35) == ["Box.one.inner"]
    assert names(42, 60) == ["Box.one", "Box.two"]
    assert names(60, 100) == ["Box.two"]
    assert names(0, 100) == ["Box", "Box.one", "Box.one.inner", "Box.two"]
    assert names(100, 120) == []


# What is beside it


def beside(about, inside, towards, known):
    found = neighbours(about, inside, towards, Names(known))
    return [(item.relation, item.place.path, item.place.qualified_name) for item in found]


def test_callees_callers_and_tests():
    count, box, till = place("shop/till.py", "count"), place("shop/box.py", "box"), place("shop/till.py", "open_till")
    assert beside(
        [count],
        [call("box", "shop.box.box", caller="count", offset=2), call("count", ":count", caller="count", offset=1)],
        [
            call("count", "shop.till.count", path="tests/test_till.py", caller="test_count", is_test=True),
            call("count", "shop.till.count", path="a/desk.py", caller="desk"),
            call("count", ":count", path="shop/till.py", caller="open_till", offset=7),
            call("count", ":count", path="shop/till.py", caller="open_till", offset=9),
            call("count", "elsewhere.count", path="a/far.py", caller="far"),
        ],
        [count, box, till],
    ) == [
        (Relation.CALLS, "shop/box.py", "box"),
        (Relation.CALLED_BY, "shop/till.py", "open_till"),
        (Relation.CALLED_BY, "a/desk.py", "desk"),
        (Relation.TESTED_BY, "tests/test_till.py", "test_count"),
    ]


def test_who_calls_and_is_called_is_named_once():
    one, two = place("a.py", "one"), place("a.py", "two")
    assert beside(
        [one],
        [call("two", ":two", path="a.py", caller="one")],
        [call("one", ":one", path="a.py", caller="two")],
        [one, two],
    ) == [(Relation.CALLED_BY, "a.py", "two")]


def test_a_call_of_itself_is_no_relation():
    one = place("a.py", "one")
    again = call("one", ":one", path="a.py", caller="one")
    assert beside([one], [again], [again], [one]) == []
