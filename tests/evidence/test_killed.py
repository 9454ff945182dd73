"""A sequencer killed with SIGKILL: before and after every statement in turn, then at random moments under load."""

import asyncio
import os
import random
import signal
import time
from itertools import pairwise
from uuid import uuid4

import pytest

from app.domain.chain import Outcome
from app.providers.head_file import HeadFile
from app.providers.keyring import KeyRing
from tests.evidence.nursery import Nursery, assert_nothing_lost
from tests.evidence.support import assert_chained_once, chain_of, enqueue, found, head_of


@pytest.fixture
def nursery(office, installation):
    nursery = Nursery(installation.url, office.home)
    yield nursery
    nursery.close()


async def test_between_any_two_statements(office, nursery):
    """One event more for each death; the turn that passes all borders ends the walk."""
    events, chained, moment = [], [], 0
    while True:
        events += await enqueue(office.database, office.organisation, 1, f"{moment}.")
        await nursery.begin(office.organisation, moment)
        code = await nursery.end()
        chained.append(await assert_nothing_lost(office, office.organisation, events))
        if code == 0:
            break
        assert code == -signal.SIGKILL
        moment += 1
    # Deaths on both sides of the commit were among them: most leave the queue as it was, the last ones do not.
    assert moment > 15
    assert chained[0] == 0
    assert 0 < sum(after > before for before, after in pairwise(chained)) < moment
    assert chained[-1] == len(events)
    assert office.heads.read(office.organisation) == head_of(await chain_of(office.database, office.organisation))


async def test_at_random_moments_while_events_arrive(office, nursery):
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    organisation = uuid4()
    events, chained, deaths = [], [], 0
    deadline = time.monotonic() + 5.0
    while deaths < 10 or (time.monotonic() < deadline and deaths < 80):
        events += await enqueue(office.database, organisation, 15, f"{deaths}.")
        pid = await nursery.begin(organisation)
        await asyncio.sleep(chance.uniform(0.02, 0.25))
        os.kill(pid, signal.SIGKILL)
        assert await nursery.end() == -signal.SIGKILL, f"seed {seed}"
        deaths += 1
        chained.append(await assert_nothing_lost(office, organisation, events))
    assert chained[-1] > 0, "no sequencer lived long enough to chain anything"
    keys = KeyRing.load(office.home / "keys" / "evidence.json")
    assert keys.current_id == office.keys.current_id
    while await office.sequencer.turn(organisation):
        pass
    rows = await chain_of(office.database, organisation)
    assert_chained_once(rows, events)
    assert HeadFile(office.home / "heads", keys.organisation_key).read(organisation) == head_of(rows)
    assert await found(office, organisation) == (Outcome.VALID, None)
