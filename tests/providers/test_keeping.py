"""The embedded server is started again when it is gone, and looked for twice before."""

import asyncio
from contextlib import suppress

from structlog.testing import capture_logs

from app.providers.keeping import keep_running


class Fragile:
    """Answers what it is told; every `revive` takes the next of `outcomes`."""

    def __init__(self, answers: list[bool], outcomes: list[Exception | None]) -> None:
        self._answers = answers
        self._outcomes = outcomes
        self.revived = 0
        self.over = asyncio.Event()

    @property
    def answers(self) -> bool:
        if not self._answers:
            self.over.set()
            return True
        return self._answers.pop(0)

    def revive(self) -> None:
        self.revived += 1
        if outcome := self._outcomes.pop(0):
            raise outcome


async def kept(server: Fragile) -> list[str]:
    with capture_logs() as logs:
        keeping = asyncio.create_task(keep_running(server, look=0, first_pause=0))
        async with asyncio.timeout(20):
            while not server.over.is_set():
                await asyncio.sleep(0.001)
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping
    return [entry["event"] for entry in logs]


async def test_one_look_that_finds_nothing_means_nothing() -> None:
    server = Fragile([True, False, True, False, True], [])
    assert await kept(server) == []
    assert server.revived == 0


async def test_what_died_is_started_again_until_it_lives() -> None:
    server = Fragile([False, False, False], [RuntimeError("no room"), None])
    events = await kept(server)
    assert events == ["database.died", "database.not_started", "database.died", "database.started_again"]
    assert server.revived == 2


async def test_one_that_lives_is_left_alone(installation) -> None:
    """Asked although it answers: another process was faster."""
    embedded = installation.embedded
    assert embedded is not None
    before = embedded.pid
    assert embedded.answers
    await asyncio.to_thread(embedded.revive)
    assert embedded.pid == before
