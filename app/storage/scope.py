"""Whose rows, and at which point of both clocks: the only place where these predicates are written.

Every fragment speaks of one alias and binds `:organisation`, `:valid_at` and `:known_at`.

A reading is *present* when its `known_at` is the clock of its own snapshot: then every stored row is already known and
a row is believed exactly while `system_to IS NULL`. Present readings use the partial indexes over live rows, and look
among the rest only for rows whose valid time has an end that is still to come.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.temporal import AsOf


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant and the point of both clocks that a statement reads at."""

    organisation: UUID
    as_of: AsOf
    present: bool

    @property
    def parameters(self) -> dict[str, UUID | datetime]:
        bound: dict[str, UUID | datetime] = {"organisation": self.organisation, "valid_at": self.as_of.valid_at}
        if not self.present:
            bound["known_at"] = self.as_of.system_at
        return bound


def tenant(alias: str) -> str:
    return f"{alias}.organisation_id = :organisation"


def tenant_checked(alias: str) -> str:
    """`tenant` of rows that an index over hashed keys chose. PostgreSQL makes no index condition of it: it would read
    the whole tenant's primary key only to intersect the two."""
    return f"{alias}.organisation_id IS NOT DISTINCT FROM :organisation"


def believed_now(alias: str) -> str:
    """Part of today's belief."""
    return f"{tenant(alias)} AND {alias}.system_to IS NULL"


def known_at(alias: str, instant: str = ":known_at") -> str:
    """Believed at a point of system time, whoever's it is."""
    return f"{alias}.system_from <= {instant} AND ({alias}.system_to IS NULL OR {alias}.system_to > {instant})"


def known(alias: str, instant: str = ":known_at") -> str:
    """Believed at a point of system time."""
    return f"{tenant(alias)} AND {known_at(alias, instant)}"


def valid(alias: str, instant: str = ":valid_at") -> str:
    """True at a point of valid time."""
    return (
        f"({alias}.valid_from IS NULL OR {alias}.valid_from <= {instant}) "
        f"AND ({alias}.valid_to IS NULL OR {alias}.valid_to > {instant})"
    )


def valid_within(alias: str) -> str:
    """True at some point between `:start` and `:end`; NULL leaves a side open."""
    return (
        f"(CAST(:start AS timestamptz) IS NULL OR {alias}.valid_to IS NULL "
        f"OR {alias}.valid_to > CAST(:start AS timestamptz)) "
        f"AND (CAST(:end AS timestamptz) IS NULL OR {alias}.valid_from IS NULL "
        f"OR {alias}.valid_from < CAST(:end AS timestamptz))"
    )


#: The greater of the database's now and the organisation's clock: what was taken back is gone at once, also where the
#: clock runs ahead of the wall's.
TODAY = f"(SELECT greatest(now(), k.system_at) FROM organisation_clocks k WHERE {tenant('k')})"


def visible(alias: str, present: bool) -> str:
    """On both clocks, for rows that are reached by their key."""
    return f"{believed_now(alias) if present else known(alias)} AND {valid(alias)}"


# The rows of `visible`, cut by the part of history that they lie in, so that each part has an index made for it.
# `whose` is `tenant`, or `tenant_checked` where another index than one by tenant is to choose the rows.


def live(alias: str, present: bool, whose: Callable[[str], str] = tenant) -> str:
    """Open on both clocks."""
    return f"{whose(alias)} AND {alias}.system_to IS NULL AND {alias}.valid_to IS NULL AND {_begun(alias, present)}"


def ended(alias: str, present: bool, whose: Callable[[str], str] = tenant) -> str:
    """Believed to this day, with an end in the world that lies after the instant."""
    return (
        f"{whose(alias)} AND {alias}.system_to IS NULL AND {alias}.valid_to IS NOT NULL "
        f"AND {alias}.valid_to > :valid_at AND {_begun(alias, present)}"
    )


def closed(alias: str, whose: Callable[[str], str] = tenant) -> str:
    """Believed then and no longer; a present reading has none of these."""
    return f"{whose(alias)} AND {alias}.system_to IS NOT NULL AND {known_at(alias)} AND {valid(alias)}"


def _begun(alias: str, present: bool) -> str:
    started = f"({alias}.valid_from IS NULL OR {alias}.valid_from <= :valid_at)"
    return started if present else f"{alias}.system_from <= :known_at AND {started}"


# What is not visible, though it is known of: rows that were believed at the point of system time but are true at
# another one of valid time, and rows that were believed no longer. Never a row that was stamped later.


def superseded(alias: str, present: bool) -> str:
    """Believed no longer; of rows that `missed` names."""
    ended_belief = f"{alias}.system_to IS NOT NULL"
    return ended_belief if present else f"({ended_belief} AND {alias}.system_to <= :known_at)"


def missed(alias: str, present: bool, whose: Callable[[str], str] = tenant) -> list[str]:
    """The rows that are out of force, cut as those of `live`, `ended` and `closed`."""
    stamped = "" if present else f" AND {alias}.system_from <= :known_at"
    begins = f"{alias}.valid_from > :valid_at"
    elsewhere = f"({begins} OR {alias}.valid_to <= :valid_at)"
    gone = (
        valid(alias)
        if present
        else f"(({superseded(alias, present)} AND {valid(alias)}) OR ({alias}.system_to > :known_at AND {elsewhere}))"
    )
    return [
        f"{whose(alias)} AND {alias}.system_to IS NULL AND {alias}.valid_to IS NULL AND {begins}{stamped}",
        f"{whose(alias)} AND {alias}.system_to IS NULL AND {alias}.valid_to IS NOT NULL AND {elsewhere}{stamped}",
        f"{whose(alias)} AND {alias}.system_to IS NOT NULL AND {gone}{stamped}",
    ]


def next_boundary(table: str) -> str:
    """The first instant after `:valid_at` at which a fact of today's belief begins or ends; NULL when none does."""
    return (
        f"SELECT least((SELECT min(f.valid_from) FROM {table} f WHERE {believed_now('f')} "
        f"AND f.valid_from > :valid_at), (SELECT min(f.valid_to) FROM {table} f WHERE {believed_now('f')} "
        "AND f.valid_to > :valid_at))"
    )
