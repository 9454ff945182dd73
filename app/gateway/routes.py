"""Where the gateway is reached."""

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from app.gateway.endpoint import Gateway, serve_off

#: Everything below it is the gateway's, its refusals included.
PREFIX = "/v1/"


class _Endpoint:
    """An ASGI application, so that requests and answers pass without being read as a whole."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gateway: Gateway | None = scope["app"].state.services.gateway
        await (serve_off if gateway is None else gateway.serve)(scope, receive, send)


def gateway_routes() -> list[BaseRoute]:
    return [Route(f"{PREFIX}{{path:path}}", _Endpoint())]
