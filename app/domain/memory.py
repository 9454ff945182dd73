"""What is remembered, and of whom."""

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid5

from app.domain.errors import bad_input


class EpistemicStatus(StrEnum):
    """How something came to be known."""

    OBSERVED = "observed"
    TOLD = "told"
    INFERRED = "inferred"
    ASSUMED = "assumed"


class TransformType(StrEnum):
    """How a text came to be."""

    MANUAL = "manual"
    INGEST = "ingest"
    DREAM_SYNTHESIS = "dream_synthesis"
    EVOLVE = "evolve"
    AGENT_WRITE = "agent_write"


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """The value of a memory in one period. `revision` counts the accepted revisions of a team's memory, from 1."""

    text: str
    tokens: int
    importance: float = 0.5
    confidence: float | None = None
    epistemic_status: EpistemicStatus = EpistemicStatus.TOLD
    transform_type: TransformType = TransformType.AGENT_WRITE
    tags: tuple[str, ...] = ()
    revision: int = 1

    def __post_init__(self) -> None:
        for name in ("importance", "confidence"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise bad_input("must lie between 0 and 1", name)

    @property
    def text_sha256(self) -> bytes:
        return hashlib.sha256(self.text.encode()).digest()


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose memory it is: a subject's, a group's, or, with neither, the space's own. `space_id` is where it is kept."""

    space_id: UUID
    subject_id: UUID | None = None
    group_id: UUID | None = None


def membership_id(group: UUID, subject: UUID) -> UUID:
    """One subject in one group is one fact, whoever writes it first."""
    return uuid5(group, subject.hex)


def pseudonym(key: bytes, external_id: str) -> str:
    """What evidence calls a subject: HMAC-SHA-256 under the subject's own key. Once the key is gone, nobody's name."""
    return hmac.digest(key, b"muniment/subject/v1\0" + external_id.encode(), "sha256").hex()


def age_days(valid_from: datetime | None, system_from: datetime, at: datetime) -> float:
    """Days since it became true, or since it was believed where that is unknown; never negative."""
    return max(0.0, (at - (valid_from or system_from)).total_seconds() / 86_400)
