"""W1. The model gateway: `/v1/…` as OpenAI speaks it, passed through to one provider and back, byte for byte."""

import asyncio
from collections.abc import Awaitable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Final

import structlog
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from app.domain.errors import Code, MunimentError, bad_input
from app.domain.gateway_headers import said, to_caller, to_provider
from app.domain.principal import Principal
from app.gateway.calls import Call, CallLog, CallOutcome
from app.gateway.incoming import HungUp, Incoming, TooLarge
from app.gateway.link import Linker
from app.gateway.outgoing import Outgoing
from app.identity.credentials import Credentials
from app.identity.rates import RateLimiter
from app.identity.strangers import Strangers
from app.identity.tokens import bearer
from app.providers.ids import new_id
from app.providers.upstream import Upstream, UpstreamAnswer, UpstreamError

log = structlog.get_logger()

#: What is passed through, and how it is asked for.
METHODS: Final = {"chat/completions": "POST", "embeddings": "POST", "models": "GET"}

_FAILURES: Final = {
    "timeout": (504, "upstream_timeout", "the model provider did not answer in time", CallOutcome.TIMED_OUT),
    "unreachable": (502, "upstream_unreachable", "the model provider cannot be reached", CallOutcome.FAILED),
    "cut": (502, "upstream_unreachable", "the model provider broke off", CallOutcome.FAILED),
    "redirect": (502, "upstream_redirect", "the model provider sent the call elsewhere", CallOutcome.FAILED),
    "bad_answer": (502, "upstream_bad_answer", "the model provider answered nonsense", CallOutcome.FAILED),
    "bad_request": (400, "invalid_request", "the request cannot be passed on", CallOutcome.REFUSED),
}


