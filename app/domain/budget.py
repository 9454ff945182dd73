"""The token budget: which passages go so that the total fits. Ranking is never touched."""

from collections.abc import Iterable, Sequence
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

    DROP_LOWEST drops the lowest score, of equal ones the last, until the rest fits; where a reranker has ordered them
    its order counts, and the last goes. PACK goes down the ranking and takes whatever still fits. KEEP_FIRST is
    DROP_LOWEST, except that the first passage stays whatever its size and score.

    Passages that are only related to a ranked one get what the ranked ones leave: as many as still fit, in order,
    where the one that they belong to stays. They never count for `one_more`.
    """
    if budget is None:
        return Trim(frozenset(), used + sum(item.tokens for item in kept), None)
    ranked = [item for item in kept if item.related is None]
    room = budget - used
    match strategy:
        case BudgetStrategy.PACK:
            stay, missing = _pack(ranked, room)
        case BudgetStrategy.DROP_LOWEST:
            stay, missing = _fill(_by_worth(ranked), room)
        case BudgetStrategy.KEEP_FIRST:
            first, rest = ranked[:1], [item for item in _by_worth(ranked) if item is not ranked[0]]
            stay, missing = _fill(rest, room - sum(item.tokens for item in first))
            stay |= {item.id for item in first}
    left = room - sum(item.tokens for item in ranked if item.id in stay)
    beside = [item for item in kept if item.related is not None and item.related.to in stay]
    stay |= _packed(beside, left)[0]
    return Trim(
        frozenset(item.id for item in kept if item.id not in stay),
        used + sum(item.tokens for item in kept if item.id in stay),
        None if missing is None else budget + missing,
    )


def _by_worth(kept: Sequence[Candidate]) -> list[Candidate]:
    """Best score first; equal ones stay as they are ranked, and so do all once a reranker thought otherwise."""
    if any(item.scores.rerank is not None for item in kept):
        return list(kept)
    return sorted(kept, key=lambda item: -item.score)


def _fill(kept: Iterable[Candidate], room: int) -> tuple[set[UUID], int | None]:
    """The longest beginning that fits, and how many tokens the next one lacks."""
    stay: set[UUID] = set()
    for item in kept:
        room -= item.tokens
        if room < 0:
            return stay, -room
        stay.add(item.id)
    return stay, None


def _pack(kept: Sequence[Candidate], room: int) -> tuple[set[UUID], int | None]:
    """Whatever fits, in order, and how many more tokens make it one passage more.

    A greater budget may take a big passage in place of several small ones, so the next ones at which anything changes
    are tried in turn.
    """
    stay, lacks = _packed(kept, room)
    more, further, missing = stay, lacks, 0
    while further is not None and len(more) <= len(stay):
        missing += further
        more, further = _packed(kept, room + missing)
    return stay, None if lacks is None else missing


def _packed(kept: Sequence[Candidate], room: int) -> tuple[set[UUID], int | None]:
    """Whatever fits, in order, and the fewest tokens that one of the others lacked when its turn came."""
    stay: set[UUID] = set()
    lacks: int | None = None
    for item in kept:
        if item.tokens <= room:
            room -= item.tokens
            stay.add(item.id)
        elif lacks is None or item.tokens - room < lacks:
            lacks = item.tokens - room
    return stay, lacks
