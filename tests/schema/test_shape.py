"""What holds for the schema as a whole: declared needs, descriptions, and the committed files."""

from pathlib import Path

import pytest
from graphql import GraphQLEnumType, build_schema

from app.domain.errors import Code
from app.domain.principal import Permission
from schema import export
from schema.build import graphql_schema
from schema.permissions import TOKEN, needed
from tests.lints.schema_rules import undescribed

CORE = graphql_schema._schema
ROOTS = [root.name for root in (CORE.query_type, CORE.mutation_type, CORE.subscription_type) if root is not None]


@pytest.mark.parametrize("root", ROOTS)
def test_every_root_field_declares_what_it_needs(root: str) -> None:
    declared = needed(graphql_schema, root)
    fields = CORE.type_map[root].fields
    assert set(declared) == set(fields)
    assert {name for name, need in declared.items() if need is None} == set()
    known = {TOKEN, *(permission.value for permission in Permission)}
    assert {name for need in declared.values() if need is not None for name in need.permissions} <= known


def test_everything_is_described() -> None:
    """Asked of the schema itself; `tests/lints` has the rule."""
    assert undescribed(CORE) == []


def test_descriptions_are_sentences() -> None:
    """One sentence or more, and none that a missing value would leave empty or doubled."""
    for type_ in CORE.type_map.values():
        for field in getattr(type_, "fields", {}).values():
            assert "None" not in (field.description or "")


@pytest.mark.parametrize("path", export.generated(), ids=lambda path: path.name)
def test_the_committed_files_are_those_of_the_code(path: Path) -> None:
    assert path.read_text() == export.generated()[path], "run `make schema`"


def test_a_stale_file_is_found_out_and_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "README.md").write_text(f"before\n{export.START}| old |\n{export.END}\nafter\n")
    monkeypatch.setattr(export, "FOLDER", tmp_path)
    assert export.main(["--check"]) == 1
    assert export.main([]) == 0
    assert export.main(["--check"]) == 0
    readme = (tmp_path / "README.md").read_text()
    assert readme.startswith("before\n")
    assert readme.endswith("\nafter\n")
    assert (
        "| Query | `retrieve` | `context:space:search` | on each space that would contribute; the others do not |"
        in readme
    )
    (tmp_path / "schema.graphql").write_text("type Query { old: Int }\n")
    assert export.main(["--check"]) == 1


def test_the_sdl_is_a_schema() -> None:
    assert set(build_schema(export.sdl()).type_map) >= {"RetrievalResult", "ContextContract", "ErrorCode"}


def test_the_error_codes_are_in_the_schema() -> None:
    codes = CORE.type_map["ErrorCode"]
    assert isinstance(codes, GraphQLEnumType)
    assert set(codes.values) == {code.value for code in Code}
