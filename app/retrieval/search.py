"""R2 and R12. The search step: both legs, the near misses, or what the cache remembers of them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.domain.dlp.scanning import Redacted
from app.domain.lexical import Analyser
from app.domain.scoring import leg_candidates
from app.retrieval.assist import assist
from app.retrieval.authorise import Authorised
from app.retrieval.cache import SearchCache, Searched, search_key
from app.retrieval.deadline import Deadline
from app.retrieval.gather import gather
from app.retrieval.near_misses import beside, near_misses
from app.retrieval.pin import Pin
from app.retrieval.question import Question
from app.retrieval.request import RetrievalRequest
from app.retrieval.timing import Stopwatch
from app.retrieval.words import search_words
from app.storage import boundaries
from app.storage.engine import Session


@dataclass(frozen=True, slots=True)
class Searcher:
    """How this deployment searches. `model` embeds questions, None where nothing does; `approximate`: the vector leg
    may use its index; `graph`: what is linked to the best hits joins the candidates."""

    analyser: Callable[[str], Analyser]
    cache: SearchCache
    model: str | None
    approximate: bool
    graph: bool

    async def search(
        self,
        session: Session,
        authorised: Authorised,
        request: RetrievalRequest,
        pin: Pin | None,
        text: Redacted | None,
        asking: Awaitable[Question | None],
        deadline: Deadline,
        watch: Stopwatch,
    ) -> tuple[Question | None, Searched]:
        """`request` as it came in: an `asOf` that was left out is looked up as the present, whenever that is."""
        valid_at, key = authorised.scope.as_of.valid_at, None
        limit = leg_candidates(request.parameters.top_k)
        if self.cache.on:
            with watch.stage("cache"):
                key = search_key(request, authorised, text, self.model, limit, self.approximate, self.graph)
                found = self.cache.find(key, authorised, pin) if key else None
                if found is not None:
                    question = await asking
                    return question and question.compared_with(found.languages), found
        words = await search_words(session, authorised, text, self.analyser, watch, limit)
        missed = await near_misses(session, authorised, words) if request.near_misses else ()
        question = await asking
        compared = question and question.compared_with(words.languages)
        gathered = await gather(
            session,
            authorised,
            compared,
            self.analyser,
            watch,
            words,
            limit=limit,
            approximate=self.approximate,
        )
        if self.graph:
            gathered, entered = await assist(session, authorised, compared, words.query, gathered, deadline, watch)
            key = key if entered else None
        # Vectors that are made for one request are not remembered; without them a hit would be diversified otherwise.
        # Nor is what an endpoint did not answer: next time it may.
        key = None if gathered.bare or (question is not None and question.unanswered) else key
        until = await boundaries.next_change(session, authorised.scope) if key and request.as_of is None else None
        return compared, Searched(gathered, beside(missed, gathered), valid_at, key, until, words.languages)
