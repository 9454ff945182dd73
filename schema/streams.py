"""What holds for every subscription: a bounded number of them, and an end with the right to it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Final, TypeVar

from app.domain.errors import Code, MunimentError
from schema.context import Context

T = TypeVar("T")

#: Seconds after which it is looked at anew whether credential and permission still hold: before an event that comes
#: later than that, and when none comes.
BEFORE_EVENT: Final = 1.0
WHEN_IDLE: Final = 15.0


async def supervised(
    context: Context, events: AsyncGenerator[T, None], check: Callable[[], Awaitable[None]]
) -> AsyncGenerator[T, None]:
    """The events, until the credential or the permission is gone: then its error, instead of the next event.
    RATE_LIMITED when the caller, or the process, has as many subscriptions open as it may."""
    coming: asyncio.Future[T] | None = None
    checked = monotonic()
    with context.services.streams.opened(context.principal):
        async with aclosing(events):
            try:
                while True:
                    coming = coming or asyncio.ensure_future(_next(events))
                    await asyncio.wait({coming}, timeout=min(WHEN_IDLE, max(0.0, _left(context))))
                    require_valid(context)
                    if monotonic() - checked >= (BEFORE_EVENT if coming.done() else WHEN_IDLE):
                        try:
                            await check()
                        except MunimentError as error:
                            # The database restarts: who waits need not know, as long as nothing is told meanwhile.
                            if error.code is not Code.SEARCH_UNAVAILABLE or coming.done():
                                raise
                        checked = monotonic()
                    if not coming.done():
                        continue
                    try:
                        event = coming.result()
                    except StopAsyncIteration:
                        return
                    coming = None
                    yield event
            finally:
                if coming is not None:
                    coming.cancel()
                    await asyncio.gather(coming, return_exceptions=True)


async def _next(events: AsyncGenerator[Any, None]) -> Any:
    return await anext(events)


def require_valid(context: Context) -> None:
    """UNAUTHENTICATED once the credential has ended; whether it was revoked is looked at by `check`."""
    if _left(context) <= 0:
        raise MunimentError(Code.UNAUTHENTICATED, "the credential has expired")


def _left(context: Context) -> float:
    """Seconds until the credential ends."""
    return (context.expires_at - datetime.now(UTC)).total_seconds()
