"""A figure beside its floor, and how both are taken in turns so that whatever else runs hits them alike."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

Work = Callable[[int], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report; a figure that has no floor has no ratio."""

    name: str
    value: float
    unit: str
    floor: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.value / self.floor if self.floor else None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}

    def __str__(self) -> str:
        floor = "-" if self.floor is None else f"{self.floor:.2f}"
        ratio = "-" if self.ratio is None else f"{self.ratio:.2f}"
        return f"{self.name:<22}{self.value:>12.2f} {self.unit:<12}{floor:>12}{ratio:>8}"


HEADER = f"{'name':<22}{'value':>12} {'unit':<12}{'floor':>12}{'ratio':>8}"


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of them do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(values: Sequence[float]) -> float:
    return percentile(values, 0.5)


async def in_turns(rounds: int, warm_up: int, *works: Work) -> list[list[float]]:
    """Milliseconds of each work in every round after the warm-up; the order is turned round by round."""
    times: list[list[float]] = [[] for _ in works]
    for number in range(warm_up + rounds):
        order = list(enumerate(works))
        for position, work in order if number % 2 else reversed(order):
            started = perf_counter()
            await work(number)
            if number >= warm_up:
                times[position].append((perf_counter() - started) * 1000)
    return times
