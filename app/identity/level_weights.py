"""What each level of the tree weighs in an organisation: the deployment's default, or the organisation's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.domain.errors import Code, MunimentError, bad_input
from app.domain.instant import format_instant, parse_instant
from app.domain.principal import Level, Permission, Principal
from app.domain.scoring import level_weight
from app.identity.once import Outcome, check_client_key, once
from app.identity.spaces import named_space
from app.storage import level_weights, permissions, reading
from app.storage.engine import Database, Session


@dataclass(frozen=True, slots=True)
class LevelWeight:
    level: Level
    default: float
    override: float | None

    @property
    def effective(self) -> float:
        return self.default if self.override is None else self.override


@dataclass(frozen=True, slots=True)
class LevelWeights:
    """All levels as known at a point of system time; `changed_at` None: the organisation never set any."""

    levels: tuple[LevelWeight, ...]
    known_at: datetime
    changed_at: datetime | None


async def read_level_weights(
    database: Database,
    principal: Principal,
    defaults: Mapping[Level, float],
    *,
    space_id: str | None = None,
    known_at: datetime | None = None,
) -> LevelWeights:
    """Needs `context:space:admin` on a space, the organisation's own by default. The weights hold everywhere."""
    async with database.snapshot(principal.organisation) as session:
        if space_id is None:
            await _require_at_root(session, principal)
        else:
            await named_space(session, principal, Permission.ADMIN, space_id=space_id, space_key=None)
        _, at = await reading.point(session, None, known_at)
        return await _read(session, defaults, at)


async def set_level_weights(
    database: Database,
    principal: Principal,
    defaults: Mapping[Level, float],
    overrides: Sequence[tuple[Level, float]],
    *,
    expected: datetime | None = None,
    client_key: str | None = None,
) -> LevelWeights:
    """The organisation's own weights are these from now on and no others; none at all resets to the defaults.

    The same set again changes nothing. BAD_USER_INPUT for a weight outside (0, 10] or with more than 4 decimals, and
    for a level given twice. CONFLICT when the set was changed after `expected`.
    """
    check_client_key(client_key)
    weights: dict[Level, float] = {}
    for level, weight in overrides:
        if level in weights:
            raise bad_input(f"the level {level} is given twice", "level")
        weights[level] = level_weight(weight)
    async with database.write(principal.organisation) as session:
        await _require_at_root(session, principal)

        async def work() -> Outcome:
            changed_at = await level_weights.changed_at(session, session.stamp)
            if expected is not None and changed_at is not None and changed_at > expected:
                raise MunimentError(Code.CONFLICT, "the weights were changed meanwhile", "expectedSystemFrom")
            if await level_weights.overrides(session, session.stamp) != weights:
                await level_weights.replace(session, weights)
            return Outcome({"knownAt": format_instant(session.stamp)})

        call = {"setLevelWeights": {level.value: weight for level, weight in weights.items()}}
        made = await once(session, principal, client_key, call, work)
        return await _read(session, defaults, parse_instant(made["knownAt"]))


async def _read(session: Session, defaults: Mapping[Level, float], known_at: datetime) -> LevelWeights:
    own = await level_weights.overrides(session, known_at)
    return LevelWeights(
        tuple(LevelWeight(level, defaults[level], own.get(level)) for level in Level),
        known_at,
        await level_weights.changed_at(session, known_at),
    )


async def _require_at_root(session: Session, principal: Principal) -> None:
    if not await permissions.holds_at_root(session, principal.identities, Permission.ADMIN):
        raise MunimentError(Code.FORBIDDEN, f"this needs {Permission.ADMIN} on the organisation's space")
