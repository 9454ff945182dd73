"""`muniment worker`: the background work without the server."""

import asyncio
import signal

from app.assembly.services import Services
from app.assembly.workers import workers
from app.commands.running import err, with_services


def worker() -> None:
    """Embed, do jobs and chain evidence beside the servers, until a signal ends it; any number may run."""

    async def work(parts: Services) -> None:
        over = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, over.set)
        async with workers(parts, everything=True):
            err.print("Working. Ctrl-C ends it.")
            await over.wait()

    with_services(work)
