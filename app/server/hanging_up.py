"""A client that hangs up ends what was being done for it: statements are cancelled, connections given back."""

import asyncio
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HangUp:
    """Cancels the application when the client of an HTTP request is gone before its answer is whole."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        read, gone, over = asyncio.Event(), asyncio.Event(), False

        async def received() -> Message:
            """The body; after it nothing comes but the end of the connection, which the watch hears of."""
            if read.is_set():
                await gone.wait()
                return {"type": "http.disconnect"}
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
                read.set()
            elif not message.get("more_body", False):
                read.set()
            return message

        async def sent(message: Message) -> None:
            nonlocal over
            over = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        async def watch() -> None:
            await read.wait()
            while not gone.is_set():
                if (await receive())["type"] == "http.disconnect":
                    gone.set()

        serving = asyncio.ensure_future(self._app(scope, received, sent))
        watching = asyncio.ensure_future(watch())
        try:
            await asyncio.wait({serving, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not serving.done() and not over:
                serving.cancel()
                with suppress(asyncio.CancelledError):
                    await serving
            else:
                await serving
        finally:
            watching.cancel()
            if not serving.done():
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)
