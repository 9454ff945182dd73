"""R5. Maximal marginal relevance, when it is asked for: it orders, and the caps then cut."""

import numpy as np
from numpy.typing import NDArray

from app.domain.diversity import mmr
from app.domain.selection import Selection
from app.retrieval.authorise import Authorised
from app.retrieval.deadline import Deadline, Stage
from app.retrieval.question import Question
from app.retrieval.request import Parameters
from app.retrieval.timing import Stopwatch
from app.storage import passages
from app.storage.engine import Session

STAGE: Stage = "mmr"


async def diversify(
    session: Session,
    authorised: Authorised,
    selection: Selection,
    question: Question | None,
    parameters: Parameters,
    watch: Stopwatch,
    deadline: Deadline,
) -> Selection:
    """Each place counts as relevant as the score that belongs to it, so that a relevance of 1 keeps the order whatever
    made it. Without a vector of the question nothing is known of likeness, and the order stays."""
    trade_off = parameters.mmr_lambda
    if trade_off is None or trade_off == 1.0 or question is None or question.vector is None or len(selection.kept) < 2:
        return selection
    if deadline.admit(STAGE) is None:
        return selection
    kept = selection.kept
    ids = [item.id for item in kept]
    stored = await passages.vectors(session, authorised.scope, ids, question.model)
    with watch.stage(STAGE):
        vectors = np.zeros((len(kept), len(question.vector)), dtype=np.float32)
        for row, id in enumerate(ids):
            found: NDArray[np.float32] | None = stored.get(id, question.recomputed.get(id.bytes))
            if found is not None:
                vectors[row] = found
        relevance = np.array(sorted((item.score for item in kept), reverse=True), dtype=np.float64)
        return selection.rewrite(kept[position] for position in mmr(relevance, vectors, trade_off))
