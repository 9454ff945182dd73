"""The trace of a retrieval: the question as it was searched, and the fate of every candidate."""

from typing import Annotated, Any, Self

import strawberry

from app.domain.instant import parse_instant
from app.domain.trace import Traced
from app.evidence.trace import Explanation, SeenTrace
from schema.scalars import Instant
from schema.types.connection import Connection, bad_cursor, connect, decode_cursor, page_size
from schema.types.enums import BudgetStrategy, CandidateKind, ExclusionType, ItemOutcome
from schema.types.retrieval import DegradedStage, EffectiveParameters, StageTimings

CANDIDATES = "candidates"


@strawberry.type(description="The signals of a candidate, as they were. What plays no part is null.")
class CandidateScores:
    vector: float | None = strawberry.field(description="A passage's vector signal, in [0, 1].")
    text: float | None = strawberry.field(description="A passage's text signal, in [0, 1].")
    cosine: float | None = strawberry.field(description="Cosine to the question, raw.")
    bm25: float | None = strawberry.field(description="BM25 of a passage, raw.")
    level_weight: float | None = strawberry.field(description="Weight of the level of a passage's space.")
    rerank: float | None = strawberry.field(description="What the reranker said of a passage.")
    similarity: float | None = strawberry.field(description="A memory's similarity, in [0, 1].")
    recency: float | None = strawberry.field(description="A memory's recency.")
    importance: float | None = strawberry.field(description="A memory's importance.")
    frequency: float | None = strawberry.field(description="How often a memory was used, in [0, 1].")
    age_days: float | None = strawberry.field(description="A memory's age in days, at `validAt`.")


@strawberry.type(description="A candidate of a retrieval, and what became of it.")
class TraceCandidate:
    kind: CandidateKind = strawberry.field(description="What it is.")
    item_id: strawberry.ID = strawberry.field(description="Id of the chunk, or of the version of a memory.")
    document_id: strawberry.ID | None = strawberry.field(description="The chunk's document; null for a memory.")
    memory_id: strawberry.ID | None = strawberry.field(description="The memory; null for a chunk.")
    source_id: strawberry.ID | None = strawberry.field(description="The chunk's source; null for a memory.")
    space_id: strawberry.ID = strawberry.field(description="The space that it lay in.")
    stage: str = strawberry.field(description="The stage that removed it; `delivered` when none did.")
    type: ExclusionType | None = strawberry.field(description="Why it was removed; null when it was delivered.")
    index: int | None = strawberry.field(description="Its number in the answer, from 1; null when it was removed.")
    rank: int | None = strawberry.field(
        description="Its place, from 1, in the order of everything gathered; null for memories and appended code."
    )
    score: float = strawberry.field(description="The score that it was ranked by.")
    scores: CandidateScores = strawberry.field(description="The parts of the score.")

    @classmethod
    def of(cls, item: Traced) -> Self:
        signals = item.signals
        memory = item.source is None
        return cls(
            kind=item.kind,
            item_id=strawberry.ID(str(item.item)),
            document_id=None if memory else strawberry.ID(str(item.whole)),
            memory_id=strawberry.ID(str(item.whole)) if memory else None,
            source_id=None if memory else strawberry.ID(str(item.source)),
            space_id=strawberry.ID(str(item.space)),
            stage=item.stage,
            type=item.reason,
            index=item.index,
            rank=item.rank,
            score=item.score,
            scores=CandidateScores(
                vector=signals.get("vector"),
                text=signals.get("text"),
                cosine=signals.get("cosine"),
                bm25=signals.get("bm25"),
                level_weight=signals.get("level_weight"),
                rerank=signals.get("rerank"),
                similarity=signals.get("similarity"),
                recency=signals.get("recency"),
                importance=signals.get("importance"),
                frequency=signals.get("frequency"),
                age_days=signals.get("age_days"),
            ),
        )


