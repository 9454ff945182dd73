"""Key files that are gone while what was made with them is there: nothing begins with fresh keys unasked."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.assembly.installation import Installation
from app.assembly.keys import key_ring, signing_keys
from app.assembly.services import services
from app.cli import cli
from app.providers.keyring import KeyRing
from app.settings import Settings
from tests.fixtures.store import make_world


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Settings, Installation]]:
    """A home with a chain, a head and a checkpoint."""
    settings = Settings(home=tmp_path_factory.mktemp("kept") / "home", embedder="hash")
    installation = Installation.open(settings)

    async def fill() -> None:
        async with services(settings, installation) as parts:
            world = await make_world(parts)
            await world.ask("anything")
            while await parts.sequencer.turn(world.organisation):
                pass
            await parts.checkpoints.sign(world.organisation)

    try:
        asyncio.run(fill())
        yield settings, installation
    finally:
        installation.close()


async def start(settings: Settings, installation: Installation) -> None:
    async with services(settings, installation):
        pass


@pytest.mark.parametrize(
    ("name", "variable", "command"),
    [
        ("evidence.json", "MUNIMENT_KEYS", "muniment keys create"),
        ("signing.json", "MUNIMENT_SIGNING_KEYS", "muniment signing-keys create"),
    ],
)
@pytest.mark.parametrize("emptied", [False, True], ids=["one file", "a home of its own"])
def test_no_start_without_the_keys_that_are_needed(
    kept: tuple[Settings, Installation], tmp_path: Path, name: str, variable: str, command: str, emptied: bool
) -> None:
    settings, installation = kept
    if emptied:
        # Another machine at the same database, with the other keys only.
        given = {"keys": None, "signing_keys": None}
        if name == "signing.json":
            ring = key_ring(settings)
            given["keys"] = ring.export(ring.current_id)
        moved = settings.model_copy(update={"home": tmp_path / "other"})
        moved = Settings.model_validate({**moved.model_dump(exclude={"keys", "signing_keys"}), **given})
        path = moved.home / "keys" / name
    else:
        moved, path = settings, settings.home / "keys" / name
        path.rename(tmp_path / name)
    try:
        with pytest.raises(ValueError, match="is missing") as refused:
            asyncio.run(start(moved, installation))
        assert str(path) in str(refused.value)
        assert variable in str(refused.value)
        assert command in str(refused.value)
        assert not path.exists()
    finally:
        if not emptied:
            (tmp_path / name).rename(path)
    asyncio.run(start(settings, installation))


def test_a_new_home_gets_keys(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", embedder="hash")
    assert key_ring(settings).ids == key_ring(settings).ids
    assert signing_keys(settings).jwks() == signing_keys(settings).jwks()


@pytest.fixture
def lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose heads and checkpoints are there, and whose key files are not."""
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("app.commands.running.configure_logging", lambda level: None)
    for folder, name in (("heads", "a.json"), ("checkpoints", "a.log")):
        (tmp_path / "home" / folder).mkdir(parents=True)
        (tmp_path / "home" / folder / name).touch()
    return tmp_path / "home" / "keys"


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(cli, arguments, input=given)


@pytest.mark.parametrize(
    "arguments",
    [("keys", "list"), ("keys", "rotate"), ("signing-keys", "list"), ("signing-keys", "rotate")],
    ids=" ".join,
)
def test_no_command_makes_keys_on_the_way(lost: Path, arguments: tuple[str, ...]) -> None:
    assert "is missing" in str(run(*arguments).exception)
    assert not list(lost.glob("*.json"))


def test_the_ways_out(lost: Path, tmp_path: Path) -> None:
    saved = KeyRing.load_or_create(tmp_path / "elsewhere" / "keys.json")
    restored = run("keys", "import", given=saved.export(saved.current_id))
    assert restored.output.startswith(saved.current_id)
    assert KeyRing.load(lost / "evidence.json").current_id == saved.current_id
    (lost / "evidence.json").unlink()
    made = run("keys", "create").output.strip()
    assert KeyRing.load(lost / "evidence.json").ids == (made,)
    # What is found again joins as an older key.
    assert run("keys", "import", given=saved.export(saved.current_id)).exit_code == 0
    assert KeyRing.load(lost / "evidence.json").ids == (saved.current_id, made)
    signer = run("signing-keys", "create").output.strip()
    assert signer in run("signing-keys", "list").output
    # What is there is never replaced.
    assert run("keys", "create").output.strip() == made
