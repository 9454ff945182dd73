"""R10. The time that a request may take: which optional stages are entered, and how long each may go on.

The mandatory legs never ask here, so a budget shapes an answer and never prevents one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Literal

import structlog
from prometheus_client import Counter

log = structlog.get_logger()

Stage = Literal["rewrite", "embed", "graph", "rerank", "mmr"]

BUDGET_EXHAUSTED = "budget_exhausted"

#: Milliseconds below which a stage is not entered: with less it would cost time and come to nothing. No chat model
#: has written a sentence in 50 ms, and no reranker has read a page in 20 ms, not even on the same machine; following
#: links is a few statements, diversifying one product of small matrices.
LEAST_MS = {"rewrite": 50.0, "graph": 5.0, "rerank": 20.0, "mmr": 1.0}

degraded = Counter("muniment_degraded_stages_total", "Optional stages not entered or failed.", ["stage", "reason"])


@dataclass(frozen=True, slots=True)
class DegradedStage:
    """An optional stage that was not entered, or failed. Milliseconds; `remaining` None without a latency budget."""

    stage: str
    reason: str
    elapsed_ms: float
    remaining_budget_ms: float | None


class Deadline:
    """One request's latency budget, counted from the moment it is made. `budget_ms` None: every stage may run."""

    def __init__(self, budget_ms: float | None = None, clock: Callable[[], float] = monotonic) -> None:
        """`clock` gives seconds and never goes back."""
        self._clock = clock
        self._started = clock()
        self._budget_ms = budget_ms
        self._admitted: dict[Stage, bool] = {}
        self._degraded: list[DegradedStage] = []

    @property
    def elapsed_ms(self) -> float:
        return (self._clock() - self._started) * 1000

    @property
    def remaining_ms(self) -> float | None:
        """None without a budget; negative once it is overdrawn."""
        return self._remaining(self.elapsed_ms)

    @property
    def degraded(self) -> tuple[DegradedStage, ...]:
        """What was not entered or failed, in that order."""
        return tuple(self._degraded)

    def admit(self, stage: Stage, own_ms: float = math.inf) -> float | None:
        """Seconds that the stage may take, the less of its own timeout and of what is left; None: it is not entered.

        Decided once a request: a search that is run again takes the same stages.
        """
        elapsed = self.elapsed_ms
        remaining = self._remaining(elapsed)
        if stage not in self._admitted:
            self._admitted[stage] = remaining is None or remaining >= LEAST_MS[stage]
            if not self._admitted[stage]:
                self._note(stage, BUDGET_EXHAUSTED, elapsed)
        if not self._admitted[stage]:
            return None
        return max(0.0, own_ms if remaining is None else min(own_ms, remaining)) / 1000

    def failed(self, stage: Stage, reason: str) -> None:
        """An admitted stage came to nothing; the answer does without it. `reason` is a word, never an error's text."""
        self._note(stage, reason, self.elapsed_ms)

    def _remaining(self, elapsed: float) -> float | None:
        return None if self._budget_ms is None else self._budget_ms - elapsed

    def _note(self, stage: Stage, reason: str, elapsed: float) -> None:
        self._degraded.append(DegradedStage(stage, reason, elapsed, self._remaining(elapsed)))
        degraded.labels(stage, reason).inc()
        if reason != BUDGET_EXHAUSTED:
            log.warning("an optional stage failed; the answer does without it", stage=stage, reason=reason)
