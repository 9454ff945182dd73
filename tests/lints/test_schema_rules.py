"""What the lint of the schema refuses, on small schemas and small repositories; and that the real one passes."""

from pathlib import Path

import pygit2
import pytest
from graphql import GraphQLSchema, build_schema

from tests.lints.schema_rules import (
    BREAKS,
    ROOT,
    SDL,
    Release,
    Report,
    check,
    compare,
    last_release,
    main,
    undated,
    undescribed,
)

DESCRIBED = '''
"""Marks."""
directive @mark("How." how: String) on FIELD_DEFINITION

"""Reads."""
type Query {
  """Finds."""
  find("What." what: Input, "How." by: Kind): Thing
}

"""A thing."""
interface Thing {
  """Its name."""
  name: String
}

"""What is looked for."""
input Input {
  """A word."""
  word: String
}

"""How it is looked for."""
enum Kind {
  """By its words."""
  TEXT
}

"""A moment."""
scalar Instant
'''


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ('"""Marks."""', "@mark"),
        ('"""Reads."""', "Query"),
        ('"""Finds."""', "Query.find"),
        ('"What."', "Query.find(what)"),
        ('"""A thing."""', "Thing"),
        ('"""Its name."""', "Thing.name"),
        ('"""What is looked for."""', "Input"),
        ('"""A word."""', "Input.word"),
        ('"""How it is looked for."""', "Kind"),
        ('"""By its words."""', "Kind.TEXT"),
        ('"""A moment."""', "Instant"),
    ],
)
def test_what_has_no_description_is_named(description: str, name: str) -> None:
    assert undescribed(build_schema(DESCRIBED)) == []
    assert undescribed(build_schema(DESCRIBED.replace(description, "", 1))) == [name]
    assert undescribed(build_schema(DESCRIBED.replace(description, '" "', 1))) == [name]


@pytest.mark.parametrize(
    "reason",
    ["Since 2027-01-31 `name` says it.", "use `name`, from v0.3 on", "1.2.0: it was never used"],
)
def test_a_deprecation_with_reason_and_date_or_version(reason: str) -> None:
    assert undated(_deprecated(f'@deprecated(reason: "{reason}")')) == []


@pytest.mark.parametrize(
    "directive",
    [
        "@deprecated",
        '@deprecated(reason: "use `name`")',
        '@deprecated(reason: "2027-01-31")',
        '@deprecated(reason: "v1.2")',
        '@deprecated(reason: "")',
        '@deprecated(reason: "since 99-99-99, see `name`")',
    ],
)
def test_a_deprecation_that_does_not_say_why_and_since_when(directive: str) -> None:
    everywhere = ["Query.old", "Query.new(old)", "Kind.OLD", "Input.old"]
    assert sorted(undated(_deprecated(directive))) == sorted(everywhere)


def _deprecated(directive: str) -> GraphQLSchema:
    return build_schema(
        f"type Query {{ old: Int {directive} new(old: Int {directive}, given: Input): Kind }} "
        f"enum Kind {{ NEW OLD {directive} }} input Input {{ new: Int old: Int {directive} }}"
    )


BEFORE = "type Query { kept: Int! gone(given: Int): Int } enum Kind { ONE TWO } input Input { word: String }"


