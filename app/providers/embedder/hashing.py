"""Feature hashing (Weinberger et al., 2009): deterministic vectors without a model, for tests and small machines."""

from collections import Counter
from collections.abc import Sequence
from math import log1p

import numpy as np

from app.domain.lexical import Analyser, lexeme_id
from app.domain.locality import Locality
from app.providers.embedder.base import Pool, Vector, Vectors, require_text


class HashingEmbedder:
    """The lexemes of a text, hashed with a sign into 128 dimensions."""

    model = "hash-128"
    dimensions = 128
    locality: Locality = "in_deployment"
    in_process = True
    languages: frozenset[str] | None = None

    def __init__(self) -> None:
        self._analyser = Analyser(stem=str)
        self._pool = Pool(self._embed_one, self.dimensions)

    def _embed_one(self, text: str) -> Vector:
        vector = np.zeros(self.dimensions, dtype=np.float64)
        # A text of signs only has no lexemes; its characters stand in, so that it too has a direction.
        for feature, count in Counter(self._analyser.lexemes(text) or text.split()).items():
            number = lexeme_id(feature)
            vector[number % self.dimensions] += log1p(count) * (1.0 if number >> 62 else -1.0)
        norm = float(np.linalg.norm(vector))
        if norm == 0.0:
            # Features that cancel each other out: the text as a whole decides.
            vector[lexeme_id(text) % self.dimensions] = norm = 1.0
        return np.asarray(vector / norm, dtype=np.float32)

    def reads(self, text: str) -> bool:
        return True

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = [self._embed_one(require_text(text)) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dimensions), dtype=np.float32)

    async def embed_query(self, text: str) -> Vector:
        return await self._pool.one(text)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return await self._pool.many(texts)

    def close(self) -> None:
        """Stops the threads."""
        self._pool.close()
