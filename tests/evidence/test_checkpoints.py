"""The tree grows with the chain; checkpoints are signed, kept outside, and never sign what does not go on from them."""

import json

import pytest
from sqlalchemy import text

from app.domain.chain import Entry, Outcome
from app.domain.checkpoint import NoteError, parse_note
from app.domain.evidence_tree import Growth, Root, TreeCheck, leaf
from app.evidence import tree
from app.evidence.checkpoints import Checkpointer, known_checkpoints, open_checkpoint
from app.evidence.verification import Stretch, verify_chain
from app.providers.checkpoint_log import CheckpointLog
from app.providers.signing import SigningKeys
from app.storage import evidence, merkle
from tests.evidence.support import enqueue
from tests.fixtures.owner import connection


@pytest.fixture
def signing(office):
    return SigningKeys.load_or_create(office.home / "keys" / "signing.json")


@pytest.fixture
def outside(office):
    return CheckpointLog(office.home / "checkpoints")


@pytest.fixture
def checkpointer(office, signing, outside):
    return Checkpointer(office.database, signing, outside, "test.example")


async def entries_of(office):
    async with office.database.snapshot(office.organisation) as session:
        return [entry async for batch in evidence.stream(session) for entry in batch]


async def append(office, count):
    await enqueue(office.database, office.organisation, count)
    return await office.drain()


async def stored(office, size=None):
    async with office.database.snapshot(office.organisation) as session:
        return await tree.stored(session, size)


async def behind_the_wall(owner_url, office, *statements):
    """As the superuser, with triggers off."""
    async with connection(owner_url) as opened, opened.transaction():
        await opened.execute("SET LOCAL session_replication_role = replica")
        for statement in statements:
            await opened.execute(statement, office.organisation)


def naive(entries, organisation):
    growth = Growth()
    for entry in entries:
        growth.add(leaf(organisation, entry))
    return growth.root


async def test_the_tree_grows_with_the_chain(office):
    for count in (1, 2, 5, 40):
        await append(office, count)
        entries = await entries_of(office)
        assert (await stored(office)).root == naive(entries, office.organisation)
    size = len(entries)
    for earlier in (1, 3, 8, 47):
        assert (await stored(office, earlier)).root == naive(entries[:earlier], office.organisation)
    assert size == 48


async def test_a_chain_from_before_the_tree_is_made_up_for_once(office, owner_url, monkeypatch):
    monkeypatch.setattr(tree, "BATCH", 7)
    await append(office, 30)
    await behind_the_wall(owner_url, office, "DELETE FROM merkle_nodes WHERE organisation_id = $1")
    await append(office, 3)
    assert (await stored(office)).size == 0
    assert await tree.catch_up(office.database, office.organisation) == 33
    assert await tree.catch_up(office.database, office.organisation) == 0
    await append(office, 4)
    assert (await stored(office)).root == naive(await entries_of(office), office.organisation)


@pytest.mark.parametrize("edit", ["hash = sha256(hash)", "hash = hash || '\\x00'", "position = position + 100"])
async def test_an_edit_of_any_node_is_found_by_a_check(office, owner_url, edit):
    """By a check of all, and by one of a range that the leaves of the node lie in."""
    await append(office, 11)

    async def check(first=None, last=None):
        stretch = Stretch(first, last)
        verdict = await verify_chain(
            office.database, office.keys, office.heads, office.organisation, signed=[], stretch=stretch
        )
        return verdict.verdict, verdict.first_bad_sequence

    assert await check() == await check(3, 10) == (Outcome.VALID, None)
    nodes = [(level, position) for level in range(4) for position in range(11 >> level)]
    for level, position in nodes[:10] + nodes[11:]:
        where = f"WHERE organisation_id = $1 AND level = {level} AND position"
        async with connection(owner_url) as opened:
            await opened.execute("SET session_replication_role = replica")
            async with opened.transaction():
                [was] = await opened.fetch(f"SELECT hash FROM merkle_nodes {where} = {position}", office.organisation)
                await opened.execute(f"UPDATE merkle_nodes SET {edit} {where} = {position}", office.organisation)
            longer = level == 0 and "position" in edit
            expected = (Outcome.TRUNCATED, 12) if longer else (Outcome.TAMPERED, None)
            assert await check() == expected, (level, position)
            # The range begins upon the node over the two leaves before it.
            within = 2 < (position + 1) << level <= 10 or (level, position) == (1, 0)
            assert (await check(3, 10))[0] is (Outcome.TAMPERED if within else Outcome.VALID), (level, position)
            undo = f"UPDATE merkle_nodes SET hash = $2, position = {position} {where} IN ({position}, {position} + 100)"
            await opened.execute(undo, office.organisation, was["hash"])
    assert await check() == (Outcome.VALID, None)


