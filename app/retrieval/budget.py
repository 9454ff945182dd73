"""R9. The token budget cuts last, and ranking is never touched."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from app.domain.budget import trim
from app.domain.selection import Reason, Selection
from app.retrieval import related
from app.retrieval.request import Parameters
from app.storage.passages import Passage

STAGE = "budget"


def budget(
    selection: Selection, texts: Mapping[UUID, Passage], parameters: Parameters, used: int = 0
) -> tuple[Selection, int | None]:
    """The selection within the budget, and the smallest budget that would have kept one more passage."""
    counted = selection.rewrite(replace(item, tokens=texts[item.id].tokens) for item in selection.kept)
    cut = trim(counted.kept, parameters.token_budget, parameters.budget_strategy, used)
    beside = {item.id for item in counted.kept if item.related is not None}
    for stage, gone in ((STAGE, cut.dropped - beside), (related.STAGE, cut.dropped & beside)):
        counted = counted.drop(stage, dict.fromkeys(gone, Reason.TOKEN_BUDGET))
    return counted, cut.one_more


def dropped(selection: Selection) -> int:
    """How many ranked passages the budget cost; what was only related to one was never promised."""
    return sum(item.stage == STAGE for item in selection.excluded)
