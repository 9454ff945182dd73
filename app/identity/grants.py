"""Who may do what where: granting permissions to people, groups and keys, taking them back, and listing them.

A caller who holds `context:space:admin` on a space, or `org:admin`, grants there what they hold there, for no longer
than they hold it; with a key that ends, for no longer than the key. It stays when who granted it, a person or a key,
is revoked later. What is granted counts on the space and below, from the next request on, in every process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from app.domain.canonical import canonical
from app.domain.errors import Code, MunimentError, bad_input
from app.domain.grant import Grantee, grant_id, left_without, not_held
from app.domain.instant import format_instant, parse_instant
from app.domain.principal import Permission, Principal
from app.domain.temporal import Assert, Op, Period, Retract
from app.identity.once import Outcome, check_client_key, once
from app.identity.spaces import named_visible
from app.providers.ids import new_id
from app.storage import grants, permissions, queue, reading, tenancy
from app.storage.engine import Database, Session, WriteSession
from app.storage.grants import GRANTS, Grant

CHANGE_CATEGORY = "permission_change"
#: Taken back by who holds `org:admin` only: who watches over a space, or over everything, is not its admins' choice.
OVERSIGHT = frozenset({Permission.AUDIT_READ, Permission.ORG_ADMIN})


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be granted or taken back. `from_now`: the period starts with the write, whatever its start says."""

    grantee: Grantee
    permissions: Sequence[Permission]
    period: Period
    from_now: bool = False

    def check(self) -> None:
        self.grantee.check()
        if not self.permissions:
            raise bad_input("name at least one permission", "permissions")

    def during(self, stamp: datetime) -> Period:
        return Period(stamp, self.period.end) if self.from_now else self.period

    @property
    def given(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "grantee": [self.grantee.kind.value, self.grantee.name],
            "permissions": sorted(permission.value for permission in self.permissions),
            "period": ["now" if self.from_now else self.period.start, self.period.end],
        }


@dataclass(frozen=True, slots=True)
class _Place:
    """A space with what the caller may do there; `everywhere`: they hold `org:admin`."""

    id: UUID
    permissions: frozenset[str]
    everywhere: bool
    root: bool


async def grant_permissions(
    database: Database,
    principal: Principal,
    wish: Wish,
    *,
    space_id: str | None = None,
    space_key: str | None = None,
    client_key: str | None = None,
) -> list[Grant]:
    """What was believed of the granted permissions right after the write. What already holds stays as it is.

    FORBIDDEN for who does not administer the space, or does not hold what they would give, or not for so long."""
    wish.check()
    check_client_key(client_key)
    async with database.write(principal.organisation) as session:
        place = await _administered(session, principal, space_id, space_key)
        period = wish.during(session.stamp)
        await _require_held(session, principal, place, wish, period)
        _require_place(place, wish)

        async def work() -> Outcome:
            grantee = wish.grantee.id(session.organisation)
            await tenancy.create_principal(session, grantee, wish.grantee.kind.value, wish.grantee.name)
            await _change(session, place, wish, period, Assert(period, principal.id), principal)
            return Outcome({"knownAt": format_instant(session.stamp)})

        call = {"grantPermissions": wish.given, "space": str(place.id)}
        made = await once(session, principal, client_key, call, work)
        facts = _facts(session, place, wish)
        return await grants.known_of(session, facts, parse_instant(made["knownAt"]))


async def revoke_permissions(
    database: Database,
    principal: Principal,
    wish: Wish,
    *,
    space_id: str | None = None,
    space_key: str | None = None,
    client_key: str | None = None,
) -> list[UUID]:
    """The grants that are believed otherwise now; what was not granted is not taken back.

    CONFLICT when nobody would administer the organisation any more. FORBIDDEN as for `grant_permissions`, and for
    `audit:read` and `org:admin` unless the caller holds `org:admin`."""
    wish.check()
    check_client_key(client_key)
    async with database.write(principal.organisation) as session:
        place = await _administered(session, principal, space_id, space_key)
        if OVERSIGHT & set(wish.permissions) and not place.everywhere:
            raise MunimentError(Code.FORBIDDEN, f"this needs {Permission.ORG_ADMIN}", "permissions")
        period = wish.during(session.stamp)

        async def work() -> Outcome:
            before = await grants.administered(session)
            changed = await _change(session, place, wish, period, Retract(period), principal)
            if left_without(before, await grants.administered(session), session.stamp):
                raise MunimentError(
                    Code.CONFLICT, "nobody would administer the organisation: grant org:admin first", "permissions"
                )
            return Outcome({"changed": [str(id) for id in changed]})

        call = {"revokePermissions": wish.given, "space": str(place.id)}
        made = await once(session, principal, client_key, call, work)
    return [UUID(id) for id in made["changed"]]


