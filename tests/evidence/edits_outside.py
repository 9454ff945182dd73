"""Edits of what stands beside the records: head files, marks of earlier runs, nodes of the tree."""

import os

from app.domain.chain import Outcome
from app.domain.merkle import root_nodes
from tests.evidence.attack import Attack, Expected, edit, tampered


@edit
async def tail_deleted_with_its_nodes(attack: Attack) -> Expected:
    first = attack.place(2)
    await attack.delete(f"sequence >= {first}")
    await attack.connection.execute("DELETE FROM merkle_nodes WHERE organisation_id = $1", attack.organisation)
    return Expected(Outcome.TRUNCATED, first)


@edit
async def node_that_the_root_is_folded_from(attack: Attack) -> Expected:
    """The records are as they were, so no place of them is named."""
    await change_node(attack, *attack.chance.choice(root_nodes(attack.end)))
    return Expected(Outcome.TAMPERED, None)


@edit
async def node_inside_the_tree(attack: Attack) -> Expected:
    """No root of the whole tree is made of it, but proofs are."""
    await change_node(attack, *any_node(attack))
    return Expected(Outcome.TAMPERED, None)


@edit
async def node_deleted(attack: Attack) -> Expected:
    level, position = any_node(attack)
    status = await attack.connection.execute(
        "DELETE FROM merkle_nodes WHERE organisation_id = $1 AND level = $2 AND position = $3",
        attack.organisation,
        level,
        position,
    )
    assert status == "DELETE 1"
    return Expected(Outcome.TAMPERED, None)


@edit
async def node_added(attack: Attack) -> Expected:
    """One that later leaves would complete: the sequencer could not add it then."""
    level = attack.chance.randrange(1, 6)
    await attack.connection.execute(
        "INSERT INTO merkle_nodes (organisation_id, level, position, hash) VALUES ($1, $2, $3, $4)",
        attack.organisation,
        level,
        attack.end >> level,
        attack.chance.randbytes(32),
    )
    return Expected(Outcome.TAMPERED, None)


def any_node(attack: Attack) -> tuple[int, int]:
    """Any node but the last leaf: without that one the tree is one that has not yet caught up."""
    level = attack.chance.randrange((attack.end - 1).bit_length())
    return level, attack.chance.randrange((attack.end - 1) >> level)


async def change_node(attack: Attack, level: int, position: int) -> None:
    status = await attack.connection.execute(
        "UPDATE merkle_nodes SET hash = sha256(hash) WHERE organisation_id = $1 AND level = $2 AND position = $3",
        attack.organisation,
        level,
        position,
    )
    assert status == "UPDATE 1"


@edit
async def mark_forged_behind_an_edit(attack: Attack) -> Expected:
    """As if everything had been found valid: a whole run does not care, one since the last run does not believe it."""
    place = attack.place()
    await attack.set(place, payload=attack.row(place).payload + b" ")
    await attack.connection.execute(
        "INSERT INTO chain_verifications (organisation_id, id, started_at, finished_at, verdict, checked_records, "
        "duration_ms, from_sequence, to_sequence, mark_mac, mark_key_id, mark_seal) VALUES "
        "($1, gen_random_uuid(), now(), now(), 'VALID', $2, 1, 1, $2, $3, $4, $5)",
        attack.organisation,
        attack.end,
        attack.row(attack.end).mac,
        attack.row(attack.end).key_id,
        attack.chance.randbytes(32),
    )
    return tampered(place)


@edit
async def head_file_bit(attack: Attack) -> Expected:
    path = attack.office.heads.path(attack.organisation)
    content = bytearray(path.read_bytes())
    place = content.index(b'"mac": "') + 8 + attack.chance.randrange(64)
    content[place] = ord("0") if content[place] != ord("0") else ord("1")
    path.write_bytes(content)
    return Expected(Outcome.TAMPERED, None)


@edit
async def head_file_of_another_organisation(attack: Attack) -> Expected:
    theirs = attack.office.heads.path(attack.other).read_bytes()
    attack.office.heads.path(attack.organisation).write_bytes(theirs)
    return Expected(Outcome.TAMPERED, None)


@edit
async def head_file_removed_and_the_tail_deleted(attack: Attack) -> Expected:
    """The process that saw the head remembers it."""
    first = attack.place(2)
    os.unlink(attack.office.heads.path(attack.organisation))
    await attack.delete(f"sequence >= {first}")
    return Expected(Outcome.TRUNCATED, first)


@edit
async def head_file_removed_before_a_restart(attack: Attack) -> Expected:
    os.unlink(attack.office.heads.path(attack.organisation))
    attack.restart()
    return Expected(Outcome.UNVERIFIABLE, None)


@edit
async def head_file_removed_and_all_deleted_before_a_restart(attack: Attack) -> Expected:
    os.unlink(attack.office.heads.path(attack.organisation))
    await attack.delete()
    await attack.connection.execute("DELETE FROM chain_verifications WHERE organisation_id = $1", attack.organisation)
    attack.restart()
    # The tree has been left.
    return Expected(Outcome.TRUNCATED, 1)


@edit
async def all_deleted_with_its_nodes_and_the_head_file_before_a_restart(attack: Attack) -> Expected:
    await head_file_removed_and_all_deleted_before_a_restart(attack)
    await attack.connection.execute("DELETE FROM merkle_nodes WHERE organisation_id = $1", attack.organisation)
    return Expected(Outcome.UNVERIFIABLE, None)


@edit
async def head_file_put_back_and_the_tail_deleted(attack: Attack) -> Expected:
    """An older head of the chain itself, and the chain cut to it."""
    path = attack.office.heads.path(attack.organisation)
    older = attack.row(attack.place(2, attack.end - 1))
    path.unlink()
    attack.forgetful().advance(attack.organisation, older.head, older.key_id)
    await attack.delete(f"sequence > {older.sequence}")
    return Expected(Outcome.TRUNCATED, older.sequence + 1)
