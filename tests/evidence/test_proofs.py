"""Proofs cost a few rows by their key, however long the chain, and none is handed out that does not hold."""

import pytest

from app.domain.chain import Entry
from app.domain.errors import Code, MunimentError
from app.domain.evidence_tree import leaf
from app.domain.merkle import consistency_parts, consistent, included, inclusion_parts, leaf_hash, root_nodes
from app.domain.principal import Permission, Principal, principal_id
from app.evidence.checkpoints import Checkpointer
from app.evidence.proofs import consistency_proof, inclusion_proof, latest_checkpoint
from app.providers.checkpoint_log import CheckpointLog
from app.providers.signing import SigningKeys
from app.storage import merkle
from tests.evidence.support import chain_of, enqueue
from tests.evidence.test_checkpoints import behind_the_wall
from tests.fixtures.explain import explained
from tests.retrieval.test_statements import statements


@pytest.fixture
def auditor(office, monkeypatch):
    """Whoever asks may see every record; who may is `tests/schema/test_proofs.py`'s matter."""

    async def holds(session, identities, permission):
        return permission is Permission.AUDIT_READ

    monkeypatch.setattr("app.evidence.sight.permissions.holds_at_root", holds)
    return Principal(office.organisation, principal_id(office.organisation, "person", "a"), "a")


@pytest.fixture
def checkpointer(office):
    signing = SigningKeys.load_or_create(office.home / "keys" / "signing.json")
    return Checkpointer(office.database, signing, CheckpointLog(office.home / "checkpoints"), "test.example")


async def append(office, count):
    await enqueue(office.database, office.organisation, count)
    await office.drain()


async def rows_of(office):
    return await chain_of(office.database, office.organisation)


def leaf_of(office, row):
    entry = Entry(row.sequence, row.key_id, row.previous_mac, row.mac, row.payload)
    return leaf(office.organisation, entry)


async def test_every_record_is_proven_against_every_tree(office, auditor):
    await append(office, 13)
    rows = await rows_of(office)
    for row in rows:
        for size in range(row.sequence, 14):
            shown = await inclusion_proof(office.database, auditor, sequence=row.sequence, tree_size=size)
            assert (shown.sequence, shown.tree_size, shown.attribution_id) == (row.sequence, size, row.id)
            assert shown.leaf == leaf_of(office, row)
            assert included(row.sequence - 1, size, leaf_of(office, row), shown.hashes, shown.root)
            assert not included(row.sequence - 1, size, leaf_hash(row.payload), shown.hashes, shown.root)


async def test_the_tree_is_by_default_the_earliest_that_was_signed_over_the_record(office, auditor, checkpointer):
    await append(office, 3)
    first = await inclusion_proof(office.database, auditor, sequence=2)
    assert (first.tree_size, first.checkpoint) == (3, None)
    await checkpointer.sign(office.organisation)
    await append(office, 4)
    await checkpointer.sign(office.organisation)
    await append(office, 1)
    sizes = {}
    for row in await rows_of(office):
        shown = await inclusion_proof(office.database, auditor, attribution_id=str(row.id))
        signed = shown.checkpoint and shown.checkpoint.checkpoint
        assert signed is None or (signed.size, signed.root) == (shown.tree_size, shown.root)
        sizes[row.sequence] = shown.tree_size, signed is not None
    assert sizes == {**dict.fromkeys((1, 2, 3), (3, True)), **dict.fromkeys((4, 5, 6, 7), (7, True)), 8: (8, False)}
    exact = await inclusion_proof(office.database, auditor, sequence=1, tree_size=7)
    assert exact.checkpoint.stored == (await latest_checkpoint(office.database, office.organisation)).stored


