"""Making, changing, retracting and reading lenses. A lens belongs to a space: who may see that may use it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from app.domain.errors import Code, MunimentError, bad_input
from app.domain.instant import format_instant, parse_instant
from app.domain.lens import Lens
from app.domain.principal import Permission, Principal, parse_id
from app.domain.space_tree import check_name
from app.identity.once import Outcome, check_client_key, once
from app.identity.spaces import NOWHERE, named_space, permitted, space_not_found, visible
from app.providers.ids import new_id
from app.retrieval.request import MAX_TAG, SOURCE_KINDS, clean
from app.storage import lenses, permissions, reading
from app.storage.engine import Database, Session, WriteSession
from app.storage.lenses import LensHome

#: Entries of one filter.
MAX_ENTRIES = 256
MAX_PROVIDER = 128


class Unchanged:
    """That a part of a lens stays as it is; None would take the filter away."""


UNCHANGED: Final = Unchanged()


@dataclass(frozen=True, slots=True)
class LensParts:
    """What a caller says of a lens. A filter that is None is not given, `()` admits nothing."""

    name: str | Unchanged = UNCHANGED
    space_ids: tuple[str, ...] | Unchanged | None = UNCHANGED
    source_kinds: tuple[str, ...] | Unchanged | None = UNCHANGED
    providers: tuple[str, ...] | Unchanged | None = UNCHANGED
    tags: tuple[str, ...] | Unchanged | None = UNCHANGED

    def check(self) -> None:
        """BAD_USER_INPUT for what no lens can hold."""
        if not isinstance(self.name, Unchanged):
            check_name(self.name)
        for value, field in (
            (self.space_ids, "spaceIds"),
            (self.source_kinds, "sourceKinds"),
            (self.providers, "providers"),
            (self.tags, "tags"),
        ):
            if not isinstance(value, Unchanged) and len(value or ()) > MAX_ENTRIES:
                raise bad_input(f"at most {MAX_ENTRIES} entries", field)
        for kind in _given(self.source_kinds):
            if kind not in SOURCE_KINDS:
                raise bad_input("unknown source kind", "sourceKinds")
        for provider in _given(self.providers):
            clean(provider, "providers", MAX_PROVIDER)
        for tag in _given(self.tags):
            clean(tag, "tags", MAX_TAG)

    @property
    def given(self) -> dict[str, Any]:
        """The parts that are said, as plain JSON."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in parts.items() if not isinstance(value, Unchanged)}


def _given(value: tuple[str, ...] | Unchanged | None) -> tuple[str, ...]:
    return () if isinstance(value, Unchanged) else value or ()


async def create_lens(
    database: Database,
    principal: Principal,
    parts: LensParts,
    *,
    space_id: str | None = None,
    space_key: str | None = None,
    client_key: str | None = None,
) -> Lens:
    """A lens of a space, the organisation's own by default; needs `context:space:admin` there. SPACE_NOT_FOUND for a
    space in it that the caller may not see."""
    parts.check()
    check_client_key(client_key)
    async with database.write(principal.organisation) as session:
        home = await named_space(session, principal, Permission.ADMIN, space_id=space_id, space_key=space_key)

        async def work() -> Outcome:
            blank = Lens(new_id(), home, "", None, None, None, None, session.stamp)
            lens = await _with(session, principal, blank, parts)
            await lenses.store(session, lens)
            return _outcome(lens.id, session.stamp)

        call = {"createLens": parts.given, "space": str(home)}
        return await _made(session, principal, await once(session, principal, client_key, call, work))


async def change_lens(
    database: Database,
    principal: Principal,
    id: str,
    parts: LensParts,
    *,
    expected: datetime | None = None,
    client_key: str | None = None,
) -> Lens:
    """From now on these parts of a lens are otherwise. NOT_FOUND when there is none for this caller; CONFLICT when it
    was changed after `expected`, or was retracted."""
    parts.check()

    async def change(session: WriteSession, lens: Lens) -> None:
        changed = await _with(session, principal, lens, parts)
        if changed != lens:
            await lenses.close(session, lens.id)
            await lenses.store(session, changed)

    async with database.write(principal.organisation) as session:
        call = {"changeLens": id, "parts": parts.given}
        made = await _edit(session, principal, id, change, call, expected, client_key)
        return await _made(session, principal, made)


