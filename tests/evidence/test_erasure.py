"""E11, CASE 32. A subject is forgotten: whatever checked before still does, and what is kept names nobody."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from app.domain.chain import Outcome
from app.domain.errors import Code, MunimentError
from app.domain.merkle import included
from app.domain.principal import Permission
from app.domain.replay import Drift, ReplayVerdict
from app.evidence.bundle_verifier import verify_bundle
from app.evidence.exporting import export_bundle
from app.evidence.impact import impact
from app.evidence.indexing import index_delivered
from app.evidence.proofs import inclusion_proof
from app.evidence.reports import Filter, page
from app.evidence.trace import find_trace
from app.evidence.verification import Stretch, verify_chain
from app.storage import traces
from tests.evidence.replaying import replayed, why
from tests.fixtures.store import World
from tests.memory.conftest import Memories

QUESTION = "what does ada like"


async def checked(world: World, **options) -> Outcome:
    """With the MACs, the signed roots and every node of the tree."""
    parts, organisation = world.parts, world.organisation
    signed = await parts.checkpoints.known(organisation)
    verdict = await verify_chain(parts.database, parts.keys, parts.heads, organisation, signed=signed, **options)
    return verdict.verdict


async def exported(world: World, path: Path) -> bool:
    parts = world.parts
    await export_bundle(parts.database, parts.checkpoints, world.organisation, path)
    return verify_bundle(path, parts.checkpoints.keys.signer.public_key).valid


@pytest.mark.parametrize("chained", [True, False], ids=["chained before", "still queued"])
async def test_a_subject_is_forgotten(world: World, memory: Memories, tmp_path: Path, chained: bool) -> None:
    parts, organisation = world.parts, world.organisation
    auditor = await world.add_person("auditor", (world.root, Permission.AUDIT_READ))
    made = await memory.remember("ada likes tea", subjectId="ada")
    await memory.remember("bob likes tea", subjectId="bob")
    # From the first retrieval that names the subject on, and also where nothing was found of it.
    none = await world.ask("zebra", subject_id="ada", max_memories=0)
    answer = await world.ask(QUESTION, subject_id="ada")
    other = await world.ask("what does he like", subject_id="bob")
    [given] = answer.memories
    if chained:
        await parts.sequencer.turn(organisation)
        await index_delivered(parts.database, organisation)
        assert await checked(world) is Outcome.VALID
        assert await exported(world, tmp_path / "before.zip")
    [first, second] = await page(parts.database, auditor, Filter(subject_id="ada"), limit=10)
    assert [first.id, second.id] == [none.attribution_id, answer.attribution_id]
    pseudonym = second.record["subjectPseudonym"]
    async with parts.database.snapshot(organisation) as session:
        trace = await traces.find_request(session, answer.contract.request_id)

    await memory.forget("ada")
    await parts.sequencer.turn(organisation)
    await index_delivered(parts.database, organisation)

    # The chain, the tree, the proofs and the bundles hold, old and new.
    assert await checked(world) is Outcome.VALID
    assert await checked(world, stretch=Stretch(first=2)) is Outcome.VALID
    assert await exported(world, tmp_path / "after.zip")
    if chained:
        assert verify_bundle(tmp_path / "before.zip", parts.checkpoints.keys.signer.public_key).valid
    proof = await inclusion_proof(parts.database, auditor, attribution_id=str(answer.attribution_id))
    assert included(proof.sequence - 1, proof.tree_size, proof.leaf, proof.hashes, proof.root)

    # An auditor who has the tombstone finds what was given of the one who is gone.
    found = await page(parts.database, auditor, Filter(subject_pseudonym=pseudonym), limit=10)
    assert [item.record["category"] for item in found] == [
        "context_attribution",
        "context_attribution",
        "subject_erasure",
    ]
    for named in ({"item_id": made["id"]}, {"sha256": given.candidate.hit.text_sha256.hex()}):
        [use] = await impact(parts.database, auditor, **named, limit=10)
        assert use.attribution.id == answer.attribution_id

    # A replay says what is gone, at the recorded clocks and today; without the question it cannot be made.
    with pytest.raises(MunimentError) as refused:
        await replayed(world, answer, by=auditor)
    assert (refused.value.code, refused.value.field) == (Code.BAD_USER_INPUT, "query")
    for now in (False, True):
        again = await replayed(world, answer, QUESTION, by=auditor, now=now)
        assert again.verdict is ReplayVerdict.DRIFTED
        assert Drift.ERASED in why(again)
    assert (await replayed(world, other)).verdict is ReplayVerdict.REPRODUCED

    # Nothing else is left: no trace, and no text in a row of any kind that is about retrievals.
    assert trace is not None
    with pytest.raises(MunimentError) as refused:
        await find_trace(parts.database, auditor, str(trace.id))
    assert refused.value.code is Code.NOT_FOUND
    async with parts.database.snapshot(organisation) as session:
        for table in ("evidence", "attribution_queue", "retrieval_traces"):
            rows = await session.rows(text(f"SELECT payload FROM {table}"))
            assert not [row for row in rows if b"ada" in row.payload]
    # Asked again, nobody of that name is known, whatever the search cache remembers.
    again = await world.ask(QUESTION, subject_id="ada")
    assert again.memories == ()
    assert (await page(parts.database, auditor, Filter(subject_pseudonym=pseudonym), limit=10))[-1].id == found[-1].id


async def test_a_retrieval_under_way_while_its_subject_is_forgotten(world: World, memory: Memories) -> None:
    """It is answered whole before, or not at all: no trace is left of who is gone."""
    await memory.remember("ada likes tea", subjectId="ada")
    asked = [asyncio.create_task(world.ask(QUESTION, subject_id="ada")) for _ in range(6)]
    forgotten = asyncio.create_task(memory.forget("ada"))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    await forgotten
    for answer in answers:
        if isinstance(answer, Exception):
            assert isinstance(answer, MunimentError)
            assert answer.code is Code.ATTRIBUTION_FAILED
    async with world.parts.database.snapshot(world.organisation) as session:
        left = await session.value(
            text("SELECT count(*) FROM retrieval_traces t WHERE t.subject_id IS NOT NULL AND organisation_id = :o"),
            {"o": world.organisation},
        )
    assert left == 0
    while await world.parts.sequencer.turn(world.organisation):
        pass
    assert await checked(world) is Outcome.VALID