async def grant_as_operator(database: Database, organisation: UUID, space_key: str, wish: Wish) -> UUID:
    """Grant on a space that there is, as who runs the deployment; the principal's id. SPACE_NOT_FOUND for another."""
    wish.check()
    async with database.write(organisation) as session:
        space = await tenancy.find_space(session, space_key.strip("/") or "/")
        if space is None:
            raise MunimentError(Code.SPACE_NOT_FOUND, "no such space", "spaceKey")
        place = _Place(space.id, frozenset(), everywhere=True, root=len(space.path) == 1)
        _require_place(place, wish)
        grantee, period = wish.grantee.id(organisation), wish.during(session.stamp)
        await tenancy.create_principal(session, grantee, wish.grantee.kind.value, wish.grantee.name)
        await _change(session, place, wish, period, Assert(period, None), None)
    return grantee


async def list_grants(
    database: Database,
    principal: Principal,
    *,
    space_id: str | None,
    space_key: str | None,
    grantee: Grantee | None,
    as_of: datetime | None,
    known_at: datetime | None,
    after: UUID,
    limit: int,
) -> list[Grant]:
    """What was granted on the space itself, as it was believed to hold then, for who administers it."""
    if grantee is not None:
        grantee.check()
    async with database.snapshot(principal.organisation) as session:
        place = await _administered(session, principal, space_id, space_key)
        named = None if grantee is None else grantee.id(session.organisation)
        point = await reading.point(session, as_of, known_at)
        return await grants.listed(session, place.id, named, *point, after, limit)


async def _administered(session: Session, principal: Principal, space_id: str | None, space_key: str | None) -> _Place:
    """SPACE_NOT_FOUND when the caller may not even see the space, FORBIDDEN when they do not administer it."""
    id = await named_visible(session, principal, space_id=space_id, space_key=space_key)
    row = await permissions.permitted_space(session, principal.id, principal.identities, space_id=id, key_path=None)
    assert row is not None
    if row.owner_id is not None:
        raise bad_input("a personal space is its owner's alone", "spaceId" if space_key is None else "spaceKey")
    held = frozenset(row.permissions)
    everywhere = await permissions.holds_at_root(session, principal.identities, Permission.ORG_ADMIN)
    if Permission.ADMIN.value not in held and not everywhere:
        raise MunimentError(Code.FORBIDDEN, f"this needs {Permission.ADMIN} on the space, or {Permission.ORG_ADMIN}")
    return _Place(row.id, held, everywhere, root=len(row.path) == 1)


def _require_place(place: _Place, wish: Wish) -> None:
    if Permission.ORG_ADMIN in wish.permissions and not place.root:
        raise bad_input(f"{Permission.ORG_ADMIN} is granted on the organisation's own space only", "permissions")


async def _require_held(session: WriteSession, principal: Principal, place: _Place, wish: Wish, period: Period) -> None:
    # What is granted with a key ends with it at the latest, as what the key itself was given counts no longer.
    end = None if principal.api_key_id is None else principal.expires_at
    if end is not None and (period.end is None or period.end > end):
        raise MunimentError(Code.FORBIDDEN, "a grant does not outlive the key that makes it", "validTo")
    held = await grants.held(session, principal.identities, place.id)
    for permission in wish.permissions:
        if permission.value not in place.permissions:
            raise MunimentError(Code.FORBIDDEN, f"nobody grants what they do not hold: {permission}", "permissions")
        if not_held(held.get(permission.value, ()), period, session.stamp):
            raise MunimentError(Code.FORBIDDEN, f"nobody grants for longer than they hold: {permission}", "validTo")


def _facts(session: Session, place: _Place, wish: Wish) -> list[UUID]:
    grantee = wish.grantee.id(session.organisation)
    return [grant_id(grantee, place.id, permission) for permission in dict.fromkeys(wish.permissions)]


async def _change(
    session: WriteSession, place: _Place, wish: Wish, period: Period, op: Op[UUID | None], by: Principal | None
) -> list[UUID]:
    """Grant or take back each permission; the facts that are believed otherwise now. The chain keeps who did so."""
    grantee = wish.grantee.id(session.organisation)
    changed: list[UUID] = []
    named: list[str] = []
    for permission, fact in zip(dict.fromkeys(wish.permissions), _facts(session, place, wish), strict=True):
        before = (await GRANTS.believed(session, [fact]))[fact]
        if isinstance(op, Assert) and not not_held([row.portion.period for row in before], period):
            continue
        made = await GRANTS.change(
            session, fact, op, principal_id=grantee, space_id=place.id, permission=permission.value
        )
        if made.close or made.insert:
            changed.append(fact)
            named.append(permission.value)
    if changed:
        id = new_id()
        event = {
            "category": CHANGE_CATEGORY,
            "id": str(id),
            "attributionId": str(id),
            "requestId": str(id),
            "organisationId": str(session.organisation),
            "userId": None if by is None else str(by.id),
            "spaceId": str(place.id),
            "change": "granted" if isinstance(op, Assert) else "revoked",
            "grantee": {"kind": wish.grantee.kind.value, "id": str(grantee)},
            "permissions": sorted(named),
            "validFrom": None if period.start is None else format_instant(period.start),
            "validTo": None if period.end is None else format_instant(period.end),
            "knownAt": format_instant(session.stamp),
            "issuedAt": format_instant(datetime.now(UTC)),
        }
        await queue.enqueue(session, id, canonical(event))
    return changed
