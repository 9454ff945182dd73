"""R4. A reranker orders the best candidates anew. Off unless an endpoint is set."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from app.domain.dlp.scanning import Redacted
from app.domain.reranking import reorder
from app.domain.selection import Selection
from app.providers.endpoint import EndpointError
from app.providers.reranker import Reranker
from app.retrieval.authorise import Authorised
from app.retrieval.deadline import Deadline, Stage
from app.retrieval.pin import Pin
from app.retrieval.question import Question
from app.retrieval.redact import may_be_sent, outgoing
from app.retrieval.request import Parameters
from app.retrieval.timing import Stopwatch
from app.storage import passages
from app.storage.engine import Session

STAGE: Stage = "rerank"

#: What the record calls the one model of an endpoint that serves just one.
UNNAMED = "default"

#: Characters of a text that are sent: a chunk's are far fewer, unless it is one endless word.
LONGEST = 4000


@dataclass(frozen=True, slots=True)
class Reranking:
    """The model that reranks, the milliseconds that it may take, and how many candidates it is shown."""

    reranker: Reranker
    timeout_ms: float = 8000.0
    candidates: int = 50


class Unreranked(Exception):
    """Search found what the reranker should compare. It is asked with no connection held; then it is searched again,
    where `pin` says. `texts` by chunk id, redacted, in order of rank."""

    def __init__(self, texts: Mapping[UUID, Redacted], pin: Pin) -> None:
        super().__init__()
        self.texts = texts
        self.pin = pin


async def rerank(
    session: Session,
    authorised: Authorised,
    selection: Selection,
    question: Question | None,
    parameters: Parameters,
    reranking: Reranking | None,
    deadline: Deadline,
) -> Selection:
    """The ranking in the reranker's order, where it was asked (`reorder`); `Unreranked` where it still is to be asked.

    A text whose class may not be sent to the endpoint takes no part: it keeps the place that the formula gave it.
    """
    if question is None or reranking is None or not parameters.top_k:
        return selection
    if question.reranked is not None:
        return selection.rewrite(reorder(selection.kept, question.reranked))
    where = reranking.reranker.locality
    shown = [item.id for item in selection.kept if may_be_sent(authorised, item.source_id, where)][
        : reranking.candidates
    ]
    if not shown or deadline.admit(STAGE, reranking.timeout_ms) is None:
        return selection
    texts = await passages.passages(session, authorised.scope, shown)
    raise Unreranked(
        {id: Redacted(outgoing(texts[id], authorised.scanner)[:LONGEST]) for id in shown},
        Pin.of(authorised),
    )


async def consult(
    question: Question, missing: Unreranked, reranking: Reranking, deadline: Deadline, watch: Stopwatch
) -> Question:
    """The same question with what the reranker said, which is nothing when it failed. It compares with the user's own
    wording: what a rewriting has lost on the way counts again here."""
    seconds = deadline.admit(STAGE, reranking.timeout_ms)
    assert seconds is not None
    try:
        with watch.stage(STAGE):
            scores = await reranking.reranker.scores(question.asked, list(missing.texts.values()), seconds)
    except EndpointError as error:
        deadline.failed(STAGE, error.reason)
        return replace(question, reranked={})
    said = dict(zip(missing.texts, scores, strict=True))
    return replace(question, reranked=said, rerank_model=reranking.reranker.model or UNNAMED)
