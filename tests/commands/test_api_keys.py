"""`muniment api-keys`, `muniment revoke-tokens`: what an operator does, and that a running server follows at once."""

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli import cli
from tests.fixtures.store import World
from tests.schema.conftest import Api, connect
from tests.schema.test_revocation import code, made

ME = "{ me { externalId } }"


@pytest.fixture
def operator(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the store of the tests."""
    for name in [name for name in os.environ if name.startswith("MUNIMENT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MUNIMENT_HOME", str(home))
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "hash")
    monkeypatch.setattr("app.commands.running.configure_logging", lambda level: None)


async def run(world: World, *arguments: str) -> Result:
    """One command to its end; it runs an event loop of its own."""
    given = [*arguments, "--organisation", str(world.organisation)]
    return await asyncio.to_thread(CliRunner().invoke, cli, given)


@pytest.mark.usefixtures("operator")
async def test_a_key_is_made_listed_and_revoked(world: World) -> None:
    search = ("--action", "context:space:search")
    created = await run(world, "api-keys", "create", "an indexer", *search, "--space", "project", "--provider", "git")
    assert created.exit_code == 0, created.output
    [secret] = created.stdout.splitlines()
    async with connect(world.parts) as http:
        api = Api(world, http)
        assert await code(api, ME, secret) == "fine"
        listed = await run(world, "api-keys", "list")
        [line] = listed.stdout.splitlines()
        assert line == f"{secret[:8]}  an indexer  context:space:search  never used  stands"
        assert secret[8:] not in listed.output
        revoked = await run(world, "api-keys", "revoke", secret[:8])
        assert revoked.stdout == f"{secret[:8]}  an indexer  revoked\n"
        assert await code(api, ME, secret) == "UNAUTHENTICATED"
    assert (await run(world, "api-keys", "list")).stdout == ""
    assert (await run(world, "api-keys", "list", "--revoked")).stdout.endswith("revoked\n")
    assert (await run(world, "api-keys", "revoke", secret[:8])).exit_code == 1


@pytest.mark.usefixtures("operator")
async def test_what_no_key_can_be(world: World) -> None:
    for given in (
        ["--action", "everything"],
        ["--action", "org:admin", "--actor-type", "robot"],
        ["--action", "org:admin", "--space", "nowhere"],
        ["--action", "org:admin", "--expires", "2001-01-01T00:00:00Z"],
        ["--action", "org:admin", "--expires", "tomorrow"],
    ):
        assert (await run(world, "api-keys", "create", "x", *given)).exit_code != 0, given
    assert (await run(world, "api-keys", "list", "--revoked")).stdout == ""


@pytest.mark.usefixtures("operator")
async def test_tokens_are_revoked(world: World) -> None:
    old = datetime.now(UTC) - timedelta(minutes=1)
    one, other = made(world, jti="one", iat=old), made(world, jti="other", iat=old)
    async with connect(world.parts) as http:
        api = Api(world, http)
        assert (await run(world, "revoke-tokens", "--token", "one")).stdout == "From now on the token one is refused.\n"
        assert await code(api, ME, one) == "UNAUTHENTICATED"
        assert await code(api, ME, other) == "fine"
        before = (datetime.now(UTC) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        assert (await run(world, "revoke-tokens", "--subject", "tester", "--before", before)).exit_code == 0
        assert await code(api, ME, other) == "fine"
        assert (await run(world, "revoke-tokens", "--subject", "tester")).exit_code == 0
        assert await code(api, ME, other) == "UNAUTHENTICATED"
    for neither in ([], ["--token", "a", "--subject", "b"], ["--token", "a", "--before", before]):
        assert (await run(world, "revoke-tokens", *neither)).exit_code == 1
