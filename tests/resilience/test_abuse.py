"""The abuse list against the live server, but for what takes long; the command has all of it."""

import pytest

from tests.fixtures.server import LiveServer
from tests.resilience.abuse import CASES, SLOW, Target, alive, run


@pytest.mark.parametrize("name", [name for name in CASES if name not in SLOW])
def test_it_is_refused_or_survived(live_server: LiveServer, name: str) -> None:
    [(_, told, right, _)] = run(Target(live_server.url, live_server.token), [name])
    assert right, told


def test_afterwards_the_server_answers(live_server: LiveServer) -> None:
    assert alive(Target(live_server.url, live_server.token))
