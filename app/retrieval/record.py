"""R11. The attribution event: stored in the snapshot's own transaction, before any passage leaves."""

import hashlib
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from app.domain.canonical import canonical, fixed
from app.domain.instant import format_instant
from app.retrieval.answer import Contract, Delivered
from app.retrieval.authorise import Authorised
from app.retrieval.question import Question
from app.retrieval.recall import DeliveredMemory, Recalled
from app.retrieval.request import Parameters, RetrievalRequest
from app.storage import queue, traces
from app.storage.engine import Session

CATEGORY = "context_attribution"


async def record(
    session: Session,
    request: RetrievalRequest,
    authorised: Authorised,
    question: Question | None,
    contract: Contract,
    delivered: Sequence[Delivered],
    recalled: Recalled,
    attribution_id: UUID,
    traced: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Store the event, and the trace if one is kept, and commit; the event. ATTRIBUTION_FAILED when it cannot be: the
    caller then gets no passage."""
    event = _event(request, authorised, question, contract, delivered, recalled, attribution_id)
    if traced is None:
        await queue.store(session, attribution_id, canonical(event))
    else:
        await traces.store(session, attribution_id, canonical(event), traced)
    return event


def _event(
    request: RetrievalRequest,
    authorised: Authorised,
    question: Question | None,
    contract: Contract,
    delivered: Sequence[Delivered],
    recalled: Recalled,
    attribution_id: UUID,
) -> dict[str, Any]:
    """What was delivered, to whom, from where, as of when. No text of a passage and none of the question."""
    principal = request.principal
    return {
        "category": CATEGORY,
        "id": str(attribution_id),
        "attributionId": str(attribution_id),
        "requestId": str(contract.request_id),
        "organisationId": str(principal.organisation),
        "userId": str(principal.id),
        "actorType": principal.actor_type.value,
        "apiKeyId": str(principal.api_key_id) if principal.api_key_id else None,
        "client": {
            "id": principal.client.id,
            "name": principal.client.name,
            "version": principal.client.version,
        },
        "sessionId": request.session_id,
        "spaceId": str(authorised.target.id) if authorised.target else None,
        "lensId": None if contract.lens is None else str(contract.lens.id),
        "lensSystemFrom": None if contract.lens is None else format_instant(contract.lens.system_from),
        "subjectPseudonym": recalled.subject_pseudonym,
        "issuedAt": format_instant(contract.issued_at),
        "validAt": format_instant(contract.valid_at),
        "knownAt": format_instant(contract.known_at),
        "querySha256": None if question is None else _sha256(question.asked),
        "rewrittenSha256": None if question is None or question.rewritten is None else _sha256(question.rewritten),
        "parameters": _parameters(contract.parameters),
        "includeMemories": request.include_memories,
        "model": _model(question, contract, recalled),
        "rerankModel": None if question is None else question.rerank_model,
        "policyVersion": authorised.policy.version,
        "indexes": list(contract.indexes),
        "sourceIds": sorted({str(item.source.id) for item in delivered}),
        "chunks": [
            {
                "chunkId": str(item.candidate.id),
                "documentId": str(item.candidate.document_id),
                "sourceId": str(item.source.id),
                "sha256": item.content_sha256,
                "indexVersion": item.passage.index_version,
                **_relation(item),
            }
            for item in delivered
        ],
        "memories": [
            {
                "memoryId": str(item.candidate.hit.memory_id),
                "versionId": str(item.candidate.hit.version_id),
                "revision": item.candidate.hit.revision,
                "sha256": item.candidate.hit.text_sha256.hex(),
                "owner": _owner(item),
            }
            for item in recalled.delivered
        ],
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _relation(item: Delivered) -> dict[str, str]:
    """Which ranked chunk a passage was delivered beside, and as what."""
    related = item.candidate.related
    return {} if related is None else {"relatedTo": str(related.to), "relation": related.relation.value}


def _model(question: Question | None, contract: Contract, recalled: Recalled) -> str | None:
    """Whose vectors decided; None where words alone did."""
    if question is None or question.vector is None:
        return None
    by_meaning = any(index.startswith("vector:") for index in contract.indexes)
    return question.model if by_meaning or recalled.gathered else None


def _owner(item: DeliveredMemory) -> str:
    hit = item.candidate.hit
    return "subject" if hit.subject_id else "group" if hit.group_id else "space"


def _parameters(parameters: Parameters) -> dict[str, Any]:
    return {
        "topK": parameters.top_k,
        "maxPerLevel": parameters.max_per_level,
        "maxPassagesPerDocument": parameters.max_passages_per_document,
        "minScore": None if parameters.min_score is None else fixed(parameters.min_score),
        "maxMemories": parameters.max_memories,
        "tokenBudget": parameters.token_budget,
        "budgetStrategy": parameters.budget_strategy.value,
        "sourceKinds": None if parameters.source_kinds is None else list(parameters.source_kinds),
        "providers": None if parameters.providers is None else list(parameters.providers),
        "tags": None if parameters.tags is None else list(parameters.tags),
        "mmrLambda": None if parameters.mmr_lambda is None else fixed(parameters.mmr_lambda),
        "latencyBudgetMs": parameters.latency_budget_ms,
        "excludeRelated": parameters.exclude_related,
    }
