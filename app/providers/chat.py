"""A chat model behind an OpenAI-compatible endpoint: `POST {url}/chat/completions`."""

from app.domain.dlp.scanning import Redacted
from app.domain.locality import Locality
from app.providers.endpoint import Endpoint, EndpointError


class Chat:
    """One model. Every call stands alone: an instruction, a text that somebody else wrote, and one answer."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self._endpoint = endpoint
        self.model = model

    @property
    def locality(self) -> Locality:
        return self._endpoint.locality

    async def complete(self, instruction: str, text: Redacted, *, most_tokens: int, seconds: float) -> str:
        """What the model answers, or `EndpointError`; an answer that was cut off is none.

        The text goes as the user's message and never into the instruction, so that it can only ask and not command.
        """
        answer = await self._endpoint.post(
            "chat/completions",
            {
                "model": self.model,
                "messages": [{"role": "system", "content": instruction}, {"role": "user", "content": text}],
                "temperature": 0,
                "max_tokens": most_tokens,
                "stream": False,
            },
            seconds,
        )
        match answer:
            case {"choices": [{"finish_reason": "length"}, *_]}:
                raise EndpointError("bad_response")
            case {"choices": [{"message": {"content": str(content)}}, *_]}:
                return content
        raise EndpointError("bad_response")

    async def close(self) -> None:
        await self._endpoint.close()
