"""What comes out of a retrieval."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.contract import Exclusion, Limitation
from app.domain.lens import Lens
from app.domain.principal import Source, Space
from app.domain.selection import Candidate
from app.retrieval.deadline import DegradedStage
from app.retrieval.recall import DeliveredMemory
from app.retrieval.request import Parameters
from app.storage.passages import Passage


@dataclass(frozen=True, slots=True)
class Delivered:
    """One passage: the candidate it was, the text it is, and where both come from."""

    index: int
    candidate: Candidate
    passage: Passage
    source: Source
    space: Space
    content_sha256: str


@dataclass(frozen=True, slots=True)
class SourceSummary:
    source: Source
    passages: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Contract:
    """The terms under which the answer was made. `rewritten_query` is what was searched with in place of the question's
    own wording."""

    version: str
    request_id: UUID
    operation: str
    issued_at: datetime
    actor_type: str
    api_key_id: UUID | None
    valid_at: datetime
    known_at: datetime
    space: Space | None
    parameters: Parameters
    indexes: tuple[str, ...]
    rewritten_query: str | None = None
    lens: Lens | None = None


@dataclass(frozen=True, slots=True)
class SearchMeta:
    """How the search ran. A stage that did not run has no timing."""

    stage_timings: Mapping[str, float]
    vector_mode: str
    candidates: int
    cache_hit: bool = False
    degraded_stages: tuple[DegradedStage, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    contract: Contract
    query: str | None
    passages: tuple[Delivered, ...]
    memories: tuple[DeliveredMemory, ...]
    group_memories: tuple[DeliveredMemory, ...]
    exclusions: tuple[Exclusion, ...]
    limitations: tuple[Limitation, ...]
    sources: tuple[SourceSummary, ...]
    tokens_total: int
    dropped_count: int
    attribution_id: UUID
    search: SearchMeta
    trace_id: UUID | None = None
    certificate: str | None = None

    @property
    def request_id(self) -> UUID:
        return self.contract.request_id
