"""Preparing has threads of its own, and ends when nobody waits for it."""

import asyncio
import subprocess
import sys
import threading

import pytest

from app.ingestion import preparing
from app.ingestion.preparing import go_on, in_thread


async def test_what_it_gives_and_what_it_raises():
    assert await in_thread(lambda a, b: a + b, 1, b=2) == 3
    with pytest.raises(KeyError):
        await in_thread({}.__getitem__, "x")


async def test_other_work_goes_on_while_every_thread_prepares():
    release, busy = threading.Event(), threading.Semaphore(0)

    def held():
        busy.release()
        release.wait()

    tasks = [asyncio.ensure_future(in_thread(held)) for _ in range(4 * preparing.THREADS)]
    try:
        for _ in range(preparing.THREADS):
            await asyncio.to_thread(busy.acquire)
        # All of them are taken; the default pool is not.
        assert await asyncio.to_thread(lambda: "written") == "written"
    finally:
        release.set()
    await asyncio.gather(*tasks)


async def test_cancelled_it_stops_after_the_current_document():
    begun, release, ended, done = threading.Event(), threading.Event(), threading.Event(), []

    def work():
        try:
            for number in range(1000):
                go_on()
                done.append(number)
                begun.set()
                release.wait()
        finally:
            ended.set()

    task = asyncio.ensure_future(in_thread(work))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    await asyncio.to_thread(ended.wait)
    assert done == [0]
    go_on()


def test_the_end_of_the_process_does_not_wait_for_it():
    program = (
        "import asyncio, threading\n"
        "from app.ingestion.preparing import in_thread\n"
        "async def main():\n"
        "    task = asyncio.ensure_future(in_thread(threading.Event().wait))\n"
        "    await asyncio.sleep(0.1)\n"
        "    task.cancel()\n"
        "asyncio.run(main())\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0