@strawberry.type(description="The trace beside the evidence of a retrieval: unsigned, and erased with its subject.")
class Trace:
    id: strawberry.ID = strawberry.field(description="Id of the trace.")
    request_id: strawberry.ID = strawberry.field(description="The retrieval that it is of.")
    attribution_id: strawberry.ID = strawberry.field(description="The evidence record that it stands beside.")
    issued_at: Instant = strawberry.field(description="When the answer was made.")
    query: str | None = strawberry.field(description="The question, redacted; null when there was none.")
    rewritten_query: str | None = strawberry.field(description="What was searched with in its place, redacted.")
    model: str | None = strawberry.field(description="The model that embedded it; null when nothing did.")
    valid_at: Instant = strawberry.field(description="Point of valid time that was read.")
    known_at: Instant = strawberry.field(description="Point of system time that was read.")
    parameters: EffectiveParameters = strawberry.field(description="The parameters in effect.")
    indexes: list[str] = strawberry.field(description="The indexes that were searched.")
    vector_mode: str = strawberry.field(description="How the vector leg ran.")
    cache_hit: bool = strawberry.field(description="Whether the search step came from the cache.")
    limitations: list[str] = strawberry.field(description="Codes of the limitations that were told.")
    stage_timings: StageTimings = strawberry.field(
        description="How long each stage took, up to when the trace was stored."
    )
    degraded_stages: list[DegradedStage] = strawberry.field(description="Optional stages that were skipped or failed.")
    found: strawberry.Private[tuple[Traced, ...]]

    @strawberry.field(
        description=(
            "The candidates that the caller may know of: delivered ones first, then in the order of removal. Those in "
            "spaces that the caller may not search today are left out."
        )
    )
    def candidates(
        self,
        first: Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")] = None,
        after: Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")] = None,
    ) -> Connection[TraceCandidate]:
        size, cursor = page_size(first), decode_cursor(CANDIDATES, after)
        if cursor is not None and not (cursor.isascii() and cursor.isdigit()):
            raise bad_cursor()
        start = 0 if cursor is None else min(int(cursor[:9]), len(self.found))
        rows = list(enumerate(self.found[start : start + size + 1], start + 1))
        return connect(
            CANDIDATES,
            rows,
            size,
            after,
            node=lambda row: TraceCandidate.of(row[1]),
            position=lambda row: str(row[0]),
        )

    @classmethod
    def of(cls, seen: SeenTrace) -> Self:
        facts = seen.trace.facts
        return cls(
            id=strawberry.ID(str(seen.id)),
            request_id=strawberry.ID(str(seen.request_id)),
            attribution_id=strawberry.ID(str(seen.attribution_id)),
            issued_at=seen.issued_at,
            query=facts["query"],
            rewritten_query=facts["rewrittenQuery"],
            model=facts["model"],
            valid_at=parse_instant(facts["validAt"]),
            known_at=parse_instant(facts["knownAt"]),
            parameters=_parameters(facts["parameters"]),
            indexes=facts["indexes"],
            vector_mode=facts["vectorMode"],
            cache_hit=facts["cacheHit"],
            limitations=facts["limitations"],
            stage_timings=StageTimings.of(facts["timings"]),
            degraded_stages=[
                DegradedStage(
                    stage=item["stage"],
                    reason=item["reason"],
                    elapsed_ms=item["elapsedMs"],
                    remaining_budget_ms=item["remainingBudgetMs"],
                )
                for item in facts["degradedStages"]
            ],
            found=seen.trace.candidates,
        )


@strawberry.type(description="Why an item is in an answer or not.")
class ExclusionExplanation:
    outcome: ItemOutcome = strawberry.field(description="What became of it.")
    reason: str = strawberry.field(description="The same in a sentence.")
    stage: str | None = strawberry.field(
        description="The first stage that removed it; `near_miss` for a document that matched and was not in force."
    )
    type: ExclusionType | None = strawberry.field(description="Why it was removed.")
    candidate: TraceCandidate | None = strawberry.field(description="The item's best candidate, if it had one.")

    @classmethod
    def of(cls, found: Explanation) -> Self:
        return cls(
            outcome=found.outcome,
            reason=found.sentence,
            stage=found.stage,
            type=found.type,
            candidate=None if found.candidate is None else TraceCandidate.of(found.candidate),
        )


def _parameters(kept: dict[str, Any]) -> EffectiveParameters:
    return EffectiveParameters(
        top_k=kept["topK"],
        max_per_level=kept["maxPerLevel"],
        max_passages_per_document=kept["maxPassagesPerDocument"],
        min_score=kept["minScore"],
        max_memories=kept["maxMemories"],
        token_budget=kept["tokenBudget"],
        budget_strategy=BudgetStrategy(kept["budgetStrategy"]),
        source_kinds=kept["sourceKinds"],
        providers=kept["providers"],
        tags=kept["tags"],
        mmr_lambda=kept["mmrLambda"],
        latency_budget_ms=kept["latencyBudgetMs"],
        exclude_related=kept["excludeRelated"],
    )
