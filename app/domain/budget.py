"""The token budget: which passages go so that the total fits. Ranking is never touched."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from app.domain.selection import Candidate


class BudgetStrategy(StrEnum):
    """How passages are cut to the budget."""

    DROP_LOWEST = "DROP_LOWEST"
    PACK = "PACK"
    KEEP_FIRST = "KEEP_FIRST"


@dataclass(frozen=True, slots=True)
class Trim:
    """Ids to drop, the tokens of what stays, and the smallest budget that would have kept one more passage."""

    dropped: frozenset[UUID]
    tokens: int
    one_more: int | None


def trim(
    kept: Sequence[Candidate], budget: int | None, strategy: BudgetStrategy = BudgetStrategy.DROP_LOWEST, used: int = 0
) -> Trim:
    """Fit `kept` (best first, `tokens` set) into `budget`; `used` tokens are already spoken for. None = no budget.

    DROP_LOWEST drops from the lowest score up until the rest fits. PACK goes down the ranking and takes whatever still
    fits. KEEP_FIRST is DROP_LOWEST, except that the best passage stays whatever its size.
    """
    if budget is None:
        return Trim(frozenset(), used + sum(item.tokens for item in kept), None)
    stay = _pack(kept, budget - used) if strategy is BudgetStrategy.PACK else _longest_prefix(kept, budget - used)
    if strategy is BudgetStrategy.KEEP_FIRST and kept and not stay:
        stay = {kept[0].id}
    total = used + sum(item.tokens for item in kept if item.id in stay)
    dropped = [item for item in kept if item.id not in stay]
    if not dropped:
        return Trim(frozenset(), total, None)
    next_one = min(item.tokens for item in dropped) if strategy is BudgetStrategy.PACK else dropped[0].tokens
    return Trim(frozenset(item.id for item in dropped), total, total + next_one)


def _longest_prefix(kept: Sequence[Candidate], room: int) -> set[UUID]:
    stay: set[UUID] = set()
    for item in kept:
        room -= item.tokens
        if room < 0:
            break
        stay.add(item.id)
    return stay


def _pack(kept: Sequence[Candidate], room: int) -> set[UUID]:
    stay: set[UUID] = set()
    for item in kept:
        if item.tokens <= room:
            room -= item.tokens
            stay.add(item.id)
    return stay