async def test_each_tree_goes_on_from_each_earlier_one(office):
    await append(office, 12)
    for new in range(1, 13):
        for old in range(1, new + 1):
            shown = await consistency_proof(office.database, office.organisation, old, new)
            assert consistent(old, new, shown.hashes, shown.old_root, shown.new_root)
    for wrong in ((0, 3), (5, 4), (1, 13), (-1, 2), (2**62, 2**63 - 1)):
        with pytest.raises(MunimentError) as refused:
            await consistency_proof(office.database, office.organisation, *wrong)
        assert refused.value.code is Code.BAD_USER_INPUT


async def test_what_there_is_no_proof_of(office, auditor):
    await append(office, 4)
    queued = (await enqueue(office.database, office.organisation, 1))[0]

    async def refused(**named):
        with pytest.raises(MunimentError) as found:
            await inclusion_proof(office.database, auditor, **named)
        return found.value.code

    for named in ({"sequence": 0}, {"sequence": 5}, {"sequence": -(2**63)}, {"attribution_id": str(queued.id)}):
        assert await refused(**named) is Code.ATTRIBUTION_NOT_FOUND
    assert await refused(attribution_id="no id") is Code.ATTRIBUTION_NOT_FOUND
    for named in ({}, {"sequence": 1, "attribution_id": str(queued.id)}):
        assert await refused(**named) is Code.BAD_USER_INPUT
    for size in (2, 0, -1, 5, 2**63 - 1):
        assert await refused(sequence=3, tree_size=size) is Code.BAD_USER_INPUT


async def test_nothing_is_handed_out_that_does_not_hold(office, auditor, owner_url):
    await append(office, 8)

    async def codes():
        found = []
        for place in range(1, 9):
            try:
                await inclusion_proof(office.database, auditor, sequence=place)
                found.append("ok")
            except MunimentError as error:
                found.append(error.code.value)
        return found

    assert await codes() == ["ok"] * 8
    edit = "UPDATE evidence SET mac = sha256(mac) WHERE organisation_id = $1 AND sequence = 3"
    await behind_the_wall(owner_url, office, edit)
    assert await codes() == ["ok", "ok", "CONFLICT", *["ok"] * 5]
    await behind_the_wall(
        owner_url,
        office,
        "UPDATE merkle_nodes SET hash = sha256(hash) WHERE organisation_id = $1 AND level = 1 AND position = 3",
    )
    assert await codes() == ["ok", "ok", "CONFLICT", "ok", "CONFLICT", "CONFLICT", "ok", "ok"]
    await behind_the_wall(owner_url, office, "DELETE FROM merkle_nodes WHERE organisation_id = $1 AND level = 2")
    assert set(await codes()) == {"CONFLICT"}
    with pytest.raises(MunimentError, match="verify the chain"):
        await consistency_proof(office.database, office.organisation, 4, 8)


async def test_a_proof_takes_as_many_statements_on_a_longer_chain(office, auditor):
    counts = []
    for more in (5, 600, 2000):
        await append(office, more)
        size = len(await rows_of(office))
        with statements(office.database) as seen:
            await inclusion_proof(office.database, auditor, sequence=3)
        included_in = len(seen)
        with statements(office.database) as seen:
            await consistency_proof(office.database, office.organisation, 3, size)
        counts.append((included_in, len(seen)))
    assert counts == [counts[0]] * 3
    assert counts[0] <= (8, 4)


async def test_nodes_are_reached_by_their_key(office):
    await append(office, 3000)
    size = 3000
    async with explained(office.database, office.organisation) as session:
        await merkle.size(session)
        for parts in (inclusion_parts(1234, size), consistency_parts(1235, size)):
            wanted = {node for part in parts for node in part} | set(root_nodes(size))
            assert len(await merkle.nodes(session, wanted)) == len(wanted) < 40
        await merkle.latest(session)
        await merkle.covering(session, 5)
        await merkle.at(session, 5)
    for plan in session.plans:
        assert not plan.scanned, str(plan)
        assert plan.indexes <= {"merkle_nodes_pkey", "checkpoints_pkey"}
        assert plan.removed == 0, str(plan)
        assert plan.fetched < 80, str(plan)
