"""What a passage and a memory score, and the order that follows: constants of the deployment, never of a request."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from uuid import UUID

from app.domain.errors import bad_input
from app.domain.principal import Level

LEVEL_WEIGHTS: Mapping[Level, float] = MappingProxyType(
    {
        Level.ORGANISATION: 0.85,
        Level.BUSINESS_UNIT: 0.88,
        Level.DEPARTMENT: 0.92,
        Level.GROUP: 1.00,
        Level.TEAM: 1.00,
        Level.PROJECT: 1.20,
        Level.SUBPROJECT: 1.40,
        Level.PERSONAL: 0.85,
    }
)
MAX_LEVEL_WEIGHT, LEVEL_WEIGHT_DECIMALS = 10, 4

VECTOR_WEIGHT, TEXT_WEIGHT = 0.7, 0.3
SIMILARITY_WEIGHT, RECENCY_WEIGHT, IMPORTANCE_WEIGHT, FREQUENCY_WEIGHT = 0.40, 0.20, 0.25, 0.15
HALF_LIFE_DAYS = 14.0
#: The access count from which a memory's frequency is 1.
FULL_FREQUENCY = 100

#: Candidates that each leg names at least. From 20 on the first ten places hardly change (tests/quality/README.md).
LEG_CANDIDATES = 50

#: Idf sum (in nats) of a question up to which its text signal is its coverage.
COVERAGE_NATS = 16.0


def leg_candidates(top_k: int) -> int:
    """How many candidates a leg names, so that what the caps and the other leg push out can be replaced."""
    return max(LEG_CANDIDATES, 2 * top_k)


def _finite(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise bad_input(f"{name} must be a finite number.", name)
    return value


def _unit(value: float, name: str) -> float:
    if not 0.0 <= _finite(value, name) <= 1.0:
        raise bad_input(f"{name} must lie between 0 and 1.", name)
    return value


def normalise_vector(similarity: float) -> float:
    """Cosine similarity → [0, 1]: a negative one counts 0, and rounding never lifts one above 1."""
    return min(1.0, max(0.0, _finite(similarity, "similarity")))


def normalise_text(bm25: float, greatest: float) -> float:
    """BM25 → [0, 1], from the question alone and never from the other hits.

    `bm25` = Σ idf · query weight · tf / (tf + K) over the question's lexemes; `greatest` = Σ idf · query weight, which
    no chunk reaches. Their ratio, the coverage c, is the signal of a short question. A long one is never covered whole,
    and what it shares with a chunk tells more: 1 − (1 − c)^max(1, greatest / 16). Grows with `bm25`.
    """
    _finite(bm25, "bm25")
    _finite(greatest, "greatest")
    if bm25 <= 0.0 or greatest <= 0.0:
        return 0.0
    coverage = min(1.0, bm25 / greatest)
    return 1.0 - math.pow(1.0 - coverage, max(1.0, greatest / COVERAGE_NATS))


def passage_score(vector: float | None, text: float | None, level_weight: float) -> float:
    """(0.7 · vector + 0.3 · text) × level weight, in [0, level weight]; a leg without a signal (None) counts 0."""
    if not 0.0 < _finite(level_weight, "levelWeight") <= MAX_LEVEL_WEIGHT:
        raise bad_input("A level weight must be above 0 and at most 10.", "levelWeight")
    vector = 0.0 if vector is None else _unit(vector, "vector")
    text = 0.0 if text is None else _unit(text, "text")
    return (VECTOR_WEIGHT * vector + TEXT_WEIGHT * text) * level_weight


def rank_key(vector: float | None, text: float | None, score: float, item_id: UUID) -> tuple[int, float, UUID]:
    """Sorts passages: those that both legs found first, then by score, then by id.

    A leg finds a chunk when the chunk has a signal above 0 in it, whichever leg named the chunk. So a further leg can
    only raise a chunk's place.
    """
    legs = sum(signal is not None and _unit(signal, "signal") > 0.0 for signal in (vector, text))
    return -legs, -_finite(score, "score"), item_id


@dataclass(frozen=True, slots=True)
class MemoryScore:
    """A memory's score and its parts, each in [0, 1]."""

    score: float
    similarity: float
    recency: float
    importance: float
    frequency: float


def memory_score(similarity: float | None, age_days: float, importance: float, access_count: int) -> MemoryScore:
    """0.40 · similarity + 0.20 · 0.5^(ageDays / 14) + 0.25 · importance + 0.15 · frequency.

    `similarity` is None when there is no question, and then counts 1; a negative one counts 0. A negative age counts 0.
    """
    if access_count < 0:
        raise bad_input("accessCount must not be negative.", "accessCount")
    near = 1.0 if similarity is None else normalise_vector(similarity)
    recency = 0.5 ** (max(0.0, _finite(age_days, "ageDays")) / HALF_LIFE_DAYS)
    frequency = min(1.0, math.log1p(access_count) / math.log1p(FULL_FREQUENCY))
    return MemoryScore(
        score=SIMILARITY_WEIGHT * near
        + RECENCY_WEIGHT * recency
        + IMPORTANCE_WEIGHT * _unit(importance, "importance")
        + FREQUENCY_WEIGHT * frequency,
        similarity=near,
        recency=recency,
        importance=importance,
        frequency=frequency,
    )


def level_weight(value: Decimal | float | str) -> float:
    """A level weight in (0, 10] with at most 4 decimals, or `BAD_USER_INPUT`. A float counts as it is printed."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        raise bad_input("A level weight must be a number.", "weight") from None
    if not number.is_finite() or not 0 < number <= MAX_LEVEL_WEIGHT:
        raise bad_input("A level weight must be above 0 and at most 10.", "weight")
    if number != round(number, LEVEL_WEIGHT_DECIMALS):
        raise bad_input("A level weight has at most 4 decimals.", "weight")
    return float(number)


def parse_level_weights(text: str) -> dict[Level, float]:
    """`level=weight,…` → the default weights with these changed; an empty text changes nothing."""
    weights = dict(LEVEL_WEIGHTS)
    given: set[Level] = set()
    for part in text.split(",") if text.strip() else ():
        name, equals, value = part.partition("=")
        try:
            level = Level(name.strip())
        except ValueError:
            raise bad_input(f"There is no level {name.strip()!r}; levels are {', '.join(Level)}.", "level") from None
        if not equals:
            raise bad_input("Level weights are written level=weight,level=weight.", "level")
        if level in given:
            raise bad_input(f"The level {level} is given twice.", "level")
        given.add(level)
        weights[level] = level_weight(value)
    return weights
