"""The bound on bodies and the headers of answers, without a network."""

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.server.middleware import HEADERS, BodyLimit, SecurityHeaders


async def _length(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def _framed(_request: Request) -> Response:
    return PlainTextResponse("mine", headers={"X-Frame-Options": "SAMEORIGIN"})


async def _ignores_its_body(_request: Request) -> Response:
    return PlainTextResponse("done")


APPLICATION = Starlette(
    routes=[
        Route("/length", _length, methods=["POST"]),
        Route("/framed", _framed),
        Route("/ignores", _ignores_its_body, methods=["POST"]),
    ],
    middleware=[Middleware(SecurityHeaders), Middleware(BodyLimit, limit=10)],
)


def client() -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(APPLICATION), base_url="http://test")


async def _pieces(*pieces: bytes):
    for piece in pieces:
        yield piece


@pytest.mark.parametrize("pieces", [[b""], [b"x" * 10], [b"x" * 4, b"x" * 6], [b"x"] * 10])
async def test_a_body_within_the_limit(pieces: list[bytes]) -> None:
    async with client() as http:
        whole = await http.post("/length", content=b"".join(pieces))
        streamed = await http.post("/length", content=_pieces(*pieces))
    assert whole.text == streamed.text == str(sum(map(len, pieces)))


@pytest.mark.parametrize("pieces", [[b"x" * 11], [b"x" * 10, b"x"], [b"x"] * 11])
async def test_a_body_beyond_the_limit(pieces: list[bytes]) -> None:
    async with client() as http:
        whole = await http.post("/length", content=b"".join(pieces))
        streamed = await http.post("/length", content=_pieces(*pieces))
    for answer in (whole, streamed):
        assert answer.status_code == 413
        assert answer.json()["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"
        assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("declared", ["-1", "abc", "", "²", "1e9"])
async def test_a_length_that_is_no_number_binds_nothing(declared: str) -> None:
    """The server in front refuses it; here only what comes is counted."""
    headers = {"Content-Length": declared.encode("latin-1")}
    async with client() as http:
        answer = await http.post("/length", content=_pieces(b"x" * 11), headers=headers)
    assert answer.status_code == 413


async def test_a_body_that_nobody_reads_costs_nothing() -> None:
    async with client() as http:
        answer = await http.post("/ignores", content=_pieces(b"x" * 100))
    assert answer.text == "done"


async def test_what_bounds_its_own_bodies_is_left_to_it() -> None:
    limited = BodyLimit(APPLICATION, limit=5, except_below="/length")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(limited), base_url="http://test") as http:
        assert (await http.post("/length", content=b"x" * 10)).text == "10"
        assert (await http.post("/ignores", content=b"x" * 6)).status_code == 413


async def test_an_answer_keeps_its_own_headers() -> None:
    async with client() as http:
        answer = await http.get("/framed")
        missing = await http.get("/nope")
    assert answer.headers.get_list("x-frame-options") == ["SAMEORIGIN"]
    for name, value in HEADERS.items():
        assert missing.headers.get_list(name) == [value]
