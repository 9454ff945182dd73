"""Keys of programs: making, listing and revoking them. A key never reaches further than who made it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from app.domain.errors import Code, MunimentError, bad_input
from app.domain.grant import grant_id
from app.domain.instant import as_utc, format_instant
from app.domain.principal import ActorType, Permission, Principal, parse_id, principal_id
from app.domain.temporal import Assert, Period
from app.identity.claims import MAX_NAME
from app.identity.credential_log import log_change
from app.identity.key_secret import KeySecret, make_key
from app.identity.spaces import space_not_found
from app.providers.ids import new_id
from app.providers.parsers.registry import clean
from app.storage import api_keys, permissions, tenancy
from app.storage.api_keys import ApiKey
from app.storage.engine import Database, Session, WriteSession
from app.storage.grants import GRANTS

MOST_SPACES: Final = 100
MOST_PROVIDERS: Final = 100
#: Keys that stand of one maker, with those that were made with these: each has rate limits of its own.
MOST_KEYS: Final = 100
_MOST_ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a key is to be. `spaces`: ids or key paths; None is all spaces, as for `providers` and all providers."""

    name: str
    actions: Sequence[Permission]
    providers: Sequence[str] | None = None
    spaces: Sequence[str] | None = None
    actor_type: ActorType = ActorType.APPLICATION
    expires_at: datetime | None = None


async def create_api_key(database: Database, principal: Principal, wanted: Wanted) -> tuple[ApiKey, str]:
    """The key and its secret, which is told this once. It holds its actions on its spaces from the start.

    Needs `context:space:admin` and every action of the key on each of its spaces, on the organisation's own when it
    names none; SPACE_NOT_FOUND for one that the caller may not see, FORBIDDEN for what is more than they hold.
    CONFLICT when `MOST_KEYS` of theirs stand.
    """
    _check(wanted)
    async with database.write(principal.organisation) as session:
        spaces = await _spaces(session, principal, wanted)
        if await api_keys.standing_of(session, principal.id) >= MOST_KEYS:
            raise MunimentError(Code.CONFLICT, f"at most {MOST_KEYS} keys of one maker stand: revoke some first")
        return await _make(
            session,
            wanted,
            spaces,
            providers=_providers(principal, wanted),
            expires_at=_end(principal, wanted, session.stamp),
            made_by=principal.id,
        )


async def create_for_operator(database: Database, organisation: UUID, wanted: Wanted) -> tuple[ApiKey, str]:
    """The same for who holds the deployment itself."""
    _check(wanted)
    async with database.write(organisation) as session:
        spaces = None
        if wanted.spaces is not None:
            spaces = [(await _existing(session, named)).id for named in dict.fromkeys(wanted.spaces)]
        return await _make(
            session, wanted, spaces, providers=wanted.providers, expires_at=wanted.expires_at, made_by=None
        )


async def revoke_api_key(database: Database, principal: Principal, id: UUID | None) -> ApiKey:
    """The key, and all that were made with it, count for nothing any more. To revoke again changes nothing.

    Needs `context:space:admin` on each of its spaces; NOT_FOUND without. A key revokes neither itself nor, through
    the key that it was made with, indirectly itself: FORBIDDEN.
    """
    async with database.write(principal.organisation) as session:
        key = None if id is None else await api_keys.by_id(session, id)
        # Asked for what does not exist too, so that the time of the answer tells nothing.
        administered = await _administered(session, principal)
        if key is None or not _within(key, administered):
            raise MunimentError(Code.NOT_FOUND, "no such key", "id")
        if principal.api_key_id is not None and principal.api_key_id in await api_keys.family(session, key.id):
            raise MunimentError(Code.FORBIDDEN, "a key cannot revoke itself", "id")
        return await _revoke(session, key, principal.id)


async def revoke_for_operator(database: Database, organisation: UUID, prefix: str) -> ApiKey:
    """By the part of the key that is shown; NOT_FOUND when none stands."""
    async with database.write(organisation) as session:
        found = await api_keys.find(session, prefix)
        if found is None:
            raise MunimentError(Code.NOT_FOUND, "no key of that prefix stands")
        return await _revoke(session, found[0], None)


async def list_api_keys(
    database: Database, principal: Principal, *, revoked: bool, after: UUID | None, limit: int
) -> list[ApiKey]:
    """By id, those whose spaces the caller administers."""
    async with database.snapshot(principal.organisation) as session:
        within = await _administered(session, principal)
        return await api_keys.listed(
            session, None if within is None else sorted(within), revoked=revoked, after=after, limit=limit
        )


def _check(wanted: Wanted) -> None:
    if not 0 < len(wanted.name.strip()) <= MAX_NAME or clean(wanted.name)[1]:
        raise bad_input(f"a name has 1 to {MAX_NAME} characters, without NUL or lone surrogates", "name")
    if not wanted.actions:
        raise bad_input("name at least one action", "actions")
    # A key for no space would be nobody's to look after.
    if wanted.spaces is not None and not wanted.spaces:
        raise bad_input("name at least one space, or leave it out for all", "allowedSpaces")
    if wanted.spaces is not None and len(wanted.spaces) > MOST_SPACES:
        raise bad_input(f"at most {MOST_SPACES} spaces", "allowedSpaces")
    if wanted.providers is not None:
        if len(wanted.providers) > MOST_PROVIDERS:
            raise bad_input(f"at most {MOST_PROVIDERS} providers", "allowedProviders")
        if any(not 0 < len(name) <= MAX_NAME or clean(name)[1] for name in wanted.providers):
            raise bad_input(f"1 to {MAX_NAME} characters, without NUL or lone surrogates", "allowedProviders")
    if wanted.expires_at is not None and as_utc(wanted.expires_at, "expiresAt") <= datetime.now(UTC):
        raise bad_input("must lie in the future", "expiresAt")


