"""The order that a reranker makes of a ranking that it saw only in part."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from app.domain.selection import Candidate


def reorder(ranked: Sequence[Candidate], said: Mapping[UUID, float]) -> list[Candidate]:
    """`ranked`, best first, with `said` as `scores.rerank`; every score stays what the formula made it.

    What the reranker saw changes places among itself: greatest first, of equals as they were ranked. What it did not
    see keeps its place. Nothing is known of how the two would compare, and a text that may not be sent must not be
    buried for that.
    """
    seen = [replace(item, scores=replace(item.scores, rerank=said[item.id])) for item in ranked if item.id in said]
    best: Iterator[Candidate] = iter(sorted(seen, key=lambda item: -said[item.id]))
    return [next(best) if item.id in said else item for item in ranked]
