"""The enumerations of the domain, as the schema shows them."""

import strawberry

from app.domain.budget import BudgetStrategy
from app.domain.chain import Outcome as ChainVerdict
from app.domain.contract import LimitationCode
from app.domain.principal import Level as SpaceLevel
from app.domain.selection import Reason as ExclusionType

__all__ = ["BudgetStrategy", "ChainVerdict", "ExclusionType", "LimitationCode", "SpaceLevel"]

strawberry.enum(
    BudgetStrategy,
    name="BudgetStrategy",
    description=(
        "How passages are cut to the token budget. DROP_LOWEST drops from the lowest score up; PACK takes whatever "
        "still fits, best first; KEEP_FIRST never drops the best."
    ),
)
strawberry.enum(
    ChainVerdict,
    name="ChainVerdict",
    description=(
        "What a check of the evidence chain found. TAMPERED: a record was altered, moved or removed. TRUNCATED: the "
        "end is missing. FORKED: two authentic records claim one place. UNVERIFIABLE: a key is missing."
    ),
)
strawberry.enum(ExclusionType, name="ExclusionType", description="Why something was left out of an answer.")
strawberry.enum(
    LimitationCode, name="LimitationCode", description="What a careful reader of an answer should know about it."
)
strawberry.enum(SpaceLevel, name="SpaceLevel", description="The level of a space in the organisation's tree.")
