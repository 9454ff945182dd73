"""What goes into a retrieval: the caller's input, checked, and the parameters in effect after clamping."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.domain.budget import BudgetStrategy
from app.domain.errors import bad_input
from app.domain.instant import as_utc
from app.domain.principal import Principal
from app.domain.sources import SourceKind

MAX_QUERY = 20_000
MAX_SESSION_ID = 256
SOURCE_KINDS = frozenset(kind.value for kind in SourceKind)


@dataclass(frozen=True, slots=True)
class Limits:
    """The defaults of a parameter and the most that is served."""

    default: int
    greatest: int


TOP_K = Limits(8, 50)
MAX_PER_LEVEL = Limits(5, 50)
MAX_PER_DOCUMENT = Limits(2, 50)
MAX_MEMORIES = Limits(10, 50)
TOKEN_BUDGET = Limits(4096, 32_000)
MAX_SUBJECT_ID = 256
MAX_TAG = 256
#: Entries of a filter: they stand in the evidence for ever.
MAX_ENTRIES = 100


@dataclass(frozen=True, slots=True)
class Parameters:
    """What the answer was made with, after defaults and clamping."""

    top_k: int
    max_per_level: int
    max_passages_per_document: int
    min_score: float | None
    token_budget: int | None
    budget_strategy: BudgetStrategy
    source_kinds: tuple[str, ...] | None
    providers: tuple[str, ...] | None
    max_memories: int = MAX_MEMORIES.default
    tags: tuple[str, ...] | None = None
    mmr_lambda: float | None = None
    latency_budget_ms: int | None = None
    exclude_related: bool = False


@dataclass(frozen=True, slots=True)
class RetrievalRequest:
    """One question. `query` None or blank asks for no passages. `near_misses`: look for what matched, but at
    another point of either clock."""

    principal: Principal
    query: str | None
    space_id: str | None
    space_key: str | None
    as_of: datetime | None
    known_at: datetime | None
    session_id: str | None
    parameters: Parameters
    subject_id: str | None = None
    include_memories: bool = True
    lens_id: str | None = None
    near_misses: bool = False


def make_request(
    principal: Principal,
    *,
    query: str | None,
    space_id: str | None = None,
    space_key: str | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    session_id: str | None = None,
    top_k: int | None = None,
    max_per_level: int | None = None,
    max_passages_per_document: int | None = None,
    min_score: float | None = None,
    token_budget: int | None = TOKEN_BUDGET.default,
    budget_strategy: BudgetStrategy = BudgetStrategy.DROP_LOWEST,
    source_kinds: Sequence[str] | None = None,
    providers: Sequence[str] | None = None,
    subject_id: str | None = None,
    include_memories: bool = True,
    max_memories: int | None = None,
    tags: Sequence[str] | None = None,
    mmr_lambda: float | None = None,
    latency_budget_ms: int | None = None,
    exclude_related: bool = False,
    lens_id: str | None = None,
    near_misses: bool = False,
) -> RetrievalRequest:
    """Check and clamp. `token_budget` None means no budget; a filter that is None is not given, `[]` admits nothing."""
    if space_id is not None and space_key is not None:
        raise bad_input("name the space by id or by key, not both", "spaceId")
    if min_score is not None and not math.isfinite(min_score):
        raise bad_input("minScore must be a finite number", "minScore")
    if mmr_lambda is not None and not 0.0 <= mmr_lambda <= 1.0:
        raise bad_input("mmrLambda must lie between 0 and 1", "mmrLambda")
    if latency_budget_ms is not None and latency_budget_ms < 0:
        raise bad_input("must not be negative", "latencyBudgetMs")
    for field, given in (("tags", tags), ("providers", providers), ("sourceKinds", source_kinds)):
        if given is not None and len(given) > MAX_ENTRIES:
            raise bad_input(f"at most {MAX_ENTRIES} entries", field)
    for tag in tags or ():
        clean(tag, "tags", MAX_TAG)
    for kind in source_kinds or ():
        if kind not in SOURCE_KINDS:
            raise bad_input("unknown source kind", "sourceKinds")
    for provider in providers or ():
        clean(provider, "providers", 128)
    return RetrievalRequest(
        principal=principal,
        query=None if query is None else clean(query, "query", MAX_QUERY),
        space_id=space_id,
        space_key=space_key,
        as_of=None if as_of is None else as_utc(as_of, "asOf"),
        known_at=None if known_at is None else as_utc(known_at, "knownAt"),
        session_id=None if session_id is None else clean(session_id, "sessionId", MAX_SESSION_ID),
        parameters=Parameters(
            top_k=_clamp(top_k, TOP_K, "topK"),
            max_per_level=_clamp(max_per_level, MAX_PER_LEVEL, "maxPerLevel"),
            max_passages_per_document=_clamp(max_passages_per_document, MAX_PER_DOCUMENT, "maxPassagesPerDocument"),
            min_score=min_score,
            token_budget=None if token_budget is None else _clamp(token_budget, TOKEN_BUDGET, "tokenBudget"),
            budget_strategy=budget_strategy,
            source_kinds=None if source_kinds is None else tuple(dict.fromkeys(source_kinds)),
            providers=None if providers is None else tuple(dict.fromkeys(providers)),
            max_memories=_clamp(max_memories, MAX_MEMORIES, "maxMemories"),
            tags=None if tags is None else tuple(dict.fromkeys(tags)),
            mmr_lambda=mmr_lambda,
            latency_budget_ms=latency_budget_ms,
            exclude_related=exclude_related,
        ),
        subject_id=None if subject_id is None else clean(subject_id, "subjectId", MAX_SUBJECT_ID),
        include_memories=include_memories,
        lens_id=lens_id,
        near_misses=near_misses,
    )


def clean(text: str, field: str, longest: int) -> str:
    """Text that PostgreSQL and every encoder can hold, within a length; anything else is the caller's error."""
    if len(text) > longest:
        raise bad_input(f"at most {longest} characters", field)
    if "\x00" in text:
        raise bad_input("must not hold a NUL character", field)
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise bad_input("must not hold a lone surrogate", field)
    return text


def _clamp(value: int | None, limits: Limits, field: str) -> int:
    if value is None:
        return limits.default
    if value < 0:
        raise bad_input("must not be negative", field)
    return min(value, limits.greatest)
