"""The documents say what the code does: settings, commands, examples, addresses."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pygit2
import pytest
import typer
from graphql import build_schema, parse, validate
from pydantic_core import PydanticUndefined

from app.cli import cli
from app.domain.contract import LimitationCode
from app.domain.instant import parse_instant
from app.domain.selection import Reason
from app.settings import PREFIX, Settings
from tests.fixtures.server import ROOT, LiveServer

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = typer.main.get_command(cli).commands  # type: ignore[attr-defined]


def _default(value: object) -> str:
    return "" if value is None or value is PydanticUndefined else f"`{value}`"


def settings_rows() -> list[str]:
    """The table of settings as it should stand, one row a setting."""
    return [
        f"| `{PREFIX}{name.upper()}` | {_default(field.default)} | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]


def command_rows() -> list[str]:
    """The table of commands as it should stand: the first paragraph of each command's help."""
    first = {name: command.help.split("\n\n")[0] for name, command in COMMANDS.items()}
    return [f"| `muniment {name}` | {' '.join(text.split())} |" for name, text in first.items()]


def _rows(start: str) -> list[str]:
    return [line for line in README.splitlines() if line.startswith(f"| `{start}")]


def test_the_settings_are_listed_with_their_defaults() -> None:
    assert _rows(PREFIX) == settings_rows()


def test_the_commands_are_listed() -> None:
    assert _rows("muniment ") == command_rows()


def test_every_exclusion_and_limitation_is_explained() -> None:
    explained = re.findall(r"^\| `((?!MUNIMENT_)[A-Z_]+)` \|", README, re.MULTILINE)
    assert sorted(explained) == sorted([*Reason, *LimitationCode])


def test_the_two_commands_are_shown() -> None:
    assert "\nmake run " in README
    assert "\nmake test " in README


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for document in ROOT.glob("**/README.md"):
        if "node_modules" not in document.parts and ".venv" not in document.parts:
            mentioned = set(re.findall(r"(?:^|`)make ([a-z-]+)", document.read_text(encoding="utf-8"), re.MULTILINE))
            assert mentioned <= targets, document
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    listed = {line.split("`")[1].split()[1] for line in _rows("make ")}
    assert listed == set(phony[1].split()) - {"playground", "client-tools", "audits"}


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def _pruned(value: Any, like: Any) -> Any:
    """The shape of an answer as far as the shortened one shows it."""
    if isinstance(like, dict):
        return {name: _pruned(value[name], item) for name, item in like.items()}
    if isinstance(like, list):
        return [_pruned(item, like[0]) for item in value[:1]] if like else []
    return type(value).__name__


def test_the_example_is_valid_and_its_answer_has_the_shape_that_is_shown(live_server: LiveServer) -> None:
    query, *others = _blocks("graphql")
    variables, shown = (json.loads(block) for block in _blocks("json"))
    schema = build_schema((ROOT / "schema" / "schema.graphql").read_text(encoding="utf-8"))
    assert all(validate(schema, parse(document)) == [] for document in (query, *others))
    # What they make is there for the next one: a source, documents in it, a memory.
    create, fill, remember = others
    made = live_server.ask(create, None, live_server.token)
    filled = live_server.ask(fill, {"source": made["data"]["createSource"]["id"]}, live_server.token)
    assert filled["data"]["ingestDocuments"]["created"] == 2
    assert "errors" not in live_server.ask(remember, None, live_server.token)
    answer = live_server.ask(query, variables, live_server.token)
    assert "errors" not in answer
    assert _pruned(answer["data"]["now"], shown["data"]["now"]) == _pruned(shown["data"]["now"], shown["data"]["now"])
    assert set(answer["data"]) == set(shown["data"]) == {"now", "then"}
    assert parse_instant(answer["data"]["then"]["contract"]["validAt"]) == parse_instant(variables["then"])


@pytest.mark.parametrize("path", re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", README, re.MULTILINE))
def test_what_is_linked_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def _files() -> Iterator[tuple[str, str]]:
    """Every text file that is part of the repository, or would be once it is added."""
    repository = pygit2.Repository(str(ROOT))
    names = {entry.path for entry in repository.index}
    names |= {name for name, flags in repository.status().items() if flags & pygit2.enums.FileStatus.WT_NEW}
    for name in sorted(names):
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


# Written apart, so that this file does not hold what it looks for.
FOLDERS = ("work", "root", "home", "Users")
HOSTS = (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"), ("yarnpkg", "com"))
MACHINE = re.compile("|".join(rf"(?<![\w.:/-])/{folder}/" for folder in FOLDERS))
REGISTRY = re.compile(
    "|".join(re.escape(".".join(host)) for host in HOSTS) + r"|--(?:extra-)?index-url|--find[-]links|\"resolved\":"
)


LOCKS = ("requirements.lock", "requirements-dev.lock", "playground/clients/python/requirements.lock")


def test_no_file_names_a_machine_or_a_registry() -> None:
    """A clone runs anywhere, and asks whatever registry its own machine is set up with."""
    files = dict(_files())
    assert {"README.md", *LOCKS, "playground/package-lock.json"} <= set(files)
    found = {
        f"{name}: {match[0]}"
        for name, text in files.items()
        for pattern in (MACHINE, REGISTRY)
        for match in pattern.finditer(text)
    }
    assert found == set()


def test_every_package_of_the_locks_is_pinned_by_hash() -> None:
    for name in LOCKS:
        text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
        pins = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
        assert pins
        assert [line for line in pins if "==" not in line or "--hash=sha256:" not in line] == []


def test_the_license_is_the_one_that_is_declared() -> None:
    assert 'license = "Apache-2.0"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "Apache License\n                           Version 2.0, January 2004" in (ROOT / "LICENSE").read_text()


@pytest.mark.parametrize("document", ["README.md", "app/README.md", "schema/README.md"])
def test_files_that_a_document_names_exist(document: str) -> None:
    """In running text, a name in backquotes with a folder in it is a file or folder of the repository."""
    path = ROOT / document
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for name in re.findall(r"`([a-z_]+/[A-Za-z0-9_./-]*)`", text):
        if "node_modules" in name or name.endswith("dist/"):
            continue
        assert (ROOT / name).exists() or (path.parent / name).exists(), name


def test_the_documents_are_there() -> None:
    for name in ("README.md", "app/README.md", "schema/README.md", "playground/README.md", "LICENSE"):
        assert Path(ROOT / name).stat().st_size > 1000
