"""GraphQL over HTTP (https://graphql.github.io/graphql-over-http/draft/): what is let in, and how it is answered."""

import asyncio
import json
import re
from contextlib import suppress
from datetime import timedelta
from math import ceil
from typing import Any, Final

from cross_web import AsyncHTTPRequestAdapter, HTTPException, StarletteRequestAdapter
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.http import GraphQLHTTPResponse, GraphQLRequestData
from strawberry.http.base import BaseRequestProtocol
from strawberry.http.parse_content_type import parse_content_type
from strawberry.schema.exceptions import InvalidOperationTypeError
from strawberry.subscriptions import GRAPHQL_SSE_PROTOCOL, GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.types import ExecutionResult, SubscriptionExecutionResult
from strawberry.types.unset import UnsetType

from app.assembly.services import Services
from app.domain.errors import Code, MunimentError, bad_input
from app.providers.ids import new_id
from app.server.failure import refusal
from schema.build import graphql_schema
from schema.context import Context
from schema.sockets import INIT_SECONDS, MOST_UNREAD_SECONDS, SocketHandler, admit

JSON: Final = "application/json"
#: Its answers carry HTTP status codes; those of plain JSON are 200 whenever the request itself was well formed.
RESPONSE_JSON: Final = "application/graphql-response+json"

_WEIGHT = re.compile(r"[01](?:\.[0-9]{0,3})?")


class _Request(StarletteRequestAdapter):
    @property
    def services(self) -> Services:
        parts: Services = self._request.app.state.services
        return parts

    @property
    def content_type(self) -> str | None:
        """In small letters: the names of media types have no case."""
        return (super().content_type or "").lower()


class GraphQLEndpoint(GraphQL[Context, None]):
    """`POST /graphql`, and GET for queries. The page that explores it is the playground at `/`."""

    request_adapter_class = _Request
    graphql_transport_ws_handler_class = SocketHandler

    def __init__(self) -> None:
        super().__init__(
            graphql_schema,
            graphql_ide=None,
            multipart_uploads_enabled=False,
            subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL, GRAPHQL_SSE_PROTOCOL),
            connection_init_wait_timeout=timedelta(seconds=INIT_SECONDS),
            max_subscriptions_per_connection=None,
        )

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Context:
        parts: Services = request.app.state.services
        return Context(services=parts, connection=request)

    async def on_ws_connect(self, context: Context) -> UnsetType | dict[str, object] | None:
        await admit(context)
        return await super().on_ws_connect(context)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What is refused before it runs is answered in the shape of every other failure."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            response = await self.run(request)
        except MunimentError as error:
            response = _refused(error, _media_type(request))
        except HTTPException as refused:
            status, headers = refused.status_code, None
            if status == 405 or isinstance(refused.__cause__, InvalidOperationTypeError):
                status, headers = 405, {"Allow": "POST" if request.method == "GET" else "GET, POST"}
            response = refusal(bad_input(refused.reason), new_id(), status, headers, _media_type(request))
        except ClientDisconnect:
            # Nobody is there to be answered.
            return
        with suppress(ClientDisconnect):
            await response(scope, receive, _paced(send))

    async def execute_operation(
        self,
        request: Request,
        request_adapter: AsyncHTTPRequestAdapter,
        request_data: GraphQLRequestData | list[GraphQLRequestData],
        context: Context,
        root_value: None,
        sub_response: Response,
    ) -> ExecutionResult | list[ExecutionResult] | SubscriptionExecutionResult:
        await context.note_stranger()
        return await super().execute_operation(
            request, request_adapter, request_data, context, root_value, sub_response
        )

    async def get_sub_response(self, request: Request | WebSocket) -> Response:
        sub_response = await super().get_sub_response(request)
        sub_response.media_type = _media_type(request)
        return sub_response

    def should_render_graphql_ide(self, request: BaseRequestProtocol) -> bool:
        return False

    async def parse_http_body(self, request: AsyncHTTPRequestAdapter) -> GraphQLRequestData:
        """Only JSON is let in by POST: what a form on another site can send is not. One operation a request: a list of
        them is refused."""
        if request.method == "GET":
            data: Any = self.parse_query_params(request.query_params)
        elif parse_content_type(request.content_type or "")[0] == JSON:
            data = self.parse_json(await request.get_body())
        else:
            raise HTTPException(415, "the body must be application/json")
        if isinstance(data, list):
            raise HTTPException(400, "a request holds one operation: batching is off")
        for name in ("variables", "extensions"):
            if not isinstance(data.get(name), dict | None):
                raise HTTPException(400, f"`{name}` must be an object or null, if provided")
        if not isinstance(data.get("operationName"), str | None):
            raise HTTPException(400, "`operationName` must be a text or null, if provided")
        assert isinstance(request, _Request)
        transport = self._get_stream_transport_from_headers(request.headers)
        return GraphQLRequestData(
            query=request.services.operations.document(data),
            variables=data.get("variables"),
            operation_name=data.get("operationName"),
            extensions=data.get("extensions"),
            protocol=transport.protocol if transport else "http",
        )

    def parse_json(self, data: str | bytes) -> Any:
        try:
            value = self.decode_json(data)
        except ValueError:
            raise HTTPException(400, "the request is not JSON in UTF-8") from None
        if not isinstance(value, dict | list):
            raise HTTPException(400, "the request must be a JSON object")
        return value

    def decode_json(self, data: str | bytes) -> object:
        """What comes over HTTP or a socket; `JSONDecodeError` when it is not JSON in UTF-8, or nests without end."""
        try:
            text = data.decode() if isinstance(data, bytes) else data
            value: object = json.loads(text, parse_constant=_no_constant)
            if "\\u" in text:
                # A lone surrogate can be escaped in JSON, yet it is no character: nothing behind here could keep it.
                json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            raise json.JSONDecodeError("not JSON in UTF-8", "", 0) from None
        return value

    async def process_result(self, request: Request, result: ExecutionResult) -> GraphQLHTTPResponse:
        """`data` is left out where nothing was executed, as the specification of GraphQL asks."""
        answer = await super().process_result(request, result)
        if result.data is None and all(error.path is None for error in result.errors or ()):
            del answer["data"]
        return answer

    def create_response(
        self, response_data: GraphQLHTTPResponse | list[GraphQLHTTPResponse], sub_response: Response
    ) -> Response:
        refused = "data" not in response_data
        headers = _retry_after(response_data) if refused else {}
        status = 429 if headers else 400 if refused and sub_response.media_type == RESPONSE_JSON else 200
        return Response(self.encode_json(response_data), status, headers, sub_response.media_type or JSON)


