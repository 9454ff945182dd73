"""The answer of a retrieval: passages, the contract, and what was left out and why."""

from collections.abc import Mapping
from typing import Self

import strawberry

from app.domain.contract import Exclusion as _Exclusion
from app.domain.contract import Limitation as _Limitation
from app.retrieval.answer import Answer
from app.retrieval.answer import Contract as _Contract
from app.retrieval.answer import SearchMeta as _SearchMeta
from schema.scalars import Instant
from schema.types.enums import BudgetStrategy, ExclusionType, LimitationCode
from schema.types.passage import Citation, Passage, citations


@strawberry.type(description="The parameters in effect, after defaults and clamping.")
class EffectiveParameters:
    top_k: int = strawberry.field(description="Most passages in all.")
    max_per_level: int = strawberry.field(description="Most passages from spaces of one level.")
    max_passages_per_document: int = strawberry.field(description="Most passages of one document.")
    min_score: float | None = strawberry.field(description="Least score of a passage; null: no floor.")
    max_memories: int = strawberry.field(description="Most memories, and most group memories.")
    token_budget: int | None = strawberry.field(description="Most tokens in all; null: not trimmed.")
    budget_strategy: BudgetStrategy = strawberry.field(description="How passages are cut to the budget.")
    source_kinds: list[str] | None = strawberry.field(description="Source kinds asked for; null: all.")
    providers: list[str] | None = strawberry.field(description="Providers asked for; null: all.")
    tags: list[str] | None = strawberry.field(description="Tags asked for, any of them; null: all.")
    mmr_lambda: float | None = strawberry.field(description="Relevance against diversity; null: off.")
    latency_budget_ms: int | None = strawberry.field(
        description="Milliseconds for the optional stages; null: no limit."
    )
    exclude_related: bool = strawberry.field(description="Whether related code was left out.")


@strawberry.type(description="The terms under which the answer was made.")
class ContextContract:
    version: str = strawberry.field(description="Version of the contract.")
    request_id: strawberry.ID = strawberry.field(description="Id of this very retrieval.")
    operation: str = strawberry.field(description="What was asked of the API.")
    issued_at: Instant = strawberry.field(description="When the answer was made.")
    actor_type: str = strawberry.field(description="Kind of caller: person, agent, application or admin.")
    api_key_id: strawberry.ID | None = strawberry.field(description="The API key that was used, if one was.")
    valid_at: Instant = strawberry.field(description="Point of valid time that was read.")
    known_at: Instant = strawberry.field(description="Point of system time that was read: the clock of the snapshot.")
    space_id: strawberry.ID | None = strawberry.field(
        description="The space that was asked from; null when its own texts may not be searched."
    )
    space_key: str | None = strawberry.field(description="The same by key path; `/` is the organisation.")
    parameters: EffectiveParameters = strawberry.field(description="The parameters in effect.")
    indexes: list[str] = strawberry.field(description="The indexes that were searched.")
    rewritten_query: str | None = strawberry.field(
        description="What was searched with in place of the question's own wording; null when it was not rewritten."
    )
    lens_id: strawberry.ID | None = strawberry.field(description="The lens that was looked through.")
    lens_system_from: Instant | None = strawberry.field(
        description="Since when the lens was as it was read; with `lensId` this names its version."
    )

    @classmethod
    def of(cls, contract: _Contract) -> Self:
        parameters = contract.parameters
        return cls(
            version=contract.version,
            request_id=strawberry.ID(str(contract.request_id)),
            operation=contract.operation,
            issued_at=contract.issued_at,
            actor_type=contract.actor_type,
            api_key_id=strawberry.ID(str(contract.api_key_id)) if contract.api_key_id else None,
            valid_at=contract.valid_at,
            known_at=contract.known_at,
            space_id=strawberry.ID(str(contract.space.id)) if contract.space else None,
            space_key=contract.space.key_path if contract.space else None,
            parameters=EffectiveParameters(
                top_k=parameters.top_k,
                max_per_level=parameters.max_per_level,
                max_passages_per_document=parameters.max_passages_per_document,
                min_score=parameters.min_score,
                max_memories=parameters.max_memories,
                token_budget=parameters.token_budget,
                budget_strategy=parameters.budget_strategy,
                source_kinds=None if parameters.source_kinds is None else list(parameters.source_kinds),
                providers=None if parameters.providers is None else list(parameters.providers),
                tags=None if parameters.tags is None else list(parameters.tags),
                mmr_lambda=parameters.mmr_lambda,
                latency_budget_ms=parameters.latency_budget_ms,
                exclude_related=parameters.exclude_related,
            ),
            indexes=list(contract.indexes),
            rewritten_query=contract.rewritten_query,
            lens_id=None if contract.lens is None else strawberry.ID(str(contract.lens.id)),
            lens_system_from=None if contract.lens is None else contract.lens.system_from,
        )


