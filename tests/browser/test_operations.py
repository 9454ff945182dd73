"""Every saved operation of the playground is valid against the committed schema; `test_page.py` runs each."""

from pathlib import Path

import pytest
from graphql import GraphQLSchema, OperationDefinitionNode, build_schema, parse, validate

REPOSITORY = Path(__file__).resolve().parents[2]
OPERATIONS = REPOSITORY / "playground" / "src" / "operations"
FILES = sorted(OPERATIONS.glob("*.graphql"))


@pytest.fixture(scope="module")
def schema() -> GraphQLSchema:
    return build_schema((REPOSITORY / "schema" / "schema.graphql").read_text(encoding="utf-8"))


def test_there_are_operations_and_the_page_offers_each() -> None:
    listed = OPERATIONS.with_suffix(".ts").read_text(encoding="utf-8")
    assert len(FILES) >= 30
    assert [file.name for file in FILES if f"./operations/{file.name}?raw" not in listed] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_is_valid(file: Path, schema: GraphQLSchema) -> None:
    document = parse(file.read_text(encoding="utf-8"))
    assert [error.message for error in validate(schema, document)] == []

    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    assert len(operations) == 1
    name = operations[0].name
    assert name is not None
    assert f"name: '{name.value}'" in OPERATIONS.with_suffix(".ts").read_text(encoding="utf-8")