async def test_nodes_and_checkpoints_are_append_only(office, checkpointer, owner_url):
    await append(office, 3)
    await checkpointer.sign(office.organisation)
    for table in ("merkle_nodes", "checkpoints"):
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET organisation_id = organisation_id"):
            async with office.database.unstamped(office.organisation) as session:
                with pytest.raises(Exception, match="permission denied"):
                    await session.run(text(statement))
            async with connection(owner_url) as opened:
                with pytest.raises(Exception, match="append-only"):
                    await opened.execute(statement)
        async with connection(owner_url) as opened:
            with pytest.raises(Exception, match="append-only"):
                await opened.execute(f"TRUNCATE {table}")


async def test_a_checkpoint_is_signed_once_and_kept_outside(office, checkpointer, signing, outside):
    assert await checkpointer.sign(office.organisation) is None
    await append(office, 5)
    first = await checkpointer.sign(office.organisation)
    assert await checkpointer.sign(office.organisation) == first
    assert outside.newest(office.organisation) == [first.note]
    assert open_checkpoint(first.note, signing, office.organisation).tree == (await stored(office)).root
    assert parse_note(first.note).text.startswith(f"test.example/{office.organisation}\n5\n")
    await append(office, 1)
    second = await checkpointer.sign(office.organisation)
    assert outside.newest(office.organisation) == [first.note, second.note]
    known = await known_checkpoints(office.database, outside, signing, office.organisation)
    assert [root.size for root in known] == [5, 6]
    assert outside.path(office.organisation).stat().st_mode & 0o777 == 0o600
    assert [set(json.loads(line)) for line in outside.path(office.organisation).read_text().splitlines()] == [
        {"issuedAt", "note"}
    ] * 2


async def test_a_new_key_signs_the_same_tree_again_and_the_old_signature_still_counts(
    office, checkpointer, signing, outside
):
    await append(office, 2)
    old = await checkpointer.sign(office.organisation)
    signing.rotate()
    new = await checkpointer.sign(office.organisation)
    assert (old.size, old.key_id) != (new.size, new.key_id)
    assert open_checkpoint(old.note, signing, office.organisation) == open_checkpoint(
        new.note, signing, office.organisation
    )


async def test_nothing_is_signed_of_a_tree_that_does_not_go_on_from_what_was_signed(
    office, checkpointer, outside, owner_url
):
    await append(office, 6)
    await checkpointer.sign(office.organisation)
    await behind_the_wall(
        owner_url,
        office,
        "DELETE FROM evidence WHERE organisation_id = $1 AND sequence > 3",
        "DELETE FROM merkle_nodes WHERE organisation_id = $1",
        "DELETE FROM checkpoints WHERE organisation_id = $1",
    )
    assert await checkpointer.sign(office.organisation) is None
    await append(office, 9)
    assert await checkpointer.sign(office.organisation) is None
    assert len(outside.newest(office.organisation)) == 1


async def test_the_tree_is_not_bent_to_a_chain_that_was_cut(office, checkpointer, owner_url):
    await append(office, 6)
    before = (await stored(office)).root
    await behind_the_wall(owner_url, office, "DELETE FROM evidence WHERE organisation_id = $1 AND sequence > 3")
    assert await append(office, 2) == 2
    assert (await stored(office)).root == before


def checked(office, entries, known):
    check = TreeCheck(office.organisation, known)
    for entry in entries:
        if not check.feed(entry):
            break
    return check.finish()