@dataclass(frozen=True, slots=True)
class Gateway:
    """The parts of the gateway. `most_bytes` bounds the body of a call, `idle_seconds` each wait for the caller."""

    upstream: Upstream
    credentials: Credentials
    linker: Linker
    calls: CallLog
    rates: RateLimiter
    strangers: Strangers
    most_bytes: int
    idle_seconds: float

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One HTTP request below `/v1/`."""
        endpoint = scope["path_params"]["path"]
        headers = Headers(scope=scope)
        keystone = any(name.startswith("x-keystone-") for name in headers)
        out = Outgoing(send, self.idle_seconds, new_id(), keystone)
        method = METHODS.get(endpoint)
        try:
            if method is None:
                await out.refuse(
                    404, "unknown_url", f"this gateway serves {', '.join(f'/v1/{name}' for name in METHODS)}"
                )
            elif scope["method"] != method:
                await out.refuse(405, "method_not_allowed", f"only {method}", (b"allow", method.encode()))
            else:
                await self._admit(endpoint, headers, scope, receive, out)
        except HungUp:
            return
        except Exception:
            log.error("gateway.failed", call=str(out.call), exc_info=True)
            if not out.started:
                await out.refuse(500, "INTERNAL", "an internal error")

    async def _admit(self, endpoint: str, headers: Headers, scope: Scope, receive: Receive, out: Outgoing) -> None:
        """Refuses before anything is sent."""
        try:
            principal = await self._principal(headers, scope)
            await self.rates.admit(principal, {endpoint: 1})
            named = said(scope["headers"]).context_request_id
            if not scope["query_string"].isascii():
                raise bad_input("a query string is ASCII")
        except MunimentError as error:
            await out.refuse_for(error)
            return
        declared = headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared[:20]) > self.most_bytes:
            await self._refuse_size(out)
            return
        call = Call(principal, endpoint, named, id=out.call)
        await self._pass_through(call, scope, Incoming(receive, self.most_bytes, self.idle_seconds, call.model), out)

    async def _principal(self, headers: Headers, scope: Scope) -> Principal:
        """UNAUTHENTICATED, or RATE_LIMITED when the address sent too many such calls."""
        try:
            return await self.credentials.principal_in_outage(bearer(headers), headers)
        except MunimentError as error:
            if error.code is Code.UNAUTHENTICATED:
                self.strangers.note((scope.get("client") or [None])[0])
            raise

    async def _pass_through(self, call: Call, scope: Scope, incoming: Incoming, out: Outgoing) -> None:
        """Until the answer is through or the caller hangs up, whichever comes first."""
        relay = asyncio.create_task(self._relay(call, scope, incoming, out))
        gone = asyncio.create_task(incoming.gone())
        try:
            await asyncio.wait({relay, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not relay.done():
                await _cancelled(relay)
                await self.calls.note(call, CallOutcome.HUNG_UP)
                return
            await relay
        except Exception:
            await self.calls.note(call, CallOutcome.FAILED)
            raise
        finally:
            unfinished = not relay.done()
            await _cancelled(relay, gone)
            if unfinished:
                await self.calls.note(call, CallOutcome.INTERRUPTED)

    async def _relay(self, call: Call, scope: Scope, incoming: Incoming, out: Outgoing) -> None:
        """Raises nothing of the provider's or the caller's doing. An answer that broke off is left unfinished, so that
        the server in front cuts the connection instead of ending it as if all were there."""
        headers = to_provider(scope["headers"])
        body = None
        if scope["method"] == "POST":
            body = incoming.pieces()
        else:
            headers = [(name, value) for name, value in headers if name != b"content-length"]
            incoming.over()
        try:
            async with self.upstream.call(
                scope["method"], call.endpoint, scope["query_string"], headers, body
            ) as answer:
                incoming.over()
                await self._answer(call, answer, out)
        except UpstreamError as error:
            if out.started:
                await self.calls.note(call, CallOutcome.CUT)
                return
            status, code, message, outcome = _FAILURES[error.reason]
            await self._note_and(call, outcome, out.refuse(status, code, message))
        except TooLarge:
            if not out.started:
                await self._note_and(call, CallOutcome.REFUSED, self._refuse_size(out))
        except HungUp:
            await self.calls.note(call, CallOutcome.HUNG_UP)

    async def _answer(self, call: Call, answer: UpstreamAnswer, out: Outgoing) -> None:
        headers = to_caller(answer.headers, answer.status)
        call.status = answer.status
        call.streamed = _value(headers, b"content-type").startswith(b"text/event-stream")
        if call.named is not None:
            await self._link(call, call.named)
        await out.start(answer.status, headers, None if call.link is None else call.link.outcome)
        length = _value(headers, b"content-length")
        left = int(length) if length.isdigit() else None
        async with aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                if left is not None:
                    left -= len(piece)
                    if left == 0:
                        # Whoever has the last byte may ask for the call at once.
                        await self.calls.note(call, CallOutcome.COMPLETED)
                await out.piece(piece)
        await self.calls.note(call, CallOutcome.COMPLETED)
        await out.end()

    async def _link(self, call: Call, named: str) -> None:
        """Whole, also when the caller hangs up meanwhile: what is noted of the call says what became of the link."""
        linking = asyncio.create_task(self.linker.link(call.principal, named, call.id))
        try:
            call.link = await asyncio.shield(linking)
        except asyncio.CancelledError:
            call.link = await linking
            raise

    async def _note_and(self, call: Call, outcome: CallOutcome, refusal: Awaitable[None]) -> None:
        await self.calls.note(call, outcome)
        with suppress(HungUp):
            await refusal

    async def _refuse_size(self, out: Outgoing) -> None:
        # What is still to come of the body is not read: the connection cannot be used again.
        message = f"a call holds at most {self.most_bytes} bytes"
        await out.refuse(413, "request_too_large", message, (b"connection", b"close"))

    async def close(self) -> None:
        """What has ended is noted, and the connections to the provider are closed."""
        await self.linker.close()
        await self.calls.close()
        await self.upstream.close()


async def _cancelled(*tasks: "asyncio.Task[None]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _value(headers: list[tuple[bytes, bytes]], name: bytes) -> bytes:
    return next((value.strip().lower() for given, value in headers if given == name), b"")


async def serve_off(scope: Scope, _receive: Receive, send: Send) -> None:
    """Where no provider is set."""
    message = "there is no model gateway here: MUNIMENT_GATEWAY_UPSTREAM_URL is not set"
    with suppress(HungUp):
        await Outgoing(send, 60.0, new_id(), False).refuse(404, "gateway_off", message)
