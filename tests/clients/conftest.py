"""The example clients: copies of their folders beside a copy of the schema, with the tools of `make client-tools`."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fixtures.server import ROOT, LiveServer

CLIENTS = ROOT / "playground" / "clients"
SDL = ROOT / "schema" / "schema.graphql"


@dataclass(frozen=True)
class Client:
    """One client in a folder of its own, laid out as in the repository."""

    name: str
    folder: Path
    #: Where its generated code is, below the folder.
    generated: str
    generate: list[str]
    compile: list[str]
    program: list[str]

    @property
    def schema(self) -> Path:
        """The schema that it is generated from."""
        return self.folder.parents[2] / "schema" / "schema.graphql"

    def do(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=self.folder, check=False, capture_output=True, encoding="utf-8", timeout=120)

    def start(self, server: LiveServer, *arguments: str, token: str) -> subprocess.Popen[str]:
        """Its program, at that server; what it says comes by one pipe."""
        return subprocess.Popen(
            [*self.program, *arguments],
            cwd=self.folder,
            env={**os.environ, "MUNIMENT_URL": server.url, "MUNIMENT_TOKEN": token, "PYTHONIOENCODING": "utf-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )


def _tool(path: Path) -> str:
    if not path.exists():
        pytest.fail(
            f"{path.relative_to(ROOT)} is missing: run `make client-tools` (Node 20.19 or later).", pytrace=False
        )
    return str(path)


@pytest.fixture(scope="package", params=["typescript", "python"])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Client:
    name: str = request.param
    there = tmp_path_factory.mktemp(f"client-{name}")
    folder = there / "playground" / "clients" / name
    ignored = shutil.ignore_patterns("node_modules", ".venv", "dist", ".mypy_cache", "__pycache__")
    shutil.copytree(CLIENTS / name, folder, ignore=ignored)
    (there / "schema").mkdir()
    shutil.copy(SDL, there / "schema")
    if name == "typescript":
        tools = CLIENTS / name / "node_modules"
        generator, compiler = _tool(tools / ".bin" / "graphql-codegen"), _tool(tools / ".bin" / "tsc")
        (folder / "node_modules").symlink_to(tools)
        strict = [compiler, "--strict", "--noImplicitAny"]
        return Client(name, folder, "src/generated", [generator], strict, ["node", "dist/main.js"])
    python = _tool(CLIENTS / name / ".venv" / "bin" / "python")
    generate, strict = [python, "-m", "ariadne_codegen"], [python, "-m", "mypy", "--strict"]
    return Client(name, folder, "muniment_client", generate, strict, [python, "main.py"])


@pytest.fixture(scope="package")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server that holds one small document in the space `handbook`."""
    place = tmp_path_factory.mktemp("handbook")
    (place / "texts").mkdir()
    (place / "texts" / "refunds.md").write_text("# Refunds\n\nRefunds are authorised by tier two agents.\n")
    server = LiveServer(place / "home")
    read = server.run("ingest", str(place / "texts"), "--space", "handbook")
    assert read.returncode == 0, read.stderr
    server.start("--no-demo")
    yield server
    assert server.stop() == 0
