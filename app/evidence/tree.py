"""Growing a chain's Merkle tree: with the records, and afterwards where a chain is older than its tree."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from uuid import UUID

import structlog

from app.domain.chain import Entry
from app.domain.evidence_tree import Growth, leaf
from app.domain.merkle import Node, root_nodes
from app.domain.tree_digest import NodeDigests
from app.storage import evidence, merkle
from app.storage.engine import Database, Session

log = structlog.get_logger()

#: Records whose leaves are made up for in one transaction.
BATCH = 2000


class TreeError(LookupError):
    """The stored tree lacks nodes that it must have."""


async def stored(session: Session, size: int | None = None) -> Growth:
    """The tree of the first `size` leaves as it is stored, or all of it; `TreeError` when nodes are missing."""
    leaves = await merkle.size(session) if size is None else size
    wanted = root_nodes(leaves)
    found = await merkle.nodes(session, wanted)
    if len(found) != len(wanted):
        raise TreeError(f"nodes of the tree of {leaves} leaves are missing")
    return Growth(leaves, [found[node] for node in wanted])


async def fits(session: Session, nodes: NodeDigests, whole: bool) -> bool:
    """Whether the stored nodes are those that a check has just computed from the records, each of them, and, of the
    `whole` tree, no more than those."""
    return await merkle.digests(session, nodes.start, None if whole else nodes.end) == nodes.levels()


async def extend(session: Session, entries: Sequence[Entry]) -> bool:
    """Append the leaves of entries that are being appended to the chain, in its own transaction.

    False, and nothing is written, where the tree does not reach just to where they begin: a chain from before there
    were trees (`catch_up` mends that), or one that was cut. The tree is never bent to a chain that was cut: what was
    signed of it would no longer fit.
    """
    before = entries[0].sequence - 1
    if await merkle.size(session) != before:
        return False
    try:
        growth = await stored(session, before)
    except TreeError:
        log.exception("tree.damaged", organisation=str(session.organisation))
        return False
    await merkle.add(session, _leaves(session.organisation, growth, entries))
    return True


async def catch_up(database: Database, organisation: UUID) -> int:
    """Grow the tree to the end of the chain, in transactions of at most `BATCH` records; the leaves appended. To call
    it again, or from several processes, changes nothing more. `TreeError` when records or nodes are missing."""
    appended = 0
    while True:
        async with database.unstamped(organisation) as session:
            await evidence.lock(session)
            size = await merkle.size(session)
            async with aclosing(evidence.stream(session, size + 1, size + BATCH)) as batches:
                entries = [entry async for batch in batches for entry in batch]
            if not entries:
                return appended
            if [entry.sequence for entry in entries] != list(range(size + 1, size + 1 + len(entries))):
                raise TreeError(f"a record after {size} is missing")
            growth = await stored(session, size)
            made = await asyncio.to_thread(_leaves, organisation, growth, entries)
            await merkle.add(session, made)
            await session.commit()
        appended += len(entries)


def _leaves(organisation: UUID, growth: Growth, entries: Sequence[Entry]) -> list[tuple[Node, bytes]]:
    try:
        return [made for entry in entries for made in growth.add(leaf(organisation, entry))]
    except ValueError as error:
        raise TreeError(f"entry {growth.size + 1} cannot be one: {error}") from None
