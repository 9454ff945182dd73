"""The enumerations of the domain, as the schema shows them."""

import strawberry

from app.domain.budget import BudgetStrategy as _BudgetStrategy
from app.domain.chain import Outcome
from app.domain.contract import LimitationCode as _LimitationCode
from app.domain.principal import Level as _Level
from app.domain.selection import Reason

BudgetStrategy = strawberry.enum(
    _BudgetStrategy,
    name="BudgetStrategy",
    description=(
        "How passages are cut to the token budget. DROP_LOWEST drops from the lowest score up; PACK takes whatever "
        "still fits, best first; KEEP_FIRST never drops the best."
    ),
)
ChainVerdict = strawberry.enum(
    Outcome,
    name="ChainVerdict",
    description=(
        "What a check of the evidence chain found. TAMPERED: a record was altered, moved or removed. TRUNCATED: the "
        "end is missing. FORKED: two authentic records claim one place. UNVERIFIABLE: a key is missing."
    ),
)
ExclusionType = strawberry.enum(Reason, name="ExclusionType", description="Why something was left out of an answer.")
LimitationCode = strawberry.enum(
    _LimitationCode, name="LimitationCode", description="What a careful reader of an answer should know about it."
)
SpaceLevel = strawberry.enum(_Level, name="SpaceLevel", description="The level of a space in the organisation's tree.")
