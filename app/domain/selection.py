"""What a retrieval holds between its stages: candidates kept, and candidates excluded with the reason.

Nothing that was gathered may vanish: `kept` and `excluded` are disjoint and together are everything gathered.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol, Self
from uuid import UUID

from app.domain.principal import Level


class Reason(StrEnum):
    """Why something the caller might have expected is not in the answer."""

    PROVIDER_SCOPE = "PROVIDER_SCOPE"
    NO_RESULTS = "NO_RESULTS"
    CALLER_FILTER = "CALLER_FILTER"
    NOT_YET_VALID = "NOT_YET_VALID"
    EXPIRED = "EXPIRED"
    SUPERSEDED = "SUPERSEDED"
    MIN_SCORE = "MIN_SCORE"
    PER_LEVEL_CAP = "PER_LEVEL_CAP"
    PER_DOCUMENT_CAP = "PER_DOCUMENT_CAP"
    DIVERSITY = "DIVERSITY"
    TOP_K = "TOP_K"
    TOKEN_BUDGET = "TOKEN_BUDGET"
    DUPLICATE = "DUPLICATE"
    DLP_BLOCKED = "DLP_BLOCKED"
    MISSING_ACCESS_POLICY = "MISSING_ACCESS_POLICY"
    STALE_INDEX = "STALE_INDEX"


@dataclass(frozen=True, slots=True)
class Scores:
    """The parts of a passage's score. `vector` and `text` lie in [0, 1]; None means the leg gave no signal.

    `rerank` is what a reranker said, on its own scale; it decides the order, never the score. `cosine` and `bm25` are
    the raw signals.
    """

    vector: float | None = None
    text: float | None = None
    level_weight: float = 1.0
    rerank: float | None = None
    cosine: float | None = None
    bm25: float | None = None


class Relation(StrEnum):
    """How a passage belongs to the ranked one that it was appended for."""

    CALLS = "CALLS"
    CALLED_BY = "CALLED_BY"
    TESTED_BY = "TESTED_BY"


@dataclass(frozen=True, slots=True)
class Related:
    """`to` is the id of the ranked chunk that calls, is called by or is tested by this one."""

    to: UUID
    relation: Relation


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that search named."""

    id: UUID
    document_id: UUID
    source_id: UUID
    space_id: UUID
    level: Level
    provider: str
    kind: str
    text_sha256: bytes
    scores: Scores
    score: float = 0.0
    tokens: int = 0
    related: Related | None = None


class Item(Protocol):
    """What an account needs of a candidate, be it a chunk or a memory."""

    @property
    def id(self) -> UUID: ...
    @property
    def provider(self) -> str: ...
    @property
    def kind(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Excluded:
    """A candidate that a stage removed."""

    candidate: Item
    stage: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Selection:
    """`kept` in order, best first, and `excluded` in the order of removal."""

    kept: tuple[Candidate, ...]
    excluded: tuple[Excluded, ...] = ()

    def drop(self, stage: str, reasons: Mapping[UUID, Reason]) -> Self:
        """Move the named candidates from kept to excluded; the order of the others stays."""
        if not reasons:
            return self
        gone = tuple(Excluded(item, stage, reasons[item.id]) for item in self.kept if item.id in reasons)
        if len(gone) != len(reasons):
            raise LookupError(f"stage {stage} drops what it was not given")
        return replace(
            self,
            kept=tuple(item for item in self.kept if item.id not in reasons),
            excluded=(*self.excluded, *gone),
        )

    def rewrite(self, kept: Iterable[Candidate]) -> Self:
        """The same candidates, reordered or with more known about them."""
        kept = tuple(kept)
        if len(kept) != len(self.kept) or {item.id for item in kept} != {item.id for item in self.kept}:
            raise LookupError("a stage may reorder and annotate what is kept, not add or lose it")
        return replace(self, kept=kept)

    def append(self, found: Iterable[Candidate]) -> Self:
        """Candidates that a stage found beside the kept ones, after them. One that an earlier stage had excluded is
        kept after all, as what it is now."""
        found = tuple(found)
        ids = {item.id for item in found}
        if len(ids) != len(found) or any(item.id in ids for item in self.kept):
            raise LookupError("what is kept already cannot be appended")
        excluded = tuple(item for item in self.excluded if item.candidate.id not in ids)
        return replace(self, kept=(*self.kept, *found), excluded=excluded)

    @property
    def gathered(self) -> frozenset[UUID]:
        return frozenset(item.id for item in self.kept) | {item.candidate.id for item in self.excluded}

    def conserves(self, gathered: frozenset[UUID]) -> bool:
        """Every gathered candidate is kept once or excluded once, and nothing else is."""
        ids = [item.id for item in self.kept] + [item.candidate.id for item in self.excluded]
        return len(ids) == len(set(ids)) and frozenset(ids) == gathered