@strawberry.type(description="Things of one kind that one stage left out.")
class Exclusion:
    type: ExclusionType = strawberry.field(description="Why they were left out.")
    stage: str = strawberry.field(
        description=(
            "The stage that left them out. What `authorise`, `gather` and `near_miss` count was never a candidate."
        )
    )
    provider: str | None = strawberry.field(description="Their provider.")
    source_kind: str | None = strawberry.field(description="Their source kind.")
    count: int | None = strawberry.field(description="How many; null where a number would tell too much.")
    reason: str = strawberry.field(description="The same in a sentence.")

    @classmethod
    def of(cls, item: _Exclusion) -> Self:
        return cls(
            type=item.type,
            stage=item.stage,
            provider=item.provider,
            source_kind=item.source_kind,
            count=item.count,
            reason=item.reason,
        )


@strawberry.type(description="A caveat about the whole answer.")
class Limitation:
    code: LimitationCode = strawberry.field(description="Stable code.")
    message: str = strawberry.field(description="The same in a sentence.")
    count: int | None = strawberry.field(description="The number that the sentence speaks of, if it does.")

    @classmethod
    def of(cls, item: _Limitation) -> Self:
        return cls(code=item.code, message=item.message, count=item.count)


@strawberry.type(description="What one source contributed.")
class SourceSummary:
    source_id: strawberry.ID = strawberry.field(description="Id of the source.")
    name: str = strawberry.field(description="Name of the source.")
    kind: str = strawberry.field(description="Kind of the source.")
    provider: str = strawberry.field(description="Provider of the source.")
    passages: int = strawberry.field(description="Passages delivered from it.")
    tokens: int = strawberry.field(description="Tokens of these passages.")


@strawberry.type(description="Milliseconds by stage. A stage that did not run is null, which is not 0.")
class StageTimings:
    cache_ms: float | None = strawberry.field(description="Looking into the cache of searches.")
    rewrite_ms: float | None = strawberry.field(description="Rewriting the question.")
    embed_ms: float | None = strawberry.field(description="Embedding the question.")
    text_ms: float | None = strawberry.field(description="The text leg.")
    vector_ms: float | None = strawberry.field(description="The vector leg.")
    graph_ms: float | None = strawberry.field(description="Following links and calls from the best hits.")
    memory_ms: float | None = strawberry.field(description="The memory leg.")
    rerank_ms: float | None = strawberry.field(description="Reranking.")
    mmr_ms: float | None = strawberry.field(description="Diversifying.")
    redact_ms: float | None = strawberry.field(description="Redaction at delivery.")
    record_ms: float | None = strawberry.field(description="Storing the record, to the durable commit.")
    total_ms: float = strawberry.field(description="The whole retrieval.")

    @classmethod
    def of(cls, timings: Mapping[str, float]) -> Self:
        return cls(
            cache_ms=timings.get("cache"),
            rewrite_ms=timings.get("rewrite"),
            embed_ms=timings.get("embed"),
            text_ms=timings.get("text"),
            vector_ms=timings.get("vector"),
            graph_ms=timings.get("graph"),
            memory_ms=timings.get("memory"),
            rerank_ms=timings.get("rerank"),
            mmr_ms=timings.get("mmr"),
            redact_ms=timings.get("redact"),
            record_ms=timings.get("record"),
            total_ms=timings["total"],
        )


@strawberry.type(description="An optional stage that was not entered, or failed.")
class DegradedStage:
    stage: str = strawberry.field(description="The stage: rewrite, graph, rerank or mmr.")
    reason: str = strawberry.field(
        description="`budget_exhausted` when it was not entered; else how it failed, such as `timeout` or `http_5xx`."
    )
    elapsed_ms: float = strawberry.field(description="Milliseconds since the request began.")
    remaining_budget_ms: float | None = strawberry.field(
        description="Milliseconds that were left of `latencyBudgetMs`; null when there was none."
    )


