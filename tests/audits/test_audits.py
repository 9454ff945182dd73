"""GraphQL over HTTP: every audit of the reference implementation, against a server on a socket.

`make test` installs what they need where there is Node (`tests/audits/package.json`); without it they are skipped.
"""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.fixtures.socket import served
from tests.fixtures.store import World
from tests.schema.conftest import token_of

HERE = Path(__file__).parent
AUDITS = 61

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (HERE / "node_modules" / "graphql-http").exists(),
    reason="needs Node and tests/audits/node_modules (make audits)",
)


@pytest.mark.parametrize("with_token", [False, True], ids=["without a token", "with a token"])
async def test_every_audit_is_ok_and_none_warns(world: World, with_token: bool) -> None:
    environment = {"PATH": os.environ["PATH"]} | ({"TOKEN": token_of(world)} if with_token else {})
    async with served(world.parts) as place:
        running = await asyncio.create_subprocess_exec(
            "node",
            "run.mjs",
            f"{place.url}/graphql",
            cwd=HERE,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(60):
            output, failure = await running.communicate()
    assert running.returncode == 0, failure.decode()
    results = [json.loads(line) for line in output.decode().splitlines()]
    assert [result for result in results if result["status"] != "ok"] == []
    assert len(results) == AUDITS
