"""Whose records a caller sees (E8), and what of them (C4).

A record names what was delivered, also from spaces that are not the space that it belongs to. Who retrieved was given
that, and auditors see everything; an administrator of the space sees what they may see elsewhere today, and nothing
tells that there is more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.domain.principal import Permission, Principal, parse_id
from app.domain.record import id_of, items, texts
from app.storage import lenses, memories, permissions, traces
from app.storage.engine import Session
from app.storage.viewer import Viewer

_NOTHING: frozenset[UUID] = frozenset()


@dataclass(frozen=True, slots=True)
class Sight:
    """Whose records a caller sees: their own, those of the spaces they administer or audit, all as an auditor of the
    whole organisation. `searched`: the spaces that they may search or audit, less their own; `audited`: those that they
    audit; `known`: those on which they hold anything."""

    user: UUID
    auditor: bool
    spaces: frozenset[UUID] = _NOTHING
    searched: frozenset[UUID] = _NOTHING
    audited: frozenset[UUID] = _NOTHING
    known: frozenset[UUID] = _NOTHING

    @classmethod
    async def of(cls, session: Session, principal: Principal) -> "Sight":
        held = await permissions.granted(session, principal.id, principal.identities)
        audited = held.get(Permission.AUDIT_READ, _NOTHING)
        return cls(
            principal.id,
            await permissions.holds_at_root(session, principal.identities, Permission.AUDIT_READ),
            held.get(Permission.ADMIN, _NOTHING) | audited,
            held.get(Permission.SEARCH, _NOTHING) | audited,
            audited,
            _NOTHING.union(*held.values()),
        )

    @property
    def viewer(self) -> Viewer:
        """The same for a statement."""
        return Viewer(self.user, self.auditor, self.spaces, self.audited, self.known)

    def sees(self, row: Any) -> bool:
        return self.auditor or row.user_id == self.user or row.space_id in self.spaces

    def whole(self, record: Mapping[str, Any]) -> bool:
        """Whether they see all that a record names."""
        return (
            self.auditor
            or record.get("userId") == str(self.user)
            or parse_id(str(record.get("spaceId"))) in self.audited
        )


EVERYTHING = Sight(UUID(int=0), True)


async def may_see(session: Session, principal: Principal, row: Any | None) -> bool:
    """Whether the caller may see a record. What is not theirs takes as long as what does not exist."""
    if row is not None and row.user_id == principal.id:
        return True
    sight = await Sight.of(session, principal)
    return row is not None and sight.sees(row)


@dataclass(frozen=True, slots=True)
class Named:
    """What of some records a caller may see today: sources, memories and lenses."""

    sources: frozenset[UUID]
    memories: frozenset[UUID]
    lenses: frozenset[UUID]

    def cut(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """The record without the rest."""
        made = dict(record)
        if "chunks" in record:
            made["chunks"] = [item for item in items(record, "chunks") if id_of(item, "sourceId") in self.sources]
            made["sourceIds"] = [id for id in texts(record, "sourceIds") if parse_id(id) in self.sources]
        if "memories" in record:
            made["memories"] = [item for item in items(record, "memories") if id_of(item, "memoryId") in self.memories]
        if record.get("lensId") and id_of(record, "lensId") not in self.lenses:
            made["lensId"] = made["lensSystemFrom"] = None
        return made


def _known(ids: Iterable[UUID | None]) -> set[UUID]:
    return {id for id in ids if id is not None}


async def named(session: Session, sight: Sight, records: Sequence[Mapping[str, Any]]) -> Named:
    """Of what records name, what the caller may see today."""
    sources = _known(id_of(item, "sourceId") for record in records for item in items(record, "chunks"))
    wanted = _known(id_of(item, "memoryId") for record in records for item in items(record, "memories"))
    looked_through = _known(id_of(record, "lensId") for record in records)
    homes = await memories.spaces_of(session, wanted) if wanted else {}
    lens_homes = await lenses.spaces_of(session, looked_through) if looked_through else {}
    standing = await traces.standing(
        session, sight.user, sight.known, sources=sources, spaces={*homes.values(), *lens_homes.values()}
    )
    return Named(
        frozenset(sources & standing.keys()),
        frozenset(id for id, space in homes.items() if space in standing),
        frozenset(id for id, space in lens_homes.items() if space in standing),
    )


async def shown(session: Session, sight: Sight, records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Records as the caller may see them."""
    others = [record for record in records if not sight.whole(record)]
    if not others:
        return list(records)
    seen = await named(session, sight, others)
    return [record if sight.whole(record) else seen.cut(record) for record in records]