def _media_type(request: Request | WebSocket) -> str:
    """The one that the client prefers; plain JSON for those who do not ask."""
    weights: dict[str, float] = {}
    for item in request.headers.get("accept", "").lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        weights[name] = float(weight) if _WEIGHT.fullmatch(weight) else 0.0
    wanted = weights.get(RESPONSE_JSON, 0.0)
    return RESPONSE_JSON if wanted and wanted >= weights.get(JSON, 0.0) else JSON


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _refused(error: MunimentError, media_type: str) -> Response:
    """What is refused before its document is read."""
    if error.retry_after_ms is not None:
        status = 429 if error.code is Code.RATE_LIMITED else 503
        return refusal(error, new_id(), status, {"Retry-After": _seconds(error.retry_after_ms)}, media_type)
    # Clients of persisted operations send the text when they are told so, and read that of a 200.
    asked_again = error.code is Code.PERSISTED_QUERY_NOT_FOUND and media_type == JSON
    return refusal(error, new_id(), 200 if asked_again else 400, media_type=media_type)


def _retry_after(answer: Any) -> dict[str, str]:
    """The header, when all of a request is refused for coming too soon."""
    said = [error.get("extensions", {}) for error in answer.get("errors", ())]
    waits = [item["retryAfterMs"] for item in said if item.get("code") == Code.RATE_LIMITED and "retryAfterMs" in item]
    return {"Retry-After": _seconds(max(waits))} if waits else {}


def _seconds(milliseconds: int) -> str:
    return str(max(1, ceil(milliseconds / 1000)))


def _paced(send: Send) -> Send:
    """Gives up on who reads nothing for too long: the answer is cut, and what made it is free."""

    async def paced(message: Message) -> None:
        try:
            async with asyncio.timeout(MOST_UNREAD_SECONDS):
                await send(message)
        except TimeoutError:
            raise ClientDisconnect from None

    return paced
