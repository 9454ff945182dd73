"""A reranker behind an endpoint as Cohere, Jina, vLLM and others offer it: `POST {url}/rerank`."""

from collections.abc import Sequence
from typing import Any

from app.domain.dlp.scanning import Redacted
from app.domain.locality import Locality
from app.providers.endpoint import Endpoint, EndpointError, finite


class Reranker:
    """One model that compares a question with texts. `model` None where the endpoint serves just one."""

    def __init__(self, endpoint: Endpoint, model: str | None) -> None:
        self._endpoint = endpoint
        self.model = model

    @property
    def locality(self) -> Locality:
        return self._endpoint.locality

    async def scores(self, query: Redacted, documents: Sequence[Redacted], seconds: float) -> list[float]:
        """One score a document, in their order, on the model's own scale; greater is better. Or `EndpointError`: an
        answer that leaves one out, or names one twice, may have mixed up all of them."""
        body: dict[str, Any] = {"query": query, "documents": list(documents), "top_n": len(documents)}
        if self.model is not None:
            body = {"model": self.model, **body}
        return _placed(await self._endpoint.post("rerank", body, seconds), len(documents))

    async def close(self) -> None:
        await self._endpoint.close()


def _placed(answer: object, count: int) -> list[float]:
    """Scores by index, from `{"results": [{"index", "relevance_score"}]}` or a bare list of `{"index", "score"}`."""
    match answer:
        case {"results": list(results)} | list(results):
            pass
        case _:
            raise EndpointError("bad_response")
    placed: dict[int, float] = {}
    for result in results:
        match result:
            case {"index": int(index), "relevance_score": score} | {"index": int(index), "score": score}:
                pass
            case _:
                raise EndpointError("bad_response")
        if isinstance(index, bool) or not 0 <= index < count or index in placed:
            raise EndpointError("bad_response")
        placed[index] = finite(score)
    if len(placed) != count:
        raise EndpointError("bad_response")
    return [placed[index] for index in range(count)]
