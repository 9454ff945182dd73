"""The question as search needs it: redacted first, then embedded, with no connection held."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from app.providers.embedder.base import Embedder
from app.retrieval.timing import Stopwatch

#: Texts without an embedding that are embedded for one request; the rest are similar to nothing.
MOST_RECOMPUTED = 64


@dataclass(frozen=True, slots=True)
class Question:
    """`text` is what may be searched with; `vector` is None where nothing embeds.

    `recomputed` holds vectors of what turned out to have none: of chunks by id, of memories by SHA-256 of their text.
    """

    text: str
    vector: NDArray[np.float32] | None
    model: str | None
    recomputed: Mapping[bytes, NDArray[np.float32]] = field(default_factory=dict)

    def require(self, bare: Sequence[bytes]) -> list[bytes]:
        """Of what has no vector, newest first: what may still be embedded for this request (`MOST_RECOMPUTED`)."""
        room = MOST_RECOMPUTED - len(self.recomputed)
        return [key for key in bare if key not in self.recomputed][: max(0, room)]

    def similarity(self, key: bytes) -> float | None:
        """Cosine to a recomputed vector; None when it was not recomputed."""
        return float(self.vector @ self.recomputed[key]) if self.vector is not None and key in self.recomputed else None


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
    """Search met texts without an embedding of the model: they are embedded with no connection held, then it is asked
    again. `texts` by the key under which their vectors are looked for."""

    def __init__(self, texts: Mapping[bytes, str]) -> None:
        super().__init__()
        self.texts = texts


async def recompute(question: Question, missing: Unembedded, embedder: Embedder, watch: Stopwatch) -> Question:
    """The same question with the vectors that were missing. They are not kept: a backfill is for that."""
    with watch.stage("embed"):
        vectors = await embedder.embed_documents(list(missing.texts.values()))
    return replace(question, recomputed={**question.recomputed, **dict(zip(missing.texts, vectors, strict=True))})
