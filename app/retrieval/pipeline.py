"""The order of a retrieval, and nothing else. Read this and you know the system."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from app.domain.certificate import certificate
from app.domain.contract import VERSION
from app.domain.dlp.scanning import Redacted, Scanner
from app.domain.lexical import Analyser
from app.domain.principal import Level
from app.providers.embedder.base import Embedder
from app.providers.ids import new_id
from app.providers.redaction.scanner import SCANNER
from app.providers.signing import SigningKeys
from app.providers.tokens import Tokens
from app.retrieval.answer import Answer, Contract, SearchMeta
from app.retrieval.authorise import authorise
from app.retrieval.budget import budget, dropped
from app.retrieval.cache import SearchCache
from app.retrieval.cap import cap
from app.retrieval.contract import deliver, exclusions, limitations, summarise_sources
from app.retrieval.deadline import Deadline
from app.retrieval.diversify import diversify
from app.retrieval.near_misses import count
from app.retrieval.pin import Pin
from app.retrieval.question import Question, Unembedded, ask, recompute, wording
from app.retrieval.rank import rank
from app.retrieval.recall import recall
from app.retrieval.record import record
from app.retrieval.redact import redact
from app.retrieval.related import relate
from app.retrieval.request import RetrievalRequest
from app.retrieval.rerank import Reranking, Unreranked, consult, rerank
from app.retrieval.rewrite import Rewriter, rewrite
from app.retrieval.search import Searcher
from app.retrieval.timing import Stopwatch
from app.retrieval.trace import trace
from app.storage import passages
from app.storage.engine import Database, Plans


@dataclass(frozen=True, slots=True)
class Retriever:
    """Everything a retrieval needs from outside. `embedder` None searches by text alone; `analyser` knows languages.
    `rewriter` and `reranking` None: that stage is off."""

    database: Database
    embedder: Embedder | None
    analyser: Callable[[str], Analyser]
    level_weights: Mapping[Level, float]
    tokens: Tokens
    max_candidates: int = 10_000
    rewriter: Rewriter | None = None
    reranking: Reranking | None = None
    approximate: bool = False
    clock: Callable[[], float] = monotonic
    cache: SearchCache = field(default_factory=SearchCache)
    traces: bool = True
    graph_assist: bool = False
    signing: SigningKeys | None = None
    scanner: Scanner = SCANNER

    async def retrieve(self, request: RetrievalRequest) -> Answer:
        """One question, one snapshot, one record; the answer exists only once the record is durable."""
        watch = Stopwatch()
        deadline = Deadline(request.parameters.latency_budget_ms, self.clock)
        own = wording(request.query, self.scanner)
        text = await rewrite(own, self.rewriter, deadline, watch, self.scanner)
        organisation, vectors = request.principal.organisation, self.cache.vectors
        asking = asyncio.create_task(
            ask(text, self.embedder, watch, own, organisation=organisation, vectors=vectors, deadline=deadline)
        )
        pin: Pin | None = None
        if not self._may_wait_connected:
            await asking
        try:
            while True:
                try:
                    return await self._answer(request, pin, text, asking, watch, deadline)
                except Unembedded as missing:
                    question = await asking
                    assert question is not None
                    assert self.embedder is not None
                    asking = asyncio.create_task(recompute(question, missing, self.embedder, watch))
                    await asking
                except Unreranked as unranked:
                    question, pin = await asking, unranked.pin
                    assert question is not None
                    assert self.reranking is not None
                    asking = asyncio.create_task(consult(question, unranked, self.reranking, deadline, watch))
                    await asking
        finally:
            _let_go(asking)

    def _certificate(self, event: dict[str, Any]) -> str | None:
        if self.signing is None:
            return None
        signer = self.signing.signer
        return certificate(event, signer.key_id, signer.sign)

    @property
    def _searcher(self) -> Searcher:
        model = None if self.embedder is None else self.embedder.model
        return Searcher(self.analyser, self.cache, model, self.approximate, self.graph_assist)

    @property
    def _may_wait_connected(self) -> bool:
        """Whether words may be searched while the question is being embedded: that takes a few milliseconds within the
        process, and most connections are idle. Nothing is held while another host is waited for."""
        return self.embedder is None or (self.embedder.in_process and self.database.has_spare)

    async def _answer(
        self,
        request: RetrievalRequest,
        pin: Pin | None,
        text: Redacted | None,
        asking: Awaitable[Question | None],
        watch: Stopwatch,
        deadline: Deadline,
    ) -> Answer:
        """The stages, in one snapshot."""
        async with self.database.snapshot(request.principal.organisation, Plans.ONCE) as session:
            authorised = await authorise(
                session, pin.request(request) if pin else request, self.level_weights, self.scanner
            )
            authorised = pin.authorised(authorised) if pin else authorised
            question, searched = await self._searcher.search(
                session, authorised, request, pin, text, asking, deadline, watch
            )
            authorised, gathered = searched.at(authorised), searched.gathered
            recalled = await recall(session, authorised, request, question, self.max_candidates, self.tokens.count)
            by_score = rank(gathered.selection)
            ranked = await rerank(session, authorised, by_score, question, request.parameters, self.reranking, deadline)
            diverse = await diversify(session, authorised, ranked, question, request.parameters, watch, deadline)
            capped = cap(diverse, request.parameters, ranked)
            fetched = await passages.passages(session, authorised.scope, [item.id for item in capped.kept])
            related, beside = await relate(session, authorised, capped, fetched, request.parameters)
            with watch.stage("redact"):
                redacted, texts = redact(related, beside, authorised, self.tokens.count)
            selection, one_more = budget(redacted, texts, request.parameters, recalled.tokens)
            delivered = deliver(selection, texts, authorised)
            caveats = limitations(
                delivered,
                recalled,
                authorised,
                gathered,
                asked=question is not None,
                one_more=one_more,
                dropped=dropped(selection),
                degraded=len(deadline.degraded),
            )
            contract = Contract(
                version=VERSION,
                request_id=new_id(),
                operation="retrieve",
                issued_at=authorised.now,
                actor_type=request.principal.actor_type.value,
                api_key_id=request.principal.api_key_id,
                valid_at=authorised.scope.as_of.valid_at,
                known_at=authorised.scope.as_of.system_at,
                space=authorised.target,
                parameters=request.parameters,
                indexes=gathered.indexes,
                rewritten_query=question.rewritten if question else None,
                lens=authorised.lens,
            )
            attribution_id = new_id()
            with watch.stage("record"):
                traced = (
                    trace(
                        request,
                        authorised,
                        question,
                        contract,
                        searched,
                        ranked,
                        selection,
                        delivered,
                        recalled,
                        caveats,
                        watch.timings,
                        deadline.degraded,
                    )
                    if self.traces
                    else None
                )
                event = await record(
                    session, request, authorised, question, contract, delivered, recalled, attribution_id, traced
                )
        self.cache.keep(searched)
        return Answer(
            contract=contract,
            query=request.query,
            passages=delivered,
            memories=recalled.memories,
            group_memories=recalled.group_memories,
            exclusions=(
                *exclusions(selection, recalled, authorised, question is not None),
                *count(searched.near_misses, authorised),
            ),
            limitations=caveats,
            sources=summarise_sources(delivered),
            tokens_total=recalled.tokens + sum(item.passage.tokens for item in delivered),
            dropped_count=dropped(selection),
            attribution_id=attribution_id,
            search=SearchMeta(
                watch.timings,
                gathered.vector_mode,
                len(selection.gathered) + recalled.gathered,
                cache_hit=searched.hit,
                degraded_stages=deadline.degraded,
            ),
            trace_id=traced["trace"] if traced else None,
            certificate=self._certificate(event),
        )


def _let_go(task: asyncio.Task[Question | None]) -> None:
    """End what nobody waits for any more; why it failed is then nobody's business."""
    if not task.cancel() and not task.cancelled():
        task.exception()