async def retract_lens(
    database: Database,
    principal: Principal,
    id: str,
    *,
    expected: datetime | None = None,
    client_key: str | None = None,
) -> UUID:
    """From now on there is no such lens; at an earlier point of system time it is read as it was known then."""

    async def retract(session: WriteSession, lens: Lens) -> None:
        await lenses.close(session, lens.id)

    async with database.write(principal.organisation) as session:
        made = await _edit(session, principal, id, retract, {"retractLens": id}, expected, client_key)
        return UUID(made["id"])


async def read_lens(database: Database, principal: Principal, id: str, known_at: datetime | None) -> Lens | None:
    """The lens as it was known then; None when it was not there then. NOT_FOUND when there is none for this caller.
    Spaces that they may not see today are left out of it."""
    async with database.snapshot(principal.organisation) as session:
        lens, _ = await _known(session, principal, id)
        _, at = await reading.point(session, None, known_at)
        return await _shown(session, principal, await lenses.at(session, lens, at))


async def list_lenses(
    database: Database, principal: Principal, known_at: datetime | None, *, after: UUID, limit: int
) -> Sequence[Lens]:
    """The lenses that were known then of every space that the caller may see today, by id."""
    async with database.snapshot(principal.organisation) as session:
        _, at = await reading.point(session, None, known_at)
        found = await lenses.listed(session, principal.id, principal.identities, at, after, limit)
        return await _without_unseen(session, principal, found)


async def _edit(
    session: WriteSession,
    principal: Principal,
    id: str,
    work: Callable[[WriteSession, Lens], Awaitable[None]],
    call: dict[str, Any],
    expected: datetime | None,
    client_key: str | None,
) -> dict[str, Any]:
    check_client_key(client_key)
    known, home = await _known(session, principal, id)
    await permitted(session, principal, Permission.ADMIN, space_id=home.space_id, missing=lens_not_found())

    async def edit() -> Outcome:
        if expected is not None and home.changed_at > expected:
            raise MunimentError(Code.CONFLICT, "the lens was changed meanwhile", "expectedSystemFrom")
        lens = await lenses.at(session, known, session.stamp)
        if lens is None:
            raise MunimentError(Code.CONFLICT, "the lens was retracted", "id")
        await work(session, lens)
        return _outcome(known, session.stamp)

    return await once(session, principal, client_key, call, edit)


async def _known(session: Session, principal: Principal, id: str) -> tuple[UUID, LensHome]:
    """Unknown, malformed and invisible are one answer."""
    lens = parse_id(id)
    home = None if lens is None else await lenses.home(session, lens)
    seen = await visible(session, principal, NOWHERE if home is None else home.space_id)
    if lens is None or home is None or not seen:
        raise lens_not_found()
    return lens, home


async def _with(session: WriteSession, principal: Principal, lens: Lens, parts: LensParts) -> Lens:
    """The lens with what is said of it. What is not said stays, spaces that the caller may not see included."""
    given: dict[str, Any] = {
        name: value if name == "name" or value is None else tuple(dict.fromkeys(value))
        for name, value in parts.given.items()
    }
    if given.get("space_ids") is not None:
        wanted = [parse_id(space) for space in given["space_ids"]]
        seen = await permissions.visible_among(
            session, principal.id, principal.identities, [space for space in wanted if space is not None]
        )
        if any(space not in seen for space in wanted):
            raise space_not_found("spaceIds")
        given["space_ids"] = tuple(wanted)
    changed = replace(lens, **given)
    return lens if changed == lens else replace(changed, system_from=session.stamp)


async def _made(session: WriteSession, principal: Principal, made: dict[str, Any]) -> Lens:
    """The lens as it was right after a write."""
    lens = await _shown(session, principal, await lenses.at(session, UUID(made["id"]), parse_instant(made["knownAt"])))
    assert lens is not None
    return lens


async def _shown(session: Session, principal: Principal, lens: Lens | None) -> Lens | None:
    return None if lens is None else (await _without_unseen(session, principal, [lens]))[0]


async def _without_unseen(session: Session, principal: Principal, found: Sequence[Lens]) -> list[Lens]:
    """The same lenses with the spaces that the caller may see; the others do not exist for them."""
    named = {space for lens in found for space in lens.space_ids or ()}
    if not named:
        return list(found)
    seen = await permissions.visible_among(session, principal.id, principal.identities, sorted(named))
    return [
        lens
        if lens.space_ids is None
        else replace(lens, space_ids=tuple(space for space in lens.space_ids if space in seen))
        for lens in found
    ]


def _outcome(lens: UUID, stamp: datetime) -> Outcome:
    return Outcome({"id": str(lens), "knownAt": format_instant(stamp)})


def lens_not_found() -> MunimentError:
    return MunimentError(Code.NOT_FOUND, "no such lens", "id")
