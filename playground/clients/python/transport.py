"""How the generated client reaches the API: JSON over HTTP, subscriptions as server-sent events. The generator copies
this file into `muniment_client`."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Self

import httpx
from httpx_sse import aconnect_sse
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic_core import to_jsonable_python

from .base_model import UnsetType

ACCEPTED = "application/graphql-response+json, application/json"


class Refusal(BaseModel):
    """What every error of the API says of itself; `code` is one of the schema's `ErrorCode`."""

    model_config = ConfigDict(frozen=True)

    code: str
    field: str | None
    request_id: str = Field(alias="requestId")
    retryable: bool
    retry_after_ms: int | None = Field(alias="retryAfterMs", default=None)


class ApiError(Exception):
    """The API refused; `refusal` is None when what answered was not the API."""

    def __init__(self, message: str, refusal: Refusal | None = None) -> None:
        super().__init__(message)
        self.refusal = refusal


class _Error(BaseModel):
    message: str
    extensions: Refusal | None = None


class _Answer(BaseModel):
    data: dict[str, JsonValue] | None = None
    errors: list[_Error] = []


def data_of(body: str) -> dict[str, JsonValue]:
    try:
        answer = _Answer.model_validate_json(body)
    except ValidationError:
        raise ApiError("the answer is not GraphQL") from None
    for error in answer.errors:
        raise ApiError(error.message, error.extensions)
    if answer.data is None:
        raise ApiError("the answer holds no data")
    return answer.data


def as_json(value: object) -> object:
    """An input as JSON, without what was not given: it means something else than null."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return to_jsonable_python(value)


class Transport:
    """One server and one credential: a token, or the key of a program."""

    def __init__(self, server: str, credential: str, timeout: float = 60.0) -> None:
        self._url = f"{server.rstrip('/')}/graphql"
        self._http = httpx.AsyncClient(headers={"Authorization": f"Bearer {credential}"}, timeout=timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def execute(self, query: str, operation_name: str, variables: dict[str, object]) -> httpx.Response:
        try:
            return await self._http.post(
                self._url, json=_request(query, operation_name, variables), headers={"Accept": ACCEPTED}
            )
        except httpx.HTTPError as error:
            raise ApiError(f"the server does not answer ({type(error).__name__})") from error

    def get_data(self, response: httpx.Response) -> dict[str, JsonValue]:
        return data_of(response.text)

    async def execute_ws(
        self, query: str, operation_name: str, variables: dict[str, object]
    ) -> AsyncGenerator[dict[str, JsonValue], None]:
        """The events of a subscription. The generator calls it so, whatever carries them."""
        request = _request(query, operation_name, variables)
        patience = httpx.Timeout(60.0, read=None)
        try:
            async with aconnect_sse(self._http, "POST", self._url, json=request, timeout=patience) as source:
                if "text/event-stream" not in source.response.headers.get("Content-Type", ""):
                    data_of((await source.response.aread()).decode())
                async with aclosing(source.aiter_sse()) as events:
                    async for event in events:
                        if event.event == "complete":
                            return
                        if event.event == "next":
                            yield data_of(event.data)
        except httpx.HTTPError as error:
            raise ApiError(f"the server does not answer ({type(error).__name__})") from error


def _request(query: str, operation_name: str, variables: dict[str, object]) -> dict[str, object]:
    given = {name: as_json(value) for name, value in variables.items() if not isinstance(value, UnsetType)}
    return {"query": query, "operationName": operation_name, "variables": given}
