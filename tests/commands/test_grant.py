"""`muniment grant`: from an empty home to an administrator who can grant."""

from pathlib import Path
from uuid import uuid4

import pytest

from tests.fixtures.server import LiveServer

ME = "{ spaces { edges { node { keyPath name } } } status { spaces } }"


@pytest.fixture(scope="module")
def muniment(tmp_path_factory: pytest.TempPathFactory) -> LiveServer:
    return LiveServer(tmp_path_factory.mktemp("grant"))


def test_the_first_administrator_of_a_new_organisation(muniment: LiveServer, tmp_path: Path) -> None:
    organisation = str(uuid4())
    refused = muniment.run("grant", "ann", "--organisation", organisation)
    assert (refused.returncode, "no organisation" in refused.stderr) == (2, True)
    made = muniment.run("grant", "ann", "--organisation", organisation, "--create", "Our bank")
    assert made.returncode == 0, made.stderr
    assert "org:admin" in made.stdout
    again = muniment.run("grant", "ann", "--organisation", organisation, "--create", "Another name")
    assert again.stdout == made.stdout
    group = muniment.run(
        "grant", "claims", "--kind", "group", "--permission", "context:space:search", "--organisation", organisation
    )
    assert group.stdout.startswith("group ")
    assert "org:admin" not in group.stdout
    missing = muniment.run("grant", "ann", "--space", "nowhere", "--organisation", organisation)
    assert (missing.returncode, missing.stderr.strip()) == (1, "muniment: no such space")
    token = muniment.run("token", "--subject", "ann", "--organisation", organisation).stdout.strip()
    muniment.start("--no-demo")
    try:
        found = muniment.ask(ME, token=token)["data"]
    finally:
        muniment.stop()
    assert [edge["node"] for edge in found["spaces"]["edges"]] == [{"keyPath": "/", "name": "Our bank"}]
    assert found["status"]["spaces"] == 1