async def test_a_chain_written_anew_is_found_by_what_was_signed(office, checkpointer):
    known = []
    for _ in range(3):
        await append(office, 4)
        await checkpointer.sign(office.organisation)
        known.append((await stored(office)).root)
    entries = await entries_of(office)
    assert checked(office, entries, known) is None
    assert checked(office, entries, []) is None
    for place, span in ((1, (1, 4)), (4, (1, 4)), (5, (5, 8)), (12, (9, 12))):
        for change in ({"payload": b"{}"}, {"key_id": "k"}, {"mac": b"\1" * 32}, {"previous_mac": b"\1" * 32}):
            edited = [replace_entry(entry, change) if entry.sequence == place else entry for entry in entries]
            found = checked(office, edited, known)
            assert (found.verdict, found.first_bad_sequence) == (Outcome.TAMPERED, span[0])
            assert f"{span[0]} to {span[1]}" in found.reason
    short = checked(office, entries[:-1], known)
    assert (short.verdict, short.first_bad_sequence) == (Outcome.TRUNCATED, 12)
    gone = checked(office, [], known)
    assert (gone.verdict, gone.first_bad_sequence) == (Outcome.TRUNCATED, 1)
    missing = checked(office, [*entries[:5], *entries[6:]], known)
    assert (missing.verdict, missing.first_bad_sequence) == (Outcome.TAMPERED, 6)
    resumed = TreeCheck(office.organisation, known, await stored(office, 8))
    assert all(resumed.feed(entry) for entry in entries[8:])
    assert resumed.finish() is None
    assert resumed.root == known[-1]


def replace_entry(entry, change):
    return entry._replace(**change)


async def test_a_check_rests_on_two_roots_of_one_size_only_when_they_agree(office):
    await append(office, 2)
    entries = await entries_of(office)
    root = naive(entries, office.organisation)
    found = checked(office, entries, [root, Root(2, bytes(32))])
    assert found.verdict is Outcome.TAMPERED


async def test_a_leaf_takes_no_entry_that_cannot_be(office):
    good = Entry(1, "k", bytes(32), bytes(32), b"{}")
    for bad in ({"mac": b""}, {"previous_mac": bytes(33)}, {"key_id": ""}, {"key_id": "k" * 256}, {"sequence": 0}):
        with pytest.raises(ValueError, match=r"has|lies"):
            leaf(office.organisation, good._replace(**bad))


async def test_a_note_of_another_organisation_or_key_is_not_believed(office, checkpointer, signing, tmp_path):
    await append(office, 2)
    checkpoint = await checkpointer.sign(office.organisation)
    with pytest.raises(NoteError, match="another organisation"):
        open_checkpoint(checkpoint.note, signing, replace_uuid(office.organisation))
    stranger = SigningKeys.load_or_create(tmp_path / "elsewhere" / "signing.json")
    with pytest.raises(NoteError, match="no known key"):
        open_checkpoint(checkpoint.note, stranger, office.organisation)


def replace_uuid(id):
    return type(id)(int=id.int ^ 1)


async def test_a_torn_line_outside_loses_nothing_else(office, checkpointer, outside, signing):
    await append(office, 2)
    first = await checkpointer.sign(office.organisation)
    path = outside.path(office.organisation)
    path.write_bytes(path.read_bytes() + b'{"issuedAt": "2026-')
    await append(office, 2)
    second = await checkpointer.sign(office.organisation)
    assert outside.newest(office.organisation) == [first.note, second.note]


async def test_a_file_that_was_lost_is_begun_again_with_what_the_table_holds(office, checkpointer, outside):
    await append(office, 2)
    first = await checkpointer.sign(office.organisation)
    outside.path(office.organisation).unlink()
    await checkpointer.sign(office.organisation)
    assert outside.newest(office.organisation) == [first.note]


async def test_signing_is_due_after_so_many_records_or_seconds(office, signing, outside):
    now = 0.0
    checkpointer = Checkpointer(
        office.database, signing, outside, "d", every_records=5, every_seconds=60, clock=lambda: now
    )

    async def more(count):
        await append(office, count)
        checkpointer.appended(office.organisation, count)
        await checkpointer.sweep()
        return [parse_note(note).text.split("\n")[1] for note in outside.newest(office.organisation)]

    assert await more(4) == []
    assert await more(1) == ["5"]
    assert await more(1) == ["5"]
    now = 61.0
    await checkpointer.sweep()
    assert await more(0) == ["5", "6"]
    await more(1)
    await checkpointer.finish()
    assert await more(0) == ["5", "6", "7"]


async def test_several_signers_sign_one_checkpoint(office, signing, outside):
    import asyncio

    await append(office, 9)
    signers = [Checkpointer(office.database, signing, outside, "d") for _ in range(4)]
    signed = await asyncio.gather(*(one.sign(office.organisation) for one in signers))
    assert len({item.note for item in signed}) == 1
    assert len(outside.newest(office.organisation)) == 1
    async with office.database.snapshot(office.organisation) as session:
        assert (await merkle.latest(session)).size == 9
