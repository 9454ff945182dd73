"""A short campaign: the server, its PostgreSQL and both killed under load (`campaign.py` has the long one)."""

import random

from tests.resilience.campaign import VICTIMS, Campaign, own_home


def test_no_answer_without_its_record():
    seed = random.randrange(2**32)
    with own_home() as home:
        figures = Campaign(home, threads=8, seed=seed).run(rounds=len(VICTIMS))
    report = "\n".join([f"seed {seed}", *figures.lines()])
    assert figures.problems == [], report
    assert figures.verdict == "VALID", report
    assert figures.kills == dict.fromkeys(VICTIMS, 1), report
    # Each death met clients in the middle of their work, and they had got passages before.
    assert figures.passages > figures.answers, report
    assert figures.answers >= 16 * len(VICTIMS), report
    assert figures.links > 0, report
    assert figures.broken_off + sum(figures.refusals.values()) >= len(VICTIMS), report
