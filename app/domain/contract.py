"""The words of the context contract: exclusions, limitations, freshness."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.domain.selection import Excluded, Reason

VERSION = "1.0"


class LimitationCode(StrEnum):
    """What a careful reader of the answer should know about it."""

    NO_CONTEXT = "NO_CONTEXT"
    PROVIDER_SCOPE_APPLIED = "PROVIDER_SCOPE_APPLIED"
    SCOPE_APPLIED = "SCOPE_APPLIED"
    MISSING_SYNC_TIMESTAMP = "MISSING_SYNC_TIMESTAMP"
    MISSING_SOURCE_ACCESS_POLICY = "MISSING_SOURCE_ACCESS_POLICY"
    TEXT_ONLY = "TEXT_ONLY"
    TEXT_QUERY_EMPTY = "TEXT_QUERY_EMPTY"
    CANDIDATES_TRUNCATED = "CANDIDATES_TRUNCATED"
    STALE_EMBEDDINGS = "STALE_EMBEDDINGS"
    DEGRADED = "DEGRADED"
    BUDGET_TOO_SMALL = "BUDGET_TOO_SMALL"
    HISTORICAL_READ = "HISTORICAL_READ"


@dataclass(frozen=True, slots=True)
class Limitation:
    code: LimitationCode
    message: str
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Things of one kind that one stage left out. `count` is None where a number would tell too much."""

    type: Reason
    stage: str
    provider: str | None
    source_kind: str | None
    count: int | None
    reason: str


_SENTENCES = {
    Reason.PROVIDER_SCOPE: "The caller's key may not read from this provider.",
    Reason.NO_RESULTS: "The provider was searched and nothing matched.",
    Reason.CALLER_FILTER: "The request's own filters set these sources aside.",
    Reason.NOT_YET_VALID: "It was not yet true at the moment that was asked about.",
    Reason.EXPIRED: "It was no longer true at the moment that was asked about.",
    Reason.SUPERSEDED: "A later belief has taken its place.",
    Reason.MIN_SCORE: "The score was below the minimum score that was asked for.",
    Reason.PER_LEVEL_CAP: "Enough passages from the same level of the space tree ranked higher.",
    Reason.PER_DOCUMENT_CAP: "Enough passages of the same document ranked higher.",
    Reason.DIVERSITY: "Passages that ranked higher say much the same.",
    Reason.TOP_K: "More passages ranked higher than were asked for.",
    Reason.TOKEN_BUDGET: "The passage did not fit into the token budget.",
    Reason.DUPLICATE: "The same text is delivered from another place.",
    Reason.DLP_BLOCKED: "The organisation's data-loss policy bars the content from delivery.",
    Reason.MISSING_ACCESS_POLICY: "The source carries no access policy, so its content is not delivered.",
    Reason.STALE_INDEX: "The chunk belongs to an index version that is no longer current.",
}


def sentence(reason: Reason) -> str:
    return _SENTENCES[reason]


def summarise(excluded: Iterable[Excluded]) -> list[Exclusion]:
    """Candidates removed after gathering, counted by reason, stage, provider and source kind."""
    counted = Counter((item.reason, item.stage, item.candidate.provider, item.candidate.kind) for item in excluded)
    return [
        Exclusion(reason, stage, provider, kind, count, sentence(reason))
        for (reason, stage, provider, kind), count in counted.items()
    ]


def age_hours(since: datetime, now: datetime) -> float:
    """Hours to 0.1, never negative."""
    return round(max(0.0, (now - since).total_seconds()) / 3600, 1)
