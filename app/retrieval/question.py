"""The question as search needs it: redacted first, then embedded, with no connection held."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.domain.dlp.scanning import Redacted, Scanner
from app.domain.locality import Locality
from app.providers.embedder.base import Embedder
from app.providers.endpoint import EndpointError
from app.providers.stemmer import SIMPLE
from app.retrieval.deadline import Deadline, Stage
from app.retrieval.remembered import Remembered
from app.retrieval.timing import Stopwatch

STAGE: Stage = "embed"

#: Texts without an embedding that are embedded for one request; the rest are similar to nothing.
MOST_RECOMPUTED = 64

#: Vectors of questions that are remembered, and the bytes that they and their questions may take.
MOST_VECTORS, MOST_VECTOR_BYTES = 4096, 32 << 20


@dataclass(frozen=True, slots=True)
class Question:
    """`text` is what may be searched with; `vector` is None where nothing embeds.

    `original` is the user's own wording where `text` is another one. `reranked` holds what a reranker said of chunks,
    by id: nothing when it failed, None while it was not asked; `rerank_model` is who said it. `recomputed` holds
    vectors of what turned out to have none: of chunks by id, of memories by SHA-256 of their text. `readable` tells
    whether the model knows the script of the text, `languages` those that the model was made for (None: any).
    """

    text: Redacted
    vector: NDArray[np.float32] | None
    model: str | None
    recomputed: Mapping[bytes, NDArray[np.float32]] = field(default_factory=dict)
    original: Redacted | None = None
    reranked: Mapping[UUID, float] | None = None
    rerank_model: str | None = None
    readable: bool = True
    languages: frozenset[str] | None = None
    endpoint: Locality | None = None
    unanswered: bool = False

    def compared_with(self, languages: Collection[str]) -> "Question":
        """The question where its words were found in texts of these languages (Snowball names). Without its vector
        where that says nothing of what is asked: in a script that the model cannot read, or in words that stand only
        in texts of other languages than the model's. Words alone find more there than words and noise."""
        ours = (
            self.languages is None or not languages or SIMPLE in languages or not self.languages.isdisjoint(languages)
        )
        return self if self.readable and ours else replace(self, vector=None, model=None)

    @property
    def asked(self) -> Redacted:
        """The user's own wording."""
        return self.text if self.original is None else self.original

    @property
    def rewritten(self) -> Redacted | None:
        """The wording that took its place; None when none did."""
        return None if self.original is None else self.text

    def require(self, bare: Sequence[bytes]) -> list[bytes]:
        """Of what has no vector, newest first: what may still be embedded for this request (`MOST_RECOMPUTED`)."""
        room = 0 if self.unanswered else MOST_RECOMPUTED - len(self.recomputed)
        return [key for key in bare if key not in self.recomputed][: max(0, room)]

    def similarity(self, key: bytes) -> float | None:
        """Cosine to a recomputed vector; None when it was not recomputed."""
        return float(self.vector @ self.recomputed[key]) if self.vector is not None and key in self.recomputed else None


def wording(query: str | None, scanner: Scanner) -> Redacted | None:
    """What may be searched with, and sent to an endpoint, and kept: the question without what detectors find in it,
    whatever the policy says of texts. None when there is nothing to ask."""
    return None if query is None or not query.strip() else scanner.redacted(query)


class Vectors:
    """The vectors of questions asked lately, an organisation's own."""

    def __init__(self, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._held: Remembered[NDArray[np.float32]] = Remembered(seconds, MOST_VECTORS, MOST_VECTOR_BYTES, clock)

    async def of(
        self, organisation: UUID | None, query: Redacted, embedder: Embedder, watch: Stopwatch
    ) -> NDArray[np.float32]:
        key = (organisation, embedder.model, query)
        vector = self._held.get(key)
        if vector is None:
            with watch.stage(STAGE):
                vector = await embedder.embed_query(query)
            self._held.put(key, vector, vector.nbytes + 4 * len(query) + 500)
        return vector


_FORGETFUL = Vectors(0)


async def ask(
    query: Redacted | None,
    embedder: Embedder | None,
    watch: Stopwatch,
    original: Redacted | None = None,
    *,
    organisation: UUID | None = None,
    vectors: Vectors = _FORGETFUL,
    deadline: Deadline | None = None,
) -> Question | None:
    """None when there is nothing to ask: no passage is then searched for. `original` is the user's wording, when
    `query` may be another. An endpoint that gives no vector leaves the words to search with, and `deadline` is told."""
    if query is None or not query.strip():
        return None
    original = None if original == query else original
    if embedder is None:
        return Question(query, None, None, original=original)
    asked = Question(
        query,
        None,
        None,
        original=original,
        readable=embedder.reads(query),
        languages=embedder.languages,
        endpoint=None if embedder.in_process else embedder.locality,
    )
    try:
        vector = await vectors.of(organisation, query, embedder, watch)
    except EndpointError as error:
        if deadline is not None:
            deadline.failed(STAGE, error.reason)
        return replace(asked, unanswered=True)
    return replace(asked, vector=vector, model=embedder.model)


class Unembedded(Exception):
    """Search met texts without an embedding of the model: they are embedded with no connection held, then it is asked
    again. `texts` by the key under which their vectors are looked for."""

    def __init__(self, texts: Mapping[bytes, Redacted]) -> None:
        super().__init__()
        self.texts = texts


async def recompute(question: Question, missing: Unembedded, embedder: Embedder, watch: Stopwatch) -> Question:
    """The same question with the vectors that were missing. They are not kept: a backfill is for that."""
    try:
        with watch.stage(STAGE):
            vectors = await embedder.embed_documents(list(missing.texts.values()))
    except EndpointError:
        return replace(question, unanswered=True)
    return replace(question, recomputed={**question.recomputed, **dict(zip(missing.texts, vectors, strict=True))})
