"""The code of the example clients follows the schema, and holds no value without a type."""

import ast
import re
import tomllib
from pathlib import Path

from graphql import GraphQLScalarType, build_schema, is_specified_scalar_type

from tests.clients.conftest import CLIENTS, SDL, Client

COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def files(folder: Path) -> dict[str, str]:
    """Every file below it, by its path."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


def untyped(name: str, text: str) -> list[str]:
    """The lines that say `any`, or `Any`."""
    if name.endswith(".py"):
        nodes = ast.walk(ast.parse(text))
        return [f"{name}: {node.lineno}" for node in nodes if isinstance(node, ast.Name) and node.id == "Any"]
    return [f"{name}: {line}" for line in COMMENTS.sub("", text).splitlines() if re.search(r"\bany\b", line)]


def test_the_committed_code_is_what_the_generator_makes_of_the_schema(client: Client) -> None:
    made = client.do(client.generate)
    assert made.returncode == 0, made.stdout + made.stderr
    committed = files(CLIENTS / client.name / client.generated)
    assert committed
    assert files(client.folder / client.generated) == committed, "run `make clients`"


def test_it_compiles_strictly(client: Client) -> None:
    done = client.do(client.compile)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_field_that_the_schema_does_not_have_does_not_compile(client: Client) -> None:
    """The compiler looks at what is asked, and so would notice a field that is gone."""
    program = client.folder / ("src/main.ts" if client.name == "typescript" else "main.py")
    before = program.read_text(encoding="utf-8")
    program.write_text(re.sub(r"\bmoved\b", "moves", before), encoding="utf-8")
    try:
        done = client.do([*client.compile, *(["--noEmit"] if client.name == "typescript" else [])])
    finally:
        program.write_text(before, encoding="utf-8")
    assert done.returncode != 0
    assert "moves" in done.stdout


def test_no_value_is_without_a_type(client: Client) -> None:
    folder = CLIENTS / client.name
    kinds = {"typescript": "src/**/*.ts", "python": "*.py"}
    hand_written = {path.name: path.read_text(encoding="utf-8") for path in folder.glob(kinds[client.name])}
    generated = files(folder / client.generated)
    assert [line for name, text in {**hand_written, **generated}.items() for line in untyped(name, text)] == []
    assert untyped("a.ts", "/** any */ const a: any = 1;") == ["a.ts:  const a: any = 1;"]
    assert untyped("a.py", "a: dict[str, Any] = {}  # Any") == ["a.py: 1"]


def test_every_scalar_of_the_schema_is_mapped() -> None:
    schema = build_schema(SDL.read_text(encoding="utf-8"))
    own = {
        name
        for name, kind in schema.type_map.items()
        if isinstance(kind, GraphQLScalarType) and not is_specified_scalar_type(kind)
    }
    assert own >= {"Instant", "BigInt", "JSON"}
    settings = tomllib.loads((CLIENTS / "python" / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(settings["tool"]["ariadne-codegen"]["scalars"]) == own
    typescript = (CLIENTS / "typescript" / "codegen.ts").read_text(encoding="utf-8")
    assert "strictScalars: true" in typescript
    [mapped] = re.findall(r"scalars: \{(.*?)\}", typescript, re.DOTALL)
    assert set(re.findall(r"(\w+): '", mapped)) == own | {"ID"}
