"""One mechanism for every fact on both clocks: read what is believed, let the domain decide, close and insert.

The organisation's clock row is locked first (`WriteSession`), so writers of one organisation take turns and none is
lost; the exclusion constraint of the table is the second wall. Nothing is edited but `system_to`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.sql.elements import TextClause
from uuid_utils.compat import uuid7

from app.domain.temporal import ALWAYS, Changes, Op, Period, Portion, Row, Timeline, Version, applied, diff
from app.storage.engine import AnyRow, Session, WriteSession
from app.storage.scope import believed_now, known, tenant, valid_within

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Family(Generic[V]):
    """A table of versions. `fact` names the fact of a row; `columns` are those of its value, with casts. A fact that is
    `derived` is computed by the database from the columns that every row of it carries."""

    table: str
    fact: str
    columns: Mapping[str, str]
    encode: Callable[[V], Mapping[str, Any]]
    decode: Callable[[AnyRow], V]
    derived: bool = False

    async def believed(self, session: Session, facts: Sequence[UUID]) -> dict[UUID, tuple[Row[UUID, V], ...]]:
        """Today's belief of each fact, in valid order."""
        found: dict[UUID, list[Row[UUID, V]]] = {fact: [] for fact in facts}
        for row in await session.rows(self._believed, {"organisation": session.organisation, "facts": list(facts)}):
            portion = Portion(Period(row.valid_from, row.valid_to), self.decode(row))
            found[row.fact_id].append(Row(row.row_id, portion))
        return {fact: tuple(rows) for fact, rows in found.items()}

    async def change(self, session: WriteSession, fact: UUID, op: Op[V], **owner: Any) -> Changes[UUID, V]:
        """Apply one operation to a fact. `owner` are columns that every row of the fact carries unchanged."""
        before = (await self.believed(session, [fact]))[fact]
        return await self.replace(session, fact, before, applied(tuple(row.portion for row in before), op), **owner)

    async def replace(
        self, session: WriteSession, fact: UUID, before: Sequence[Row[UUID, V]], after: Timeline[V], **owner: Any
    ) -> Changes[UUID, V]:
        """Move a fact from one timeline to the next."""
        changes = diff(before, after)
        await self.close(session, [row.key for row in changes.close])
        await self.insert(session, [(fact, portion) for portion in changes.insert], **owner)
        return changes

    async def close(self, session: WriteSession, ids: Sequence[UUID]) -> None:
        """End today's belief in these rows. What was written at this very instant was never visible: it goes, so that
        no period of no length stays."""
        if ids:
            named = {"organisation": session.organisation, "stamp": session.stamp, "ids": list(ids)}
            await session.run(self._close, named)

    async def insert(self, session: WriteSession, portions: Sequence[tuple[UUID, Portion[V]]], **owner: Any) -> None:
        """Believe these from the session's instant on."""
        await session.run(
            self._insert(tuple(owner)),
            [
                {
                    "organisation": session.organisation,
                    "stamp": session.stamp,
                    **owner,
                    **self.encode(portion.value),
                    "row_id": uuid7(),
                    "fact": fact,
                    "valid_from": portion.period.start,
                    "valid_to": portion.period.end,
                }
                for fact, portion in portions
            ],
        )

    async def changed_since(self, session: Session, fact: UUID, instant: datetime, period: Period = ALWAYS) -> bool:
        """Whether the belief about a fact, as far as it touches a valid period, changed after an instant."""
        return bool(
            await session.value(
                self._changed_since,
                {
                    "organisation": session.organisation,
                    "fact": fact,
                    "instant": instant,
                    "start": period.start,
                    "end": period.end,
                },
            )
        )

    async def history(
        self, session: Session, fact: UUID, after: int = 0, limit: int = 1 << 30
    ) -> list[tuple[UUID, Version[V]]]:
        """Every rectangle there ever was of a fact, by system time, then valid time."""
        rows = await session.rows(
            self._history, {"organisation": session.organisation, "fact": fact, "after": after, "limit": limit}
        )
        return [
            (
                row.row_id,
                Version(Period(row.valid_from, row.valid_to), Period(row.system_from, row.system_to), self.decode(row)),
            )
            for row in rows
        ]

    async def timeline(self, session: Session, fact: UUID, known_at: datetime) -> list[tuple[UUID, Version[V]]]:
        """The rectangles that were believed at a point of system time, in valid order."""
        rows = await session.rows(
            self._timeline, {"organisation": session.organisation, "fact": fact, "known_at": known_at}
        )
        return [
            (
                row.row_id,
                Version(Period(row.valid_from, row.valid_to), Period(row.system_from, row.system_to), self.decode(row)),
            )
            for row in rows
        ]

    async def erase(self, session: WriteSession, fact: UUID, period: Period = ALWAYS, **owner: Any) -> None:
        """Physical removal of a valid period from every belief there ever was."""
        for row_id, version in await self.history(session, fact):
            if not version.valid.overlaps(period):
                continue
            await session.run(self._delete, {"organisation": session.organisation, "id": row_id})
            await session.run(
                self._restore(tuple(owner)),
                [
                    {
                        "organisation": session.organisation,
                        **owner,
                        **self.encode(version.value),
                        "row_id": uuid7(),
                        "fact": fact,
                        "valid_from": rest.start,
                        "valid_to": rest.end,
                        "system_from": version.system.start,
                        "system_to": version.system.end,
                    }
                    for rest in version.valid.minus(period)
                ],
            )

    @property
    def _selected(self) -> str:
        columns = ("valid_from", "valid_to", "system_from", "system_to", *self.columns)
        return f"f.id AS row_id, f.{self.fact} AS fact_id, {', '.join(f'f.{column}' for column in columns)}"

    @property
    def _believed(self) -> TextClause:
        return text(
            f"SELECT {self._selected} FROM {self.table} f WHERE {believed_now('f')} "
            f"AND f.{self.fact} = ANY(CAST(:facts AS uuid[])) ORDER BY f.valid_from NULLS FIRST"
        )

    @property
    def _changed_since(self) -> TextClause:
        return text(
            f"SELECT EXISTS (SELECT FROM {self.table} f WHERE {tenant('f')} AND f.{self.fact} = :fact "
            f"AND {valid_within('f')} AND greatest(f.system_from, f.system_to) > :instant)"
        )

    @property
    def _history(self) -> TextClause:
        return text(
            f"SELECT {self._selected} FROM {self.table} f WHERE {tenant('f')} AND f.{self.fact} = :fact "
            "ORDER BY f.system_from, f.valid_from NULLS FIRST OFFSET :after LIMIT :limit"
        )

    @property
    def _timeline(self) -> TextClause:
        return text(
            f"SELECT {self._selected} FROM {self.table} f WHERE {known('f')} AND f.{self.fact} = :fact "
            "ORDER BY f.valid_from NULLS FIRST"
        )

    @property
    def _close(self) -> TextClause:
        chosen = f"{believed_now('f')} AND f.id = ANY(CAST(:ids AS uuid[]))"
        return text(
            f"WITH never_seen AS (DELETE FROM {self.table} f WHERE {chosen} AND f.system_from = :stamp) "
            f"UPDATE {self.table} f SET system_to = :stamp WHERE {chosen} AND f.system_from < :stamp"
        )

    @property
    def _delete(self) -> TextClause:
        return text(f"DELETE FROM {self.table} f WHERE {tenant('f')} AND f.id = :id")

    def _insert(self, owner: tuple[str, ...]) -> TextClause:
        return self._statement(owner, ("system_from",), (":stamp",))

    def _restore(self, owner: tuple[str, ...]) -> TextClause:
        return self._statement(owner, ("system_from", "system_to"), (":system_from", ":system_to"))

    def _statement(self, owner: tuple[str, ...], clocks: tuple[str, ...], values: tuple[str, ...]) -> TextClause:
        fact = () if self.derived else (self.fact,)
        names = ["organisation_id", "id", *fact, "valid_from", "valid_to", *clocks, *owner, *self.columns]
        binds = [
            ":organisation",
            ":row_id",
            *(":fact" for _ in fact),
            ":valid_from",
            ":valid_to",
            *values,
            *(f":{column}" for column in owner),
            *(f"CAST(:{column} AS {cast})" if cast else f":{column}" for column, cast in self.columns.items()),
        ]
        return text(f"INSERT INTO {self.table} ({', '.join(names)}) VALUES ({', '.join(binds)})")


