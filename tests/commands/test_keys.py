"""`muniment keys`: what an operator does with the key ring, and that no secret gets out unasked."""

import base64
import os
import secrets
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli import cli
from app.providers.keyring import KeyRing, KeyRingError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("MUNIMENT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("app.commands.running.configure_logging", lambda level: None)
    return tmp_path / "home"


def keys(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["keys", *arguments], input=given)


def listed() -> list[list[str]]:
    return [line.split() for line in keys("list").output.splitlines()]


def ring(home: Path) -> KeyRing:
    return KeyRing.load(home / "keys" / "evidence.json")


def secret_of(home: Path) -> list[str]:
    return [ring(home).export(name).partition(":")[2] for name in ring(home).ids]


def test_rotate_keeps_the_old_key_and_shows_no_secret(home: Path) -> None:
    [[first, mark, state]] = listed()
    assert state == "current"
    rotated = keys("rotate")
    second = rotated.output.strip()
    assert [(name, state) for name, _, state in listed()] == [(first, "retired"), (second, "current")]
    assert listed()[0][1] == mark != listed()[1][1]
    shown = rotated.output + keys("list").output
    assert not any(secret in shown for secret in secret_of(home))


def test_a_server_follows_what_is_changed(home: Path) -> None:
    first = listed()[0][0]
    running = ring(home)
    second = keys("rotate").output.strip()
    assert running.current_id == second
    assert keys("forget", first, "--yes").exit_code == 0
    # It still checks what the key made, until it ends.
    assert running.current_id == second
    assert first in running.ids
    assert ring(home).ids == (second,)


def test_forget_asks_and_never_takes_the_current_key(home: Path) -> None:
    first = listed()[0][0]
    second = keys("rotate").output.strip()
    for arguments, sentence in (
        ([first], "--yes"),
        ([second, "--yes"], "rotate first"),
        (["k9-nothing", "--yes"], "holds no key"),
    ):
        refused = keys("forget", *arguments)
        assert isinstance(refused.exception, ValueError)
        assert sentence in str(refused.exception)
    assert len(listed()) == 2


def test_export_then_import_elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = listed()[0][0]
    exported = keys("export", first).output
    assert exported == ring(home).export(first) + "\n"
    monkeypatch.setenv("MUNIMENT_HOME", str(home.parent / "other"))
    own = listed()[0][0]
    assert keys("import", given=exported).exit_code == 0
    assert [(name, state) for name, _, state in listed()] == [(first, "retired"), (own, "current")]
    assert isinstance(keys("import", given=exported).exception, KeyRingError)
    assert ring(home.parent / "other").export(first) + "\n" == exported
    fresh = f"k7-fresh:{base64.b64encode(secrets.token_bytes(32)).decode()}"
    assert keys("import", "--current", given=fresh).exit_code == 0
    assert [state for name, _, state in listed() if name == "k7-fresh"] == ["current"]


@pytest.mark.parametrize("given", ["", "nonsense", "k8:c2hvcnQ=", "k8:" + base64.b64encode(b"\0" * 32).decode()])
def test_a_weak_or_broken_import_is_refused_without_its_text(home: Path, given: str) -> None:
    before = listed()
    refused = keys("import", given=given)
    assert isinstance(refused.exception, ValueError)
    assert given.partition(":")[2] == "" or given.partition(":")[2] not in str(refused.exception)
    assert listed() == before


def test_keys_of_the_environment_are_changed_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [f"e{number}:{base64.b64encode(secrets.token_bytes(32)).decode()}" for number in range(2)]
    monkeypatch.setenv("MUNIMENT_KEYS", ",".join(pairs))
    assert [(name, state) for name, _, state in listed()] == [("e0", "retired"), ("e1", "current")]
    for arguments in (["rotate"], ["forget", "e0", "--yes"]):
        assert "MUNIMENT_KEYS" in str(keys(*arguments).exception)
    assert not (home / "keys" / "evidence.json").exists()
