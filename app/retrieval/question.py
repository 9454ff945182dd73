"""The question as search needs it: redacted first, then embedded, with no connection held."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.providers.embedder.base import Embedder
from app.retrieval.timing import Stopwatch


@dataclass(frozen=True, slots=True)
class Question:
    """`text` is what may be searched with; `vector` is None where nothing embeds.

    `recomputed` holds vectors, by SHA-256 of the text, of memories that turned out to have none; None before a look.
    """

    text: str
    vector: NDArray[np.float32] | None
    model: str | None
    recomputed: Mapping[bytes, NDArray[np.float32]] | None = None


def wording(query: str | None) -> str | None:
    """What may be searched with; None when there is nothing to ask."""
    return None if query is None or not query.strip() else query


async def ask(query: str | None, embedder: Embedder | None, watch: Stopwatch) -> Question | None:
    """None when there is nothing to ask: no passage is then searched for."""
    query = wording(query)
    if query is None:
        return None
    if embedder is None:
        return Question(query, None, None)
    with watch.stage("embed"):
        return Question(query, await embedder.embed_query(query), embedder.model)


class Unembedded(Exception):
    """Search met memories without an embedding of the model: they are embedded with no connection held, then it is
    asked again. `texts` by their SHA-256."""

    def __init__(self, texts: Mapping[bytes, str]) -> None:
        super().__init__()
        self.texts = texts


async def recompute(question: Question, missing: Unembedded, embedder: Embedder, watch: Stopwatch) -> Question:
    """The same question with the vectors that were missing. They are not kept: a backfill is for that."""
    with watch.stage("embed"):
        vectors = await embedder.embed_documents(list(missing.texts.values()))
    return replace(question, recomputed=dict(zip(missing.texts, vectors, strict=True)))