@dataclass(frozen=True, slots=True)
class Found:
    """What kind of fact an id names, and the space and the provider that decide who may read it; for a document, the
    class of its source."""

    kind: str
    space_id: UUID
    provider: str | None
    classification: str | None = None


_FIND = text(
    f"""
    SELECT 'document' AS kind, o.space_id, o.provider, o.classification FROM documents d
    JOIN sources o ON {believed_now("o")} AND o.id = d.source_id
    WHERE {tenant("d")} AND d.id = :fact
    UNION ALL SELECT 'memory', m.space_id, NULL, NULL FROM memories m WHERE {tenant("m")} AND m.id = :fact
    UNION ALL SELECT 'membership', g.space_id, NULL, NULL FROM memberships s
    JOIN groups g ON {tenant("g")} AND g.id = s.group_id
    WHERE {tenant("s")} AND s.membership_id = :fact
    UNION ALL SELECT 'grant', r.space_id, NULL, NULL FROM grants r
    WHERE {tenant("r")} AND r.grant_id = :fact LIMIT 1
    """
)


async def find_fact(session: Session, fact: UUID) -> Found | None:
    """None for an id that names no fact, or one whose source is gone."""
    row = await session.row(_FIND, {"organisation": session.organisation, "fact": fact})
    return None if row is None else Found(row.kind, row.space_id, row.provider, row.classification)
