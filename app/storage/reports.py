"""Records by what they are about, page by page, in the order of the chain."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, Final
from uuid import UUID

from sqlalchemy import TextClause, text

from app.domain.instant import format_instant
from app.storage.engine import Session
from app.storage.evidence import COLUMNS
from app.storage.record_fields import raw
from app.storage.scope import tenant
from app.storage.viewer import Viewer


@dataclass(frozen=True, slots=True)
class Wanted:
    """What records are asked for; None asks for all. `start` is included, `end` is not; `first` and `last` are places.
    `subjects` are pseudonyms, any of which a record may name."""

    category: str | None = None
    client: str | None = None
    space: UUID | None = None
    subjects: tuple[str, ...] | None = None
    start: datetime | None = None
    end: datetime | None = None
    first: int | None = None
    last: int | None = None

    @property
    def named(self) -> frozenset[str]:
        return frozenset(name for name in self.__dataclass_fields__ if getattr(self, name) is not None)

    @property
    def parameters(self) -> dict[str, Any]:
        """Bound to what `named` says."""
        made: dict[str, Any] = {
            "category": self.category,
            "client": self.client,
            "wanted_space": None if self.space is None else str(self.space),
            "subjects": None if self.subjects is None else list(self.subjects),
            "start": None if self.start is None else format_instant(self.start),
            "end": None if self.end is None else format_instant(self.end),
            "first": self.first,
            "last": self.last,
        }
        return {name: value for name, value in made.items() if value is not None}


_CONDITIONS: Final = {
    "category": f"{raw('category', 'r')} = CAST(:category AS text)",
    "client": f"{raw('client_id', 'r')} = CAST(:client AS text)",
    "space": f"{raw('space_id', 'r')} = CAST(:wanted_space AS text)",
    "subjects": f"{raw('subject_pseudonym', 'r')} = ANY(CAST(:subjects AS text[]))",
    "start": f"{raw('issued_at', 'r')} >= CAST(:start AS text)",
    "end": f"{raw('issued_at', 'r')} < CAST(:end AS text)",
}
_MINE: Final = f"{raw('user_id', 'r')} = CAST(:user AS text)"
_NOT_MINE: Final = f"{raw('user_id', 'r')} IS DISTINCT FROM CAST(:user AS text)"
_CHAIN: Final = f"{COLUMNS}, r.sequence, r.previous_mac, r.mac, r.key_id"
_QUEUED: Final = f"{COLUMNS}, CAST(NULL AS bigint) AS sequence, r.position"


def _within(named: frozenset[str]) -> str:
    """Records of a stretch of time lie close together in the chain, and hardly in the order of their times: the
    stretch of places is found by the index on times, and then the chain is read there."""
    times = [name for name in ("start", "end") if name in named and not {"first", "last"} <= named]
    parts = [f"r.sequence {sign} :{name}" for name, sign in (("first", ">="), ("last", "<=")) if name in named]
    if times:
        during = " AND ".join(_CONDITIONS[name].replace("(r.", "(b.") for name in times)
        # A sum, since the least of a column would be looked for from the beginning of the chain on.
        bound = f"(SELECT {{0}}(b.sequence + 0) FROM evidence b WHERE {tenant('b')} AND {during})"
        parts += [f"r.sequence >= {bound.format('min')}", f"r.sequence <= {bound.format('max')}"]
    return "".join(f" AND {part}" for part in parts)


@cache
def _page(named: frozenset[str], auditor: bool, newest: bool, behind: bool) -> TextClause:
    """One range of an index for each reason to see a record, each in the order of the chain and cut at the limit: what
    it costs depends on the page, not on the chain."""
    order = "DESC" if newest else "ASC"
    conditions = "".join(f" AND {_CONDITIONS[name]}" for name in sorted(named & _CONDITIONS.keys())) + _within(named)
    if behind:
        conditions += f" AND r.sequence {'<' if newest else '>'} :behind"

    def part(condition: str) -> str:
        return (
            f"SELECT {_CHAIN} FROM evidence r WHERE {tenant('r')}{condition}{conditions} "
            f"ORDER BY r.sequence {order} LIMIT :limit"
        )

    if auditor:
        return text(part(""))
    of_space = f"{raw('space_id', 'r')} = CAST(w.space AS text)"
    return text(
        f"SELECT p.* FROM (({part(f' AND {_MINE}')}) UNION ALL (SELECT x.* FROM unnest(CAST(:spaces AS uuid[])) "
        f"AS w (space) CROSS JOIN LATERAL ({part(f' AND {of_space} AND {_NOT_MINE}')}) x)) p "
        f"ORDER BY p.sequence {order} LIMIT :limit"
    )


async def page(
    session: Session, wanted: Wanted, viewer: Viewer, *, newest: bool, behind: int | None, limit: int
) -> Sequence[Any]:
    """Chained records in the order of the chain, or from its end; after the place `behind` in that order."""
    spaces = [space for space in viewer.spaces if wanted.space in (None, space)]
    parameters = {
        "organisation": session.organisation,
        "limit": limit,
        **wanted.parameters,
        **({} if viewer.auditor else {"user": str(viewer.user), "spaces": spaces}),
        **({} if behind is None else {"behind": behind}),
    }
    return await session.rows(_page(wanted.named, viewer.auditor, newest, behind is not None), parameters)


@cache
def _waiting(named: frozenset[str], auditor: bool, newest: bool, behind: bool) -> TextClause:
    order = "DESC" if newest else "ASC"
    conditions = "".join(f" AND {_CONDITIONS[name]}" for name in sorted(named & _CONDITIONS.keys()))
    if not auditor:
        conditions += f" AND ({_MINE} OR {raw('space_id', 'r')} = ANY(CAST(CAST(:spaces AS uuid[]) AS text[])))"
    if behind:
        conditions += f" AND r.position {'<' if newest else '>'} :behind"
    return text(
        f"SELECT {_QUEUED} FROM attribution_queue r WHERE {tenant('r')}{conditions} "
        f"ORDER BY r.position {order} LIMIT :limit"
    )


async def waiting(
    session: Session, wanted: Wanted, viewer: Viewer, *, newest: bool, behind: int | None, limit: int
) -> Sequence[Any]:
    """Records that are not chained yet, in the order in which they will be, or backwards; `behind`: a position in the
    queue. None lies in a range of places."""
    if wanted.first is not None or wanted.last is not None:
        return []
    parameters = {
        "organisation": session.organisation,
        "limit": limit,
        **wanted.parameters,
        **({} if viewer.auditor else {"user": str(viewer.user), "spaces": list(viewer.spaces)}),
        **({} if behind is None else {"behind": behind}),
    }
    return await session.rows(_waiting(wanted.named, viewer.auditor, newest, behind is not None), parameters)


_FIRST = text(f"SELECT min(e.sequence + 0) FROM evidence e WHERE {tenant('e')} AND {raw('issued_at', 'e')} >= :start")
_LAST = text(f"SELECT e.sequence FROM evidence e WHERE {tenant('e')} ORDER BY e.sequence DESC LIMIT 1")


async def stretch(session: Session, wanted: Wanted) -> Wanted:
    """The same within the places that there are now: pages of it that are read one after the other are of one moment,
    and a stretch of time is looked for once."""
    last = wanted.last or await session.value(_LAST, {"organisation": session.organisation}) or 0
    first = wanted.first or 1
    if wanted.start is not None:
        named = {"organisation": session.organisation, "start": format_instant(wanted.start)}
        first = max(first, await session.value(_FIRST, named) or last + 1)
    return replace(wanted, first=first, last=last)


_POSITION = text(f"SELECT q.position FROM attribution_queue q WHERE {tenant('q')} AND q.id = :id")
_PLACE = text(f"SELECT e.sequence FROM evidence e WHERE {tenant('e')} AND e.id = :id")


async def place(session: Session, id: UUID) -> tuple[int | None, int | None]:
    """(place in the chain, position in the queue) of a record; both None when it is unknown."""
    named = {"organisation": session.organisation, "id": id}
    return await session.value(_PLACE, named), await session.value(_POSITION, named)
