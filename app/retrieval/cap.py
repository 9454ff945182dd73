"""R6. The minimum score and the caps: by document, by level, and in all. The same text is given once."""

from collections import Counter
from collections.abc import Iterable
from uuid import UUID

from app.domain.principal import Level
from app.domain.selection import Candidate, Reason, Selection
from app.retrieval.request import Parameters

STAGE = "cap"


def cap(selection: Selection, parameters: Parameters, by_relevance: Selection | None = None) -> Selection:
    """Down the order; a passage that one cap holds back takes no place under the others.

    `by_relevance` is the selection before it was diversified: what would have been taken from that, and is not, gave
    way to something less alike.
    """
    reasons = _left_out(selection.kept, parameters)
    if by_relevance is not None and by_relevance is not selection:
        instead = _left_out(by_relevance.kept, parameters)
        reasons = {id: reason if id in instead else Reason.DIVERSITY for id, reason in reasons.items()}
    return selection.drop(STAGE, reasons)


def _left_out(order: Iterable[Candidate], parameters: Parameters) -> dict[UUID, Reason]:
    documents: Counter[UUID] = Counter()
    levels: Counter[Level] = Counter()
    texts: set[bytes] = set()
    reasons: dict[UUID, Reason] = {}
    for item in order:
        if parameters.min_score is not None and item.score < parameters.min_score:
            reasons[item.id] = Reason.MIN_SCORE
        elif item.text_sha256 in texts:
            reasons[item.id] = Reason.DUPLICATE
        elif documents[item.document_id] >= parameters.max_passages_per_document:
            reasons[item.id] = Reason.PER_DOCUMENT_CAP
        elif levels[item.level] >= parameters.max_per_level:
            reasons[item.id] = Reason.PER_LEVEL_CAP
        elif len(texts) >= parameters.top_k:
            reasons[item.id] = Reason.TOP_K
        else:
            documents[item.document_id] += 1
            levels[item.level] += 1
            texts.add(item.text_sha256)
    return reasons
