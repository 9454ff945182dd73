"""A retrieval that was: what its record and its trace say of it, and what it may search, then or today."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from app.domain.budget import BudgetStrategy
from app.domain.dlp.scanning import Redacted
from app.domain.instant import parse_instant
from app.domain.lens import TagSets, tag_sets
from app.domain.principal import ActorType, Level, Principal
from app.domain.temporal import AsOf
from app.domain.trace import Trace
from app.retrieval.admit import admit
from app.retrieval.authorise import Authorised, authorise, source_of, space_of
from app.retrieval.lens import looked_through
from app.retrieval.request import Parameters, RetrievalRequest
from app.storage import replay as storage
from app.storage.engine import Session
from app.storage.scope import Scope


@dataclass(frozen=True, slots=True)
class Past:
    """A retrieval that was: its record and, where one is kept, its trace. `query` is the question, redacted as it was;
    `groups` are those of the caller as far as they are known without a trace."""

    record: Mapping[str, Any]
    trace: Trace | None
    query: Redacted | None
    groups: tuple[UUID, ...] = ()

    @property
    def facts(self) -> Mapping[str, Any]:
        return {} if self.trace is None else self.trace.facts

    @property
    def scope(self) -> Mapping[str, Any] | None:
        """What was searched; None where nothing tells."""
        return self.facts.get("scope")

    @property
    def valid_at(self) -> datetime:
        return parse_instant(self.record["validAt"])

    @property
    def known_at(self) -> datetime:
        return parse_instant(self.record["knownAt"])

    @property
    def principal(self) -> Principal:
        """Who asked, as far as permissions go."""
        user = UUID(self.record["userId"])
        groups, providers = self.groups, None
        if self.scope is not None:
            groups = tuple(id for id in map(UUID, self.scope["principals"]) if id != user)
            providers = self.scope["providers"]
        return Principal(
            UUID(self.record["organisationId"]),
            user,
            "",
            ActorType(self.record["actorType"]),
            groups,
            allowed_providers=None if providers is None else frozenset(providers),
        )

    @property
    def may_have_skipped_diversity(self) -> bool:
        """Whether a latency budget may have left it out; only a trace tells."""
        asked = self.record["parameters"]
        return not self.facts and None not in (asked["latencyBudgetMs"], asked["mmrLambda"])

    @property
    def parameters(self) -> Parameters:
        """Those in effect; a stage that was skipped is off."""
        kept = self.facts.get("parameters") or self.record["parameters"]
        skipped = {item["stage"] for item in self.facts.get("degradedStages", ())}
        return Parameters(
            top_k=kept["topK"],
            max_per_level=kept["maxPerLevel"],
            max_passages_per_document=kept["maxPassagesPerDocument"],
            min_score=_number(kept["minScore"]),
            token_budget=kept["tokenBudget"],
            budget_strategy=BudgetStrategy(kept["budgetStrategy"]),
            source_kinds=_tuple(kept["sourceKinds"]),
            providers=_tuple(kept["providers"]),
            max_memories=kept["maxMemories"],
            tags=_tuple(kept["tags"]),
            mmr_lambda=None if "mmr" in skipped else _number(kept["mmrLambda"]),
            latency_budget_ms=None,
            exclude_related=kept["excludeRelated"],
        )


async def scope_then(session: Session, weights: Mapping[Level, float], past: Past) -> Authorised:
    """What was searched, as it was known then: recorded permissions count, today's do not."""
    scope, record = past.scope, past.record
    target = UUID(record["spaceId"]) if record["spaceId"] else None
    if scope is None:
        spaces = await storage.searched_then(
            session,
            past.known_at,
            parse_instant(record["issuedAt"]),
            target,
            past.principal.id,
            past.principal.identities,
        )
    else:
        spaces = [UUID(id) for id in scope["spaces"]]
    wanted = None if scope is None else [UUID(id) for id in scope["sources"]]
    lens_id = UUID(record["lensId"]) if record["lensId"] else None
    # The target gives the order of near spaces, also where the caller may not search it.
    found = await storage.scope_then(session, past.known_at, [*spaces, *([target] if target else [])], wanted, lens_id)
    assert found is not None
    known = {UUID(row["id"]): space_of(row) for row in found.spaces}
    held = {UUID(row["id"]): source_of(row) for row in found.sources}
    searched = {id: known[id] for id in spaces if id in known}
    sources, tags = held, _tags(scope)
    if scope is None:
        lens = None if lens_id is None else looked_through(_request(past), found.lens)
        permitted = {id: source for id, source in held.items() if source.space_id in searched}
        sources, _ = admit(permitted, past.principal, past.parameters, lens)
        tags = tag_sets(past.parameters.tags, None if lens is None else lens.tags)
        searched = {id: space for id, space in searched.items() if lens is None or lens.admits_space(id)}
    return Authorised(
        scope=Scope(session.organisation, AsOf(past.valid_at, past.known_at), present=past.known_at == found.clock),
        target=known.get(target) if target else None,
        spaces=searched,
        weights={
            **weights,
            **{Level(level): float(weight) for level, weight in found.weights.items()},
        },
        sources=sources,
        exclusions=(),
        historical=True,
        now=found.now,
        clock=found.clock,
        tags=tags,
        policy=found.policy,
    )


async def scope_today(session: Session, weights: Mapping[Level, float], past: Past) -> Authorised:
    """What the caller may search today, at today's clocks; an `asOf` that was asked for stays."""
    asked = past.facts.get("request", {}).get("asOf")
    request = replace(_request(past), as_of=None if asked is None else parse_instant(asked))
    return await authorise(session, request, weights)


def _request(past: Past) -> RetrievalRequest:
    return RetrievalRequest(
        principal=past.principal,
        query=past.query,
        space_id=past.record["spaceId"],
        space_key=None,
        as_of=None,
        known_at=None,
        session_id=None,
        parameters=past.parameters,
        lens_id=past.record["lensId"],
    )


def _tags(scope: Mapping[str, Any] | None) -> TagSets:
    return () if scope is None else tuple(tuple(tags) for tags in scope["tags"])


def _number(value: str | float | None) -> float | None:
    return None if value is None else float(value)


def _tuple(value: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)