@strawberry.type(description="How the search ran.")
class SearchMeta:
    stage_timings: StageTimings = strawberry.field(description="How long each stage took.")
    vector_mode: str = strawberry.field(
        description="`exact`, `hnsw` when the index was asked, or `off` when only text was searched."
    )
    candidates: int = strawberry.field(description="Candidates gathered: delivered and excluded add up to it.")
    cache_hit: bool = strawberry.field(description="Whether the search step came from the cache.")
    degraded_stages: list[DegradedStage] = strawberry.field(description="Optional stages that were skipped or failed.")

    @classmethod
    def of(cls, meta: _SearchMeta) -> Self:
        return cls(
            stage_timings=StageTimings.of(meta.stage_timings),
            vector_mode=meta.vector_mode,
            candidates=meta.candidates,
            cache_hit=meta.cache_hit,
            degraded_stages=[
                DegradedStage(
                    stage=item.stage,
                    reason=item.reason,
                    elapsed_ms=item.elapsed_ms,
                    remaining_budget_ms=item.remaining_budget_ms,
                )
                for item in meta.degraded_stages
            ],
        )


@strawberry.type(description="What the model should read, and the account of it.")
class RetrievalResult:
    contract: ContextContract = strawberry.field(description="The terms of the answer.")
    query: str | None = strawberry.field(description="The question, as asked.")
    passages: list[Passage] = strawberry.field(description="The passages, best first.")
    memories: list[Passage] = strawberry.field(
        description="Memories of the named subject and of the searched spaces, best first. Never trimmed."
    )
    group_memories: list[Passage] = strawberry.field(
        description="Memories of the groups that the subject verifiably belongs to, best first. Never trimmed."
    )
    citations: list[Citation] = strawberry.field(
        description="One for each passage, memory and group memory, in that order, numbered for `[1]`."
    )
    exclusions: list[Exclusion] = strawberry.field(description="What was left out, and why.")
    limitations: list[Limitation] = strawberry.field(description="What a careful reader should know.")
    sources_summary: list[SourceSummary] = strawberry.field(description="What each source contributed.")
    tokens_total: int = strawberry.field(description="Tokens of everything delivered.")
    dropped_count: int = strawberry.field(description="Passages that the token budget dropped.")
    attribution_id: strawberry.ID = strawberry.field(description="Id of the evidence record of this retrieval.")
    request_id: strawberry.ID = strawberry.field(description="Id of this retrieval.")
    trace_id: strawberry.ID | None = strawberry.field(description="Id of the trace; null when none is kept.")
    certificate: str | None = strawberry.field(
        description="Compact JWS (EdDSA) over the ids, both clocks and the hashes of what was given, in order. Its key "
        "is found by `kid` at `/.well-known/muniment-keys.json`."
    )
    search_meta: SearchMeta = strawberry.field(description="How the search ran.")

    @classmethod
    def of(cls, answer: Answer) -> Self:
        return cls(
            contract=ContextContract.of(answer.contract),
            query=answer.query,
            passages=[Passage.of(item, answer) for item in answer.passages],
            memories=[Passage.of_memory(item, answer) for item in answer.memories],
            group_memories=[Passage.of_memory(item, answer) for item in answer.group_memories],
            citations=citations(answer),
            exclusions=[Exclusion.of(item) for item in answer.exclusions],
            limitations=[Limitation.of(item) for item in answer.limitations],
            sources_summary=[
                SourceSummary(
                    source_id=strawberry.ID(str(item.source.id)),
                    name=item.source.name,
                    kind=item.source.kind,
                    provider=item.source.provider,
                    passages=item.passages,
                    tokens=item.tokens,
                )
                for item in answer.sources
            ],
            tokens_total=answer.tokens_total,
            dropped_count=answer.dropped_count,
            attribution_id=strawberry.ID(str(answer.attribution_id)),
            request_id=strawberry.ID(str(answer.request_id)),
            trace_id=None if answer.trace_id is None else strawberry.ID(str(answer.trace_id)),
            certificate=answer.certificate,
            search_meta=SearchMeta.of(answer.search),
        )
