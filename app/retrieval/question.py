"""The question as search needs it: redacted first, then embedded, with no connection held."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.providers.embedder.base import Embedder
from app.retrieval.timing import Stopwatch


@dataclass(frozen=True, slots=True)
class Question:
    """`text` is what may be searched with; `vector` is None where nothing embeds."""

    text: str
    vector: NDArray[np.float32] | None
    model: str | None


async def ask(query: str | None, embedder: Embedder | None, watch: Stopwatch) -> Question | None:
    """None when there is nothing to ask: no passage is then searched for."""
    if query is None or not query.strip():
        return None
    if embedder is None:
        return Question(query, None, None)
    with watch.stage("embed"):
        return Question(query, await embedder.embed_query(query), embedder.model)
