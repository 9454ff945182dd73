"""The order of a retrieval, and nothing else. Read this and you know the system."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from app.domain.contract import VERSION
from app.domain.lexical import Analyser
from app.domain.principal import Level
from app.providers.embedder.base import Embedder
from app.providers.ids import new_id
from app.retrieval.answer import Answer, Contract, SearchMeta
from app.retrieval.authorise import authorise
from app.retrieval.budget import budget
from app.retrieval.cap import cap
from app.retrieval.contract import deliver, exclusions, limitations, summarise_sources
from app.retrieval.gather import gather, search_words
from app.retrieval.question import Question, Unembedded, ask, recompute, wording
from app.retrieval.rank import rank
from app.retrieval.recall import recall
from app.retrieval.record import record
from app.retrieval.redact import redact
from app.retrieval.request import RetrievalRequest
from app.retrieval.timing import Stopwatch
from app.storage import passages
from app.storage.engine import Database, Plans


@dataclass(frozen=True, slots=True)
class Retriever:
    """Everything a retrieval needs from outside. `embedder` None searches by text alone; `analyser` knows languages."""

    database: Database
    embedder: Embedder | None
    analyser: Callable[[str], Analyser]
    level_weights: Mapping[Level, float]
    max_candidates: int = 10_000

    async def retrieve(self, request: RetrievalRequest) -> Answer:
        """One question, one snapshot, one record; the answer exists only once the record is durable."""
        watch = Stopwatch()
        asking = asyncio.create_task(ask(request.query, self.embedder, watch))
        if not self._may_wait_connected:
            await asking
        try:
            while True:
                try:
                    return await self._answer(request, asking, watch)
                except Unembedded as missing:
                    question = await asking
                    assert question is not None
                    assert self.embedder is not None
                    asking = asyncio.create_task(recompute(question, missing, self.embedder, watch))
                    await asking
        finally:
            _let_go(asking)

    @property
    def _may_wait_connected(self) -> bool:
        """Whether words may be searched while the question is being embedded: that takes a few milliseconds within the
        process, and most connections are idle. Nothing is held while another host is waited for."""
        return self.embedder is None or (self.embedder.locality == "in_deployment" and self.database.has_spare)

    async def _answer(self, request: RetrievalRequest, asking: Awaitable[Question | None], watch: Stopwatch) -> Answer:
        """The stages, in one snapshot."""
        async with self.database.snapshot(request.principal.organisation, Plans.ONCE) as session:
            authorised = await authorise(session, request, self.level_weights)
            words = await search_words(session, authorised, wording(request.query), self.analyser, watch)
            question = await asking
            gathered = await gather(session, authorised, question, self.analyser, watch, words)
            recalled = await recall(session, authorised, request, question, self.max_candidates)
            capped = cap(rank(gathered.selection), request.parameters)
            fetched = await passages.passages(session, authorised.scope, [item.id for item in capped.kept])
            with watch.stage("redact"):
                redacted, texts = redact(capped, fetched)
            selection, one_more = budget(redacted, texts, request.parameters, recalled.tokens)
            delivered = deliver(selection, texts, authorised)
            contract = Contract(
                version=VERSION,
                request_id=new_id(),
                operation="retrieve",
                issued_at=authorised.now,
                actor_type=request.principal.actor_type.value,
                api_key_id=request.principal.api_key_id,
                valid_at=authorised.scope.as_of.valid_at,
                known_at=authorised.scope.as_of.system_at,
                parameters=request.parameters,
                indexes=gathered.indexes,
            )
            attribution_id = new_id()
            with watch.stage("record"):
                await record(session, request, authorised, question, contract, delivered, recalled, attribution_id)
        dropped = len(redacted.kept) - len(selection.kept)
        return Answer(
            contract=contract,
            query=request.query,
            passages=delivered,
            memories=recalled.memories,
            group_memories=recalled.group_memories,
            exclusions=exclusions(selection, recalled, authorised, question is not None),
            limitations=limitations(
                delivered,
                recalled,
                authorised,
                gathered,
                asked=question is not None,
                one_more=one_more,
                dropped=dropped,
            ),
            sources=summarise_sources(delivered),
            tokens_total=recalled.tokens + sum(item.passage.tokens for item in delivered),
            dropped_count=dropped,
            attribution_id=attribution_id,
            search=SearchMeta(watch.timings, gathered.vector_mode, len(selection.gathered) + recalled.gathered),
        )


def _let_go(task: asyncio.Task[Question | None]) -> None:
    """End what nobody waits for any more; why it failed is then nobody's business."""
    if not task.cancel() and not task.cancelled():
        task.exception()
