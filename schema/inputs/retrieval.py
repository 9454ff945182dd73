"""What a client asks with."""

import strawberry

from app.domain.principal import Principal, parse_id
from app.retrieval.request import TOKEN_BUDGET, RetrievalRequest, make_request
from schema.scalars import Instant
from schema.types.enums import BudgetStrategy


@strawberry.input(description="A point of both clocks.")
class PointInput:
    as_of: Instant | None = strawberry.field(default=None, description="Point of valid time; now by default.")
    known_at: Instant | None = strawberry.field(default=None, description="Point of system time; now by default.")


@strawberry.input(description="One question to the store. Filters: null is not given, an empty list admits nothing.")
class RetrieveInput:
    query: str | None = strawberry.field(
        default=None,
        description="The question in plain words; what stands in quotes counts as one phrase. Null: no passages.",
    )
    space_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="The space to ask from, by id. With no space named here the header `X-Muniment-Space` decides, "
        "then the caller's active space; then it is the organisation's own.",
    )
    space_key: str | None = strawberry.field(default=None, description="The same by key path; `/` is the organisation.")
    as_of: Instant | None = strawberry.field(default=None, description="Point of valid time; now by default.")
    known_at: Instant | None = strawberry.field(default=None, description="Point of system time; now by default.")
    top_k: int | None = strawberry.field(default=None, description="Most passages: 8 by default, at most 50.")
    max_per_level: int | None = strawberry.field(
        default=None, description="Most passages from spaces of one level: 5 by default, at most 50."
    )
    max_passages_per_document: int | None = strawberry.field(
        default=None, description="Most passages of one document: 2 by default, at most 50."
    )
    min_score: float | None = strawberry.field(default=None, description="Least score of a passage.")
    token_budget: int | None = strawberry.field(
        default=TOKEN_BUDGET.default, description="Most tokens: 4096 by default, at most 32000; null does not trim."
    )
    budget_strategy: BudgetStrategy = strawberry.field(
        default=BudgetStrategy.DROP_LOWEST, description="How passages are cut to the budget."
    )
    source_kinds: list[str] | None = strawberry.field(default=None, description="Only sources of these kinds.")
    providers: list[str] | None = strawberry.field(default=None, description="Only sources of these providers.")
    tags: list[str] | None = strawberry.field(
        default=None, description="Only documents that carry one of these tags. Never limits memories."
    )
    lens_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="A saved lens: what its filters and the request's own both admit is searched, in those of its "
        "spaces that would be searched anyway. Of memories it limits only those of a space itself, by its spaces.",
    )
    mmr_lambda: float | None = strawberry.field(
        default=None,
        description="Maximal marginal relevance: 1 is relevance order exactly, 0 pure diversity; null: off.",
    )
    exclude_related: bool = strawberry.field(
        default=False, description="Whether to leave out the callers, callees and tests of the best code."
    )
    latency_budget_ms: int | None = strawberry.field(
        default=None, description="Milliseconds after which no optional stage is entered; the legs always answer."
    )
    subject_id: strawberry.ID | None = strawberry.field(
        default=None, description="Whose memories count; never limits passages. Compared whole."
    )
    include_memories: bool = strawberry.field(default=True, description="Whether memories are recalled at all.")
    max_memories: int | None = strawberry.field(
        default=None, description="Most memories, and most group memories: 10 by default, at most 50."
    )
    session_id: str | None = strawberry.field(default=None, description="The caller's session, kept in the evidence.")

    def request(self, principal: Principal, default_space: str | None, near_misses: bool = False) -> RetrievalRequest:
        """The checked request; `default_space` counts when the input names no space."""
        space_id = None if self.space_id is None else str(self.space_id)
        space_key = self.space_key
        if space_id is None and space_key is None and default_space is not None:
            space_id, space_key = _named(default_space)
        return make_request(
            principal,
            query=self.query,
            space_id=space_id,
            space_key=space_key,
            as_of=self.as_of,
            known_at=self.known_at,
            session_id=self.session_id,
            top_k=self.top_k,
            max_per_level=self.max_per_level,
            max_passages_per_document=self.max_passages_per_document,
            min_score=self.min_score,
            token_budget=self.token_budget,
            budget_strategy=self.budget_strategy,
            source_kinds=self.source_kinds,
            providers=self.providers,
            subject_id=None if self.subject_id is None else str(self.subject_id),
            include_memories=self.include_memories,
            max_memories=self.max_memories,
            tags=self.tags,
            mmr_lambda=self.mmr_lambda,
            latency_budget_ms=self.latency_budget_ms,
            exclude_related=self.exclude_related,
            lens_id=None if self.lens_id is None else str(self.lens_id),
            near_misses=near_misses,
        )


def _named(space: str) -> tuple[str | None, str | None]:
    """A header names a space by id or by key path: what is a UUID is an id."""
    return (space, None) if parse_id(space) else (None, space)
