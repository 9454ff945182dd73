"""The command line, as people and scripts meet it."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock
from uuid import uuid4

import jwt
import pytest
import typer
from typer.testing import CliRunner

from app import cli
from app.providers.embedded_postgres import EmbeddedPostgres
from tests.fixtures.server import LiveServer

COMMANDS = typer.main.get_command(cli.cli).commands  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def muniment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A home of its own whose database stays up between commands; no server runs in it."""
    installed = LiveServer(tmp_path_factory.mktemp("cli"))
    held = EmbeddedPostgres.start(installed.home)
    yield installed
    held.stop()


def run(installed: LiveServer, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own."""
    return LiveServer(installed.home, options=variables).run(*arguments)


def call(installed: LiveServer, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, which already has everything imported."""
    out, err = StringIO(), StringIO()
    with (
        mock.patch.dict(os.environ, {**LiveServer(installed.home).environment, **variables}, clear=True),
        mock.patch("sys.argv", ["muniment", *arguments]),
        mock.patch("app.commands.running.configure_logging"),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), out.getvalue(), err.getvalue())


def test_every_command_is_there() -> None:
    assert set(COMMANDS) >= {"serve", "migrate", "ingest", "import-history", "token", "verify-chain", "status"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    shown = CliRunner().invoke(cli.cli, [name, "--help"])
    assert shown.exit_code == 0
    command = COMMANDS[name]
    assert command.help
    assert command.epilog.startswith("Example: ")
    assert f"muniment {name}" in command.epilog
    assert command.epilog.split()[-1] in shown.output
    for parameter in command.params:
        assert getattr(parameter, "help", None) or parameter.name in {"help", "place", "file"}, parameter.name


def test_without_a_command_it_helps() -> None:
    shown = CliRunner().invoke(cli.cli, [])
    assert "Usage" in shown.output
    for name in COMMANDS:
        assert name in shown.output


@pytest.mark.parametrize("command", ["status", "migrate", "token", "serve", "verify-chain"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "abc"),
        ("PORT", "0"),
        ("PORT", "65536"),
        ("EMBEDDER", "gpt"),
        ("SEARCH_BACKEND", "magic"),
        ("POOL_SIZE", "0"),
        ("LOG_LEVEL", "loud"),
        ("JWT_ALGORITHM", "none"),
        ("LEVEL_WEIGHTS", "team"),
        ("LEVEL_WEIGHTS", "team=0"),
        ("LEVEL_WEIGHTS", "team=nan"),
        ("LEVEL_WEIGHTS", "team=11"),
        ("LEVEL_WEIGHTS", "nope=1"),
        ("LEVEL_WEIGHTS", "team=1,team=2"),
        ("DATABASE_URL", "nonsense://user:hunter2@host/db"),
        ("MIGRATION_DATABASE_URL", "mysql://user:hunter2@host/db"),
    ],
)
def test_a_bad_setting_is_one_line(tmp_path: Path, command: str, name: str, value: str) -> None:
    ended = call(LiveServer(tmp_path), command, **{f"MUNIMENT_{name}": value})
    assert (ended.returncode, ended.stdout) == (1, "")
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"muniment: MUNIMENT_{name}: ")
    assert "hunter2" not in line


def test_several_bad_settings_are_told_at_once(tmp_path: Path) -> None:
    ended = call(LiveServer(tmp_path), "status", MUNIMENT_PORT="abc", MUNIMENT_EMBEDDER="gpt")
    [line] = ended.stderr.splitlines()
    assert "MUNIMENT_PORT: " in line
    assert "MUNIMENT_EMBEDDER: " in line


def test_an_empty_variable_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """As compose files and service managers write what is left out."""
    for name in ("PORT", "DATABASE_URL", "JWT_KEY", "KEYS", "LEVEL_WEIGHTS"):
        monkeypatch.setenv(f"MUNIMENT_{name}", "")
    settings = cli.Settings()
    assert (settings.port, settings.database_url, settings.jwt_key, settings.keys) == (8000, None, None, None)


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"MUNIMENT_KEYS": "k1:AAAA"}, "is shorter than 32 bytes"),
        ({"MUNIMENT_KEYS": "k1:c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"}, "key 1 of MUNIMENT_KEYS"),
        ({"MUNIMENT_JWT_KEY": "no/such.pem"}, "no/such.pem: No such file or directory"),
        ({"MUNIMENT_JWT_KEY": "pyproject.toml"}, "the token key is not a public key in PEM"),
        ({"MUNIMENT_JWT_KEY": ".gitignore", "MUNIMENT_JWT_ALGORITHM": "RS256"}, "as RS256 needs"),
        ({"MUNIMENT_DATABASE_URL": "postgresql://user:hunter2@127.0.0.1:1/db"}, "127.0.0.1"),
    ],
    ids=lambda value: next(iter(value), "") if isinstance(value, dict) else "",
)
def test_what_cannot_be_used_is_one_line(muniment: LiveServer, variables: dict[str, str], sentence: str) -> None:
    ended = call(muniment, "status", **variables)
    assert ended.returncode == 1
    assert ended.stdout == ""
    [line] = ended.stderr.splitlines()
    assert line.startswith("muniment: ")
    assert sentence in line
    assert "hunter2" not in line
    for value in variables.values():
        assert value.partition(":")[2] == "" or value.partition(":")[2] not in line


def test_a_failure_has_no_traceback(muniment: LiveServer) -> None:
    """In a process of its own, whatever the libraries below would print."""
    ended = run(muniment, "status", MUNIMENT_DATABASE_URL="postgresql://user:hunter2@127.0.0.1:1/db")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert len(ended.stderr.splitlines()) == 1


