"""T3 in short (`clocks.py` has the long run, as a command)."""

import random

from app.assembly.services import Services
from tests.resilience.clocks import run


async def test_what_was_seen_is_seen_again_however_the_writers_race(parts: Services) -> None:
    seed = random.randrange(2**32)
    outcome = await run(parts, reads=300, seed=seed)
    report = "\n".join([f"seed {seed}", *outcome.lines()])
    assert outcome.reads >= 300, report
    assert outcome.equal == outcome.reads, report
    # The clock ran on between the readings, and there was something to compare.
    assert len(outcome.distinct) > 30, report
    assert outcome.rows > outcome.reads, report
