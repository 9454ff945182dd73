"""An embedder behind an OpenAI-compatible endpoint: `POST {url}/embeddings`."""

import asyncio
import math
from collections.abc import Sequence

import numpy as np

from app.domain.dlp.scanning import Redacted
from app.domain.locality import Locality
from app.providers.embedder.base import Vector, Vectors, require_text
from app.providers.endpoint import Endpoint, EndpointError, finite

#: Texts and characters of one request. The texts of one document go together, and no body is large.
MOST_TEXTS, MOST_CHARACTERS = 64, 100_000
#: Characters of a text that are sent. A model counts in tokens of its own: of code or Chinese it may make one of each
#: character, so the limit of the commonest models (8,192) is kept away from; slices are far shorter.
LONGEST = 6_000
#: What a text is cut to when the endpoint refuses it, time after time, and what no model has refused.
SHORTER, SHORTEST = 0.5, 200
#: Attempts at what may succeed later, and seconds before the second one; the pause doubles.
ATTEMPTS, PAUSE = 5, 0.5
#: Bytes of an answer: numbers of up to 4,000 dimensions, written out.
MOST_BYTES = 16 * 1024 * 1024
#: Seconds that one request may take, for texts and for a question.
SECONDS, QUESTION_SECONDS = 60.0, 10.0


class EndpointEmbedder:
    """One model. Its vectors are scaled to unit length, and placed by their index; one of another length, of zeros or
    of what is no number is an answer that cannot be used (`EndpointError`)."""

    in_process = False
    languages: frozenset[str] | None = None

    def __init__(self, endpoint: Endpoint, model: str, dimensions: int) -> None:
        self._endpoint = endpoint
        self.model = model
        self.dimensions = dimensions

    @property
    def locality(self) -> Locality:
        return self._endpoint.locality

    def reads(self, text: str) -> bool:
        """What an unknown model reads is not known: it is taken at its word."""
        return True

    async def embed_query(self, text: Redacted) -> Vector:
        require_text(text)
        vector: Vector = (await self._placed([text[:LONGEST]], QUESTION_SECONDS))[0]
        return vector

    async def embed_documents(self, texts: Sequence[Redacted]) -> Vectors:
        """One request after the other. One that fails for some moment is made again, one that is refused is made
        again in halves, and a single text that is refused with less of it."""
        for text in texts:
            require_text(text)
        rows = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for batch in _batches(texts):
            rows[batch] = await self._embedded([texts[position][:LONGEST] for position in batch])
        return rows

    async def close(self) -> None:
        await self._endpoint.close()

    async def _embedded(self, texts: list[str]) -> Vectors:
        try:
            return await self._patient(texts)
        except EndpointError as error:
            if not error.refused:
                raise
            if len(texts) > 1:
                half = len(texts) // 2
                return np.concatenate([await self._embedded(texts[:half]), await self._embedded(texts[half:])])
            shorter = texts[0][: int(len(texts[0]) * SHORTER)]
            if len(shorter) < SHORTEST or shorter.isspace():
                raise
            return await self._embedded([shorter])

    async def _patient(self, texts: list[str]) -> Vectors:
        for attempt in range(ATTEMPTS):
            try:
                return await self._placed(texts, SECONDS)
            except EndpointError as error:
                if error.pause is None or attempt == ATTEMPTS - 1:
                    raise
                await asyncio.sleep(min(SECONDS, max(error.pause, PAUSE * 2**attempt)))
        raise AssertionError("the last attempt returns or raises")

    async def _placed(self, texts: Sequence[str], seconds: float) -> Vectors:
        body = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        return _placed(await self._endpoint.post("embeddings", body, seconds), len(texts), self.dimensions)


def _batches(texts: Sequence[str]) -> list[list[int]]:
    """Positions that go together."""
    batches: list[list[int]] = []
    held = 0
    for position, text in enumerate(texts):
        length = min(len(text), LONGEST)
        if not batches or len(batches[-1]) == MOST_TEXTS or held + length > MOST_CHARACTERS:
            batches.append([])
            held = 0
        batches[-1].append(position)
        held += length
    return batches


def _placed(answer: object, count: int, dimensions: int) -> Vectors:
    """Rows by index, from `{"data": [{"index", "embedding"}]}`: an answer that leaves one out, or names one twice, may
    have mixed up all of them."""
    match answer:
        case {"data": list(data)} if len(data) == count:
            pass
        case _:
            raise EndpointError("bad_response")
    rows = np.empty((count, dimensions), dtype=np.float32)
    placed: set[int] = set()
    for item in data:
        match item:
            case {"index": int(index), "embedding": list(numbers)} if len(numbers) == dimensions:
                pass
            case _:
                raise EndpointError("bad_response")
        if isinstance(index, bool) or not 0 <= index < count or index in placed:
            raise EndpointError("bad_response")
        placed.add(index)
        vector = np.array([finite(number) for number in numbers], dtype=np.float64)
        # Divided first, so that no square overflows.
        scale = float(np.abs(vector).max())
        if scale == 0.0:
            raise EndpointError("bad_response")
        rows[index] = vector / scale / math.sqrt(float(np.square(vector / scale).sum()))
    return rows