async def _spaces(session: Session, principal: Principal, wanted: Wanted) -> list[UUID] | None:
    """The ids of the wanted spaces, once the caller is found to hold on each what the key is to hold."""
    needed = {Permission.ADMIN.value, *(action.value for action in wanted.actions)}
    if wanted.spaces is None:
        root = await permissions.permitted_space(
            session, principal.id, principal.identities, space_id=None, key_path="/"
        )
        _require(set() if root is None else set(root.permissions), needed, "actions")
        return None
    found = []
    for named in dict.fromkeys(wanted.spaces):
        row = await _existing(session, named, principal)
        _require(set(row.permissions), needed, "allowedSpaces")
        found.append(row.id)
    return list(dict.fromkeys(found))


async def _existing(session: Session, named: str, principal: Principal | None = None) -> Any:
    """A space that a key can be for, as the caller sees it."""
    missing = space_not_found("allowedSpaces")
    id = parse_id(named)
    key = None if id is not None else (named.strip("/") or "/")
    if key is not None and clean(key)[1]:
        raise missing
    user = UUID(int=0) if principal is None else principal.id
    principals = [] if principal is None else principal.identities
    row = await permissions.permitted_space(session, user, principals, space_id=id, key_path=key)
    if row is None or not (principal is None or row.permissions or row.owner_id == user):
        raise missing
    if row.owner_id is not None:
        raise bad_input("a personal space is its owner's alone", "allowedSpaces")
    return row


def _require(held: set[str], needed: set[str], field: str) -> None:
    if missing := sorted(needed - held):
        raise MunimentError(Code.FORBIDDEN, f"to make this key needs {', '.join(missing)} on each of its spaces", field)


def _providers(principal: Principal, wanted: Wanted) -> Sequence[str] | None:
    """No provider that the caller's own credential does not admit."""
    admitted = principal.allowed_providers
    if admitted is None:
        return wanted.providers
    if wanted.providers is None:
        return sorted(admitted)
    if not admitted.issuperset(wanted.providers):
        raise MunimentError(
            Code.FORBIDDEN, "a key admits no provider that its maker's credential does not", "allowedProviders"
        )
    return wanted.providers


def _end(principal: Principal, wanted: Wanted, now: datetime) -> datetime | None:
    """A key that a key makes does not outlive it."""
    if principal.api_key_id is None or principal.expires_at is None:
        return wanted.expires_at
    if wanted.expires_at is not None and wanted.expires_at > principal.expires_at:
        raise MunimentError(Code.FORBIDDEN, "a key does not outlive the key that makes it", "expiresAt")
    return wanted.expires_at or principal.expires_at


async def _make(
    session: WriteSession,
    wanted: Wanted,
    spaces: Sequence[UUID] | None,
    *,
    providers: Sequence[str] | None,
    expires_at: datetime | None,
    made_by: UUID | None,
) -> tuple[ApiKey, str]:
    actions = sorted({action.value for action in wanted.actions})
    for _ in range(_MOST_ATTEMPTS):
        text = make_key(session.organisation)
        secret = KeySecret.read(text)
        assert secret is not None
        id = new_id()
        holder = principal_id(session.organisation, "key", str(id))
        stored = await api_keys.store(
            session,
            {
                "id": id,
                "principal_id": holder,
                "prefix": secret.prefix,
                "secret_sha256": secret.digest,
                "name": wanted.name,
                "actions": actions,
                "providers": None if providers is None else sorted(set(providers)),
                "spaces": None if spaces is None else list(spaces),
                "actor_type": wanted.actor_type.value,
                "made_by": made_by,
                "expires_at": expires_at,
            },
        )
        if stored:
            break
    else:
        raise RuntimeError("no prefix is free")
    await tenancy.create_principal(session, holder, "key", str(id))
    if spaces is None:
        root = await tenancy.find_space(session, "/")
        spaces = [] if root is None else [root.id]
    for space in spaces:
        for action in actions:
            await GRANTS.change(
                session,
                grant_id(holder, space, Permission(action)),
                Assert(Period(session.stamp, None), made_by),
                principal_id=holder,
                space_id=space,
                permission=action,
            )
    key = await api_keys.by_id(session, id)
    assert key is not None
    await log_change(session, "key_created", made_by, _said(key))
    return key, text


async def _revoke(session: WriteSession, key: ApiKey, by: UUID | None) -> ApiKey:
    for id in await api_keys.revoke(session, key.id):
        ended = await api_keys.by_id(session, id)
        assert ended is not None
        await log_change(session, "key_revoked", by, _said(ended))
    revoked = await api_keys.by_id(session, key.id)
    assert revoked is not None
    return revoked


def _said(key: ApiKey) -> dict[str, Any]:
    """What the chain keeps of a key: never its secret, nor what people called it."""
    return {
        "apiKeyId": str(key.id),
        "prefix": key.prefix,
        "actions": list(key.actions),
        "allowedProviders": None if key.providers is None else list(key.providers),
        "allowedSpaces": None if key.spaces is None else [str(space) for space in key.spaces],
        "actorType": key.actor_type.value,
        "expiresAt": None if key.expires_at is None else format_instant(key.expires_at),
    }


async def _administered(session: Session, principal: Principal) -> frozenset[UUID] | None:
    """The spaces that the caller administers; None for all of the organisation's."""
    if await permissions.holds_at_root(session, principal.identities, Permission.ADMIN):
        return None
    held = await permissions.granted(session, principal.id, principal.identities)
    return held.get(Permission.ADMIN, frozenset())


def _within(key: ApiKey, administered: frozenset[UUID] | None) -> bool:
    return administered is None or bool(key.spaces and administered.issuperset(key.spaces))
