"""S6 on random layouts (`isolation.py` runs more of them, as a command)."""

import random

from app.assembly.services import Services
from tests.memory.isolation import run


async def test_no_memory_strays_and_none_lacks(parts: Services) -> None:
    seed = random.randrange(2**32)
    tally = await run(parts, layouts=100, seed=seed)
    report = "\n".join([f"seed {seed}", *tally.lines()])
    assert tally.problems == [], report
    # Each kind was there to stray.
    assert min(tally.delivered[kind] for kind in ("subject", "group", "space")) > 10, report
