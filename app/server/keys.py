"""`/.well-known/muniment-keys.json`: the public halves of the signing keys, for anyone."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

PATH = "/.well-known/muniment-keys.json"


async def _keys(request: Request) -> Response:
    # Others may fetch it from a page of theirs: there is nothing in it that is not public.
    return JSONResponse(
        request.app.state.services.signing.jwks(),
        media_type="application/jwk-set+json",
        headers={"Cache-Control": "public, max-age=60", "Access-Control-Allow-Origin": "*"},
    )


def key_routes() -> list[BaseRoute]:
    return [Route(PATH, _keys)]
