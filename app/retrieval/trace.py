"""E9. The trace beside the event: the question as it was searched, and the fate of every candidate."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from app.domain.contract import Limitation
from app.domain.instant import format_instant
from app.domain.selection import Candidate, Excluded, Item, Scores, Selection
from app.domain.trace import DELIVERED, Kind, Trace, Traced, encode
from app.providers.ids import new_id
from app.retrieval.answer import Contract, Delivered
from app.retrieval.authorise import Authorised
from app.retrieval.cache import Searched
from app.retrieval.deadline import DegradedStage
from app.retrieval.question import Question
from app.retrieval.recall import MemoryCandidate, Recalled
from app.retrieval.request import Parameters, RetrievalRequest

SHA256_BYTES = 32


def trace(
    request: RetrievalRequest,
    authorised: Authorised,
    question: Question | None,
    contract: Contract,
    searched: Searched,
    ranked: Selection,
    selection: Selection,
    delivered: Sequence[Delivered],
    recalled: Recalled,
    limitations: Sequence[Limitation],
    timings: Mapping[str, float],
    degraded: Sequence[DegradedStage],
) -> dict[str, Any]:
    """The trace as it is stored, with what decides who may see it and when it goes. `ranked` is everything gathered,
    in order; `selection` is what became of it."""
    facts = {
        "query": None if question is None else question.asked,
        "rewrittenQuery": None if question is None else question.rewritten,
        "rerankModel": None if question is None else question.rerank_model,
        "model": None if question is None or question.vector is None else question.model,
        "validAt": format_instant(contract.valid_at),
        "knownAt": format_instant(contract.known_at),
        "parameters": _parameters(contract.parameters),
        "request": _asked(request, recalled),
        "scope": _scope(request, authorised, recalled),
        "recomputed": _recomputed(searched, question),
        "indexes": list(contract.indexes),
        "vectorMode": searched.gathered.vector_mode,
        "cacheHit": searched.hit,
        "limitations": [item.code.value for item in limitations],
        "timings": dict(timings),
        "degradedStages": [
            {
                "stage": item.stage,
                "reason": item.reason,
                "elapsedMs": item.elapsed_ms,
                "remainingBudgetMs": item.remaining_budget_ms,
            }
            for item in degraded
        ],
    }
    vector = None if question is None else question.vector
    return {
        "trace": new_id(),
        "request": contract.request_id,
        "user": request.principal.id,
        "space": authorised.target.id if authorised.target else None,
        "subject": recalled.subject_id,
        "issued_at": contract.issued_at,
        "traced": encode(Trace(facts, vector, fates(ranked, selection, delivered, recalled), searched.near_misses)),
    }


def fates(
    ranked: Selection, selection: Selection, delivered: Sequence[Delivered], recalled: Recalled
) -> tuple[Traced, ...]:
    """Every candidate with its signals and what became of it."""
    ranks = {item.id: (rank, item.scores) for rank, item in enumerate(ranked.kept, 1)}
    return (
        *(_passage(item.candidate, ranks, item.index) for item in delivered),
        *(_passage(gone.candidate, ranks, None, gone) for gone in selection.excluded),
        *(_memory(item.candidate, item.index) for item in recalled.delivered),
        *(_memory(gone.candidate, None, gone) for gone in recalled.excluded),
    )


def _parameters(parameters: Parameters) -> dict[str, Any]:
    """The parameters in effect; numbers as they are, since nothing here is hashed."""
    return {
        "topK": parameters.top_k,
        "maxPerLevel": parameters.max_per_level,
        "maxPassagesPerDocument": parameters.max_passages_per_document,
        "minScore": parameters.min_score,
        "maxMemories": parameters.max_memories,
        "tokenBudget": parameters.token_budget,
        "budgetStrategy": parameters.budget_strategy.value,
        "sourceKinds": None if parameters.source_kinds is None else list(parameters.source_kinds),
        "providers": None if parameters.providers is None else list(parameters.providers),
        "tags": None if parameters.tags is None else list(parameters.tags),
        "mmrLambda": parameters.mmr_lambda,
        "latencyBudgetMs": parameters.latency_budget_ms,
        "excludeRelated": parameters.exclude_related,
    }


def _asked(request: RetrievalRequest, recalled: Recalled) -> dict[str, Any]:
    """What was given of place and time, as opposed to what was read in effect. A subject is named only where the trace
    is theirs, and so goes with them."""
    return {
        "spaceId": request.space_id,
        "spaceKey": request.space_key,
        "asOf": _instant(request.as_of),
        "knownAt": _instant(request.known_at),
        "subjectId": request.subject_id if recalled.subject_id else None,
        "sessionId": request.session_id,
        "lensId": request.lens_id,
        "includeMemories": request.include_memories,
        "nearMisses": request.near_misses,
    }


def _scope(request: RetrievalRequest, authorised: Authorised, recalled: Recalled) -> dict[str, Any]:
    """What was searched, and with which weights: for the verdict of a replay, and never shown. Ids in hexadecimal."""
    principal = request.principal
    return {
        "principals": [id.hex for id in principal.identities],
        "providers": None if principal.allowed_providers is None else sorted(principal.allowed_providers),
        "spaces": [id.hex for id in authorised.spaces],
        "sources": [id.hex for id in authorised.sources],
        "tags": [list(tags) for tags in authorised.tags],
        "weights": {level.value: weight for level, weight in authorised.weights.items()},
        "subject": None if recalled.subject_id is None else recalled.subject_id.hex,
        "groups": [id.hex for id in recalled.groups],
    }


def _recomputed(searched: Searched, question: Question | None) -> list[str]:
    """What had no embedding and was compared all the same: ids of chunks, which the cache may have known of, and
    SHA-256 of the texts of memories."""
    keys = () if question is None else question.recomputed
    return [
        *sorted(id.hex for id in searched.gathered.bare),
        *sorted(key.hex() for key in keys if len(key) == SHA256_BYTES),
    ]


def _instant(value: datetime | None) -> str | None:
    return None if value is None else format_instant(value)


def _passage(
    item: Item, ranks: Mapping[UUID, tuple[int, Scores]], index: int | None, gone: Excluded | None = None
) -> Traced:
    """What a cap left out may be delivered as related, without a score: its place and its signals stay known."""
    assert isinstance(item, Candidate)
    rank, scores = ranks.get(item.id, (None, item.scores))
    return Traced(
        Kind.PASSAGE if item.related is None else Kind.RELATED,
        item.id,
        item.document_id,
        item.source_id,
        item.space_id,
        (scores.vector, scores.text, scores.cosine, scores.bm25, scores.level_weight, scores.rerank, item.score),
        rank,
        index,
        DELIVERED if gone is None else gone.stage,
        None if gone is None else gone.reason,
    )


def _memory(item: Item, index: int | None, gone: Excluded | None = None) -> Traced:
    assert isinstance(item, MemoryCandidate)
    hit, score = item.hit, item.score
    return Traced(
        Kind.MEMORY if hit.group_id is None else Kind.GROUP_MEMORY,
        hit.version_id,
        hit.memory_id,
        None,
        hit.space_id,
        (
            score.similarity,
            score.recency,
            score.importance,
            score.frequency,
            hit.similarity,
            item.age_days,
            score.score,
        ),
        None,
        index,
        DELIVERED if gone is None else gone.stage,
        None if gone is None else gone.reason,
    )
