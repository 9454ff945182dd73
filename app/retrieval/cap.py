"""R6. The minimum score and the caps: by document, by level, and in all."""

from collections import Counter
from uuid import UUID

from app.domain.principal import Level
from app.domain.selection import Reason, Selection
from app.retrieval.request import Parameters

STAGE = "cap"


def cap(selection: Selection, parameters: Parameters) -> Selection:
    """Down the ranking; a passage that one cap holds back takes no place under the others."""
    documents: Counter[UUID] = Counter()
    levels: Counter[Level] = Counter()
    reasons: dict[UUID, Reason] = {}
    taken = 0
    for item in selection.kept:
        if parameters.min_score is not None and item.score < parameters.min_score:
            reasons[item.id] = Reason.MIN_SCORE
        elif documents[item.document_id] >= parameters.max_passages_per_document:
            reasons[item.id] = Reason.PER_DOCUMENT_CAP
        elif levels[item.level] >= parameters.max_per_level:
            reasons[item.id] = Reason.PER_LEVEL_CAP
        elif taken >= parameters.top_k:
            reasons[item.id] = Reason.TOP_K
        else:
            documents[item.document_id] += 1
            levels[item.level] += 1
            taken += 1
    return selection.drop(STAGE, reasons)