def test_a_token_and_nothing_else(muniment: LiveServer) -> None:
    first, again = run(muniment, "token"), run(muniment, "token")
    for ended in (first, again):
        assert ended.returncode == 0
        assert ended.stderr == ""
        assert ended.stdout.count("\n") == 1
        claims = jwt.decode(ended.stdout.strip(), options={"verify_signature": False})
        assert (claims["iss"], claims["aud"], claims["sub"]) == ("muniment", "muniment", "developer")


def test_a_real_issuer_makes_its_own_tokens(muniment: LiveServer, tmp_path: Path) -> None:
    ended = call(muniment, "token", MUNIMENT_JWT_KEY=str(tmp_path / "key.pem"))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "MUNIMENT_JWT_KEY" in ended.stderr


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with good files and one that no parser can read."""
    folder = tmp_path_factory.mktemp("shelf")
    (folder / "good.md").write_text("# Refunds\n\nRefunds are authorised by tier two agents.\n")
    (folder / "other.txt").write_text("Another text.\n")
    (folder / "broken.md").write_bytes(b"%PDF-1.7 " + bytes(range(256)))
    (folder / "picture.png").write_bytes(b"\x89PNG")
    return folder


def test_one_broken_file_does_not_stop_the_rest(muniment: LiveServer, shelf: Path) -> None:
    ended = run(muniment, "ingest", str(shelf))
    assert ended.returncode == 1
    [line] = [line for line in ended.stderr.splitlines() if "broken.md" in line]
    assert line == "broken.md: binary data, not text."
    assert "2 documents changed" in ended.stderr
    assert "1 files could not be read." in ended.stderr
    assert "picture.png" not in ended.stderr
    assert "Traceback" not in ended.stderr


def test_reading_it_again_changes_nothing_and_mending_it_ends_well(muniment: LiveServer, shelf: Path) -> None:
    again = call(muniment, "ingest", str(shelf))
    assert again.returncode == 1
    assert "0 documents changed, 0 versions and 0 chunks written, 1 files could not be read." in again.stderr
    (shelf / "broken.md").unlink()
    mended = call(muniment, "ingest", str(shelf))
    assert mended.returncode == 0
    assert "0 files could not be read." in mended.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("no/such/folder",), 2, "no/such/folder is not a folder"),
        (("{shelf}", "--kind", "nonsense"), 2, "a kind is one of"),
        (("{shelf}", "--space", "a//b"), 1, "a key is 1 to 128 characters"),
        (("{shelf}", "--organisation", "nope"), 2, "--organisation"),
        (("{shelf}", "--language", "klingon"), 1, "klingon"),
    ],
)
def test_what_cannot_be_ingested(
    muniment: LiveServer, shelf: Path, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    ended = call(muniment, "ingest", *(argument.format(shelf=shelf) for argument in arguments))
    assert ended.returncode == code
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr


def test_how_the_store_stands(muniment: LiveServer) -> None:
    ended = call(muniment, "status")
    assert ended.returncode == 0
    shown = dict(line.split(": ", 1) for line in ended.stdout.splitlines())
    assert shown["Search backend"] == "exact"
    assert int(shown["Spaces"]) == 3
    assert int(shown["Chunks"]) == int(shown["Embedded chunks"]) > 0
    assert shown["Waiting for an embedding"] == "0"
    assert "none" in call(muniment, "status", MUNIMENT_EMBEDDER="none").stdout


def test_an_unknown_space_is_made(muniment: LiveServer, shelf: Path) -> None:
    def spaces() -> int:
        shown = dict(line.split(": ", 1) for line in call(muniment, "status").stdout.splitlines())
        return int(shown["Spaces"])

    before = spaces()
    for _ in range(2):
        assert call(muniment, "ingest", str(shelf), "--space", "shelves/new").returncode == 0
        assert spaces() == before + 2


def test_a_chain_is_checked_by_exit_code(muniment: LiveServer) -> None:
    good = call(muniment, "verify-chain")
    assert good.returncode == 0
    assert good.stdout.splitlines()[0] == "VALID"
    folder = muniment.home / "heads"
    folder.mkdir(mode=0o700, exist_ok=True)
    head = folder / f"{cli.ORGANISATION}.json"
    head.write_text('{"not": "a head"}')
    try:
        bad = run(muniment, "verify-chain")
    finally:
        head.unlink()
    assert bad.returncode == 1
    assert bad.stdout.splitlines()[0] == "TAMPERED"
    assert json.loads(bad.stderr.splitlines()[0])["level"] == "error"


@pytest.mark.parametrize("command", ["status", "verify-chain"])
def test_an_organisation_that_does_not_exist_is_not_valid(muniment: LiveServer, command: str) -> None:
    ended = call(muniment, command, "--organisation", str(uuid4()))
    assert ended.returncode == 2
    assert "no organisation" in ended.stderr
    assert "VALID" not in ended.stdout


def test_migrating_twice(muniment: LiveServer) -> None:
    for _ in range(2):
        ended = call(muniment, "migrate")
        assert (ended.returncode, ended.stdout) == (0, "The tables are up to date.\n")


def test_a_server_on_a_taken_port_says_so(muniment: LiveServer, live_server: LiveServer) -> None:
    ended = run(muniment, "serve", "--no-demo", MUNIMENT_PORT=str(live_server.port))
    assert ended.returncode != 0
    assert "address already in use" in ended.stderr.lower()
    assert "Traceback" not in ended.stderr
    assert not os.path.exists(muniment.home / "keys" / "development.pem.new")