class Small:
    """A small repository with a schema."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.repository = pygit2.init_repository(str(root))

    def commit(self, sdl: str | None, tag: str | None = None, annotated: bool = False) -> None:
        if sdl is not None:
            (self.root / SDL).parent.mkdir(exist_ok=True)
            (self.root / SDL).write_text(sdl)
        self.repository.index.add_all()
        who = pygit2.Signature("Ann", "ann@example.com", 1_767_225_600, 0)
        parents = [] if self.repository.head_is_unborn else [self.repository.head.target]
        tree = self.repository.index.write_tree()
        made = self.repository.create_commit("HEAD", who, who, "A change", tree, parents)
        if tag and annotated:
            self.repository.create_tag(tag, made, pygit2.enums.ObjectType.COMMIT, who, "A release")
        elif tag:
            self.repository.references.create(f"refs/tags/{tag}", made)

    def breaks(self, text: str) -> None:
        (self.root / SDL).parent.mkdir(exist_ok=True)
        (self.root / BREAKS).write_text(text)

    def compared(self, sdl: str) -> Report:
        return compare(build_schema(sdl), self.root)


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (BEFORE.replace("gone(given: Int): Int", ""), "Query.gone was removed."),
        (BEFORE.replace("kept: Int!", "kept: Int"), "Query.kept changed type from Int! to Int."),
        (BEFORE.replace("kept: Int!", "kept: String!"), "Query.kept changed type from Int! to String!."),
        (BEFORE.replace("given: Int", "given: Int!"), "Query.gone(given:) has changed type from Int to Int!."),
        (BEFORE.replace("given: Int", "given: Int, more: Int!"), "more"),
        (BEFORE.replace("ONE TWO", "ONE"), "TWO"),
        (BEFORE.replace("word: String", "word: String more: Int!"), "more"),
        (BEFORE.replace("enum Kind { ONE TWO }", ""), "Kind"),
    ],
)
@pytest.mark.parametrize("annotated", [False, True])
def test_what_breaks_clients_of_the_last_tag_fails(small: Small, after: str, said: str, annotated: bool) -> None:
    small.commit(BEFORE, "v1.0.0", annotated)
    small.commit(after)
    [fault] = small.compared(after).faults
    assert fault.startswith("breaks clients of v1.0.0: ")
    assert said in fault


def test_what_is_only_added_passes_and_what_is_dangerous_is_said(small: Small) -> None:
    small.commit(BEFORE, "v1.0.0")
    assert small.compared(BEFORE) == Report()
    assert small.compared(BEFORE.replace("kept:", "more: Int kept:")) == Report()
    report = small.compared(BEFORE.replace("TWO", "TWO THREE"))
    assert report.faults == []
    [note] = report.notes
    assert note.startswith("dangerous for clients of v1.0.0: ")
    assert "THREE" in note


def test_a_break_that_is_meant_is_listed_with_its_reason(small: Small) -> None:
    small.commit(BEFORE, "v1.0.0")
    after = BEFORE.replace("gone(given: Int): Int", "")
    small.breaks('["v0.9.0"]\n"Field Query.gone was removed." = "seen from another tag"\n')
    assert len(small.compared(after).faults) == 1
    small.breaks('["v1.0.0"]\n"Field Query.gone was removed." = "it never answered"\n')
    assert small.compared(after) == Report(
        notes=["breaks clients of v1.0.0, as intended: Field Query.gone was removed. it never answered"]
    )
    small.breaks('["v1.0.0"]\n"Field Query.gone was removed." = " "\n')
    assert small.compared(after).faults == [f"{BREAKS} does not say why: Field Query.gone was removed."]
    small.breaks('["v1.0.0"]\n"Field Query.gone was removed." = "why"\n"Field Query.kept was removed." = "a slip"\n')
    [fault] = small.compared(after).faults
    assert fault.startswith(f"{BREAKS} lists what does not break clients of v1.0.0: Field Query.kept")


def test_the_last_tag_is_the_nearest_one_behind(small: Small) -> None:
    small.commit(BEFORE, "v1.0.0")
    small.commit(BEFORE.replace("ONE TWO", "ONE TWO THREE"), "v2.0.0", annotated=True)
    small.commit(BEFORE)
    release = last_release(small.root)
    assert isinstance(release, Release)
    assert (release.tag, "THREE" in release.sdl) == ("v2.0.0", True)


def test_without_a_release_it_says_so_and_passes(small: Small, tmp_path: Path) -> None:
    def said(root: Path) -> str:
        report = compare(build_schema(BEFORE), root)
        assert report.faults == []
        [note] = report.notes
        return note.removeprefix("not compared with a release: ")

    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    assert said(outside) == "this is no git repository"
    assert said(small.root) == "there is no tag"
    (small.root / "other").write_text("x")
    small.commit(None, "v0.1.0")
    assert said(small.root) == f"v0.1.0 has no {SDL}"


def test_a_shallow_clone_says_how_far_it_reaches(small: Small) -> None:
    """It ends at a commit, behind which the tags are not there."""
    small.commit(BEFORE, "v1.0.0")
    small.commit(BEFORE.replace("kept: Int!", "kept: Int"))
    assert isinstance(last_release(small.root), Release)
    small.repository.references.delete("refs/tags/v1.0.0")
    (small.root / ".git" / "shallow").write_text(f"{small.repository.head.target}\n")
    assert last_release(small.root) == "there is no tag, as far as this shallow clone reaches"


def test_the_schema_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert capsys.readouterr().err == ""


def test_every_rule_is_checked() -> None:
    report = check(build_schema('type Query { old: Int @deprecated(reason: "no more") }'), ROOT)
    assert {"Query has no description", "Query.old has no description"} <= set(report.faults)
    assert "Query.old is deprecated without a reason and its date or version" in report.faults
