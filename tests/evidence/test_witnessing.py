"""A witness gets the newest checkpoint sooner or later, and nothing waits for it."""

import asyncio
from uuid import uuid4

import pytest

from app.domain.errors import MunimentError
from app.evidence.checkpoints import Checkpointer
from app.evidence.witnessing import Witnessing
from app.providers.checkpoint_log import CheckpointLog
from app.providers.signing import SigningKeys
from app.providers.witness import Witness
from tests.evidence.support import enqueue
from tests.fixtures.endpoint import answers, cuts, floods, hangs


@pytest.fixture
async def witness(endpoint):
    witness = Witness(f"{endpoint.url}/checkpoints", seconds=0.3)
    yield witness
    await witness.close()


async def test_it_gets_each_checkpoint_as_it_was_signed(office, endpoint, witness):
    endpoint.does(answers(b"", 200))
    witnessing = Witnessing(witness)
    signing = SigningKeys.load_or_create(office.home / "keys" / "signing.json")
    outside = CheckpointLog(office.home / "checkpoints")
    checkpointer = Checkpointer(office.database, signing, outside, "d", witnessing=witnessing)
    await enqueue(office.database, office.organisation, 3)
    await office.drain()
    signed = await checkpointer.sign(office.organisation)
    assert endpoint.calls == []
    assert await witnessing.sweep()
    (call,) = endpoint.calls
    assert (call.method, call.path, call.body) == ("POST", "/v1/checkpoints", signed.note)
    assert call.headers["content-type"] == "text/plain; charset=utf-8"
    assert await witnessing.sweep()
    assert len(endpoint.calls) == 1


@pytest.mark.parametrize(
    "behaviour", [answers(b"", 500), answers(b"", 404), answers(b"", 302, Location="/x"), cuts, hangs]
)
async def test_it_is_tried_again_until_the_note_is_taken(endpoint, witness, behaviour):
    endpoint.does(behaviour, behaviour, answers(b""))
    witnessing = Witnessing(witness, pause=0.01)
    running = asyncio.create_task(witnessing.run())
    witnessing.offer(uuid4(), b"note")
    while len(endpoint.calls) < 3:
        await asyncio.sleep(0.01)
    witnessing.offer(uuid4(), b"another")
    while len(endpoint.calls) < 4:
        await asyncio.sleep(0.01)
    running.cancel()
    assert [call.body for call in endpoint.calls] == [b"note", b"note", b"note", b"another"]


async def test_a_newer_note_takes_the_place_of_one_that_was_not_taken(endpoint, witness):
    endpoint.does(answers(b"", 503), answers(b""))
    witnessing, organisation = Witnessing(witness), uuid4()
    witnessing.offer(organisation, b"older")
    assert not await witnessing.sweep()
    witnessing.offer(organisation, b"newer")
    assert await witnessing.sweep()
    assert [call.body for call in endpoint.calls] == [b"older", b"newer"]


async def test_what_it_says_is_not_read(endpoint, witness):
    endpoint.does(floods)
    assert await witness.send(b"note")


async def test_nobody_there(witness):
    nobody = Witness("http://127.0.0.1:9/", seconds=0.3)
    assert not await nobody.send(b"note")
    await nobody.close()


def test_an_address_that_can_be_read_in_two_ways_is_refused():
    for url in ("", "witness.example", "ftp://witness.example/", "http://a@b/"):
        with pytest.raises(MunimentError):
            Witness(url)
