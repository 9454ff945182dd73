"""Maximal marginal relevance (Carbonell and Goldstein, 1998): relevance against likeness to what is taken already."""

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import bad_input


def mmr(relevance: NDArray[np.float64], vectors: NDArray[np.float32], trade_off: float) -> list[int]:
    """The order in which candidates are taken, as positions.

    `relevance`, shape (n,), best first; `vectors`, shape (n, dimensions), of unit length, a row of zeros where there is
    none: it is like nothing. Each time the greatest `trade_off · relevance − (1 − trade_off) · likeness` is taken,
    likeness being the greatest cosine to one already taken; of equals the first. 1 is the given order exactly, and at
    0 only the first place goes by relevance.
    """
    if not 0.0 <= trade_off <= 1.0:
        raise bad_input("mmrLambda must lie between 0 and 1", "mmrLambda")
    count = len(relevance)
    if trade_off == 1.0 or count == 0:
        return list(range(count))
    like = (vectors @ vectors.T).astype(np.float64)
    worth = trade_off * relevance
    likeness = np.zeros(count)
    order: list[int] = []
    for taken in range(count):
        value = worth - (1.0 - trade_off) * likeness
        value[order] = -np.inf
        # Before anything is taken nothing is alike: the best by relevance, whatever its weight.
        best = int(np.argmax(value)) if taken else 0
        likeness = like[best].copy() if not taken else np.maximum(likeness, like[best])
        order.append(best)
    return order
