"""What is logged, by us and by libraries, says where and what kind, never with what."""

import json
import subprocess
import sys

from tests.fixtures.server import ROOT

PROGRAM = """
import asyncio, gc, logging, threading
import structlog
from app.domain.errors import Code, MunimentError
from app.server.log import configure_logging

configure_logging("debug")
ours = structlog.get_logger()
library = logging.getLogger("uvicorn.error")
try:
    raise ValueError("MARKED")
except ValueError:
    ours.error("ours.failed", exc_info=True)
    library.exception("Exception in ASGI application\\nMARKED")
    library.error("could not parse %s", "MARKED")
    library.error(f"put together {'MARKED'}")
    logging.getLogger("sqlalchemy.engine").info("SELECT 'MARKED'")
    logging.getLogger("httpx").info("HTTP Request: POST https://MARKED")
for error in (MunimentError(Code.SEARCH_UNAVAILABLE, "the database is away"), MunimentError(Code.CONFLICT, "MARKED")):
    ours.error("coded", exc_info=error)

async def lost():
    async def failing():
        raise ValueError("MARKED")
    task = asyncio.create_task(failing(), name="MARKED")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    del task
    gc.collect()

asyncio.run(lost())
def thread():
    raise ValueError("MARKED")
started = threading.Thread(target=thread)
started.start()
started.join()
raise ValueError("MARKED")
"""


def test_no_text_of_an_exception_or_a_library_comes_through():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert "MARKED" not in done.stdout + done.stderr
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert all({"event", "level", "timestamp"} <= set(line) for line in lines)
    told = [line.get("message") for line in lines if line["event"] == "library"]
    assert told == ["Exception in ASGI application", "could not parse %s", "…", "Task exception was never retrieved"]
    assert [line["exception"][0].get("message") for line in lines if line["event"] == "coded"] == [
        "the database is away",
        None,
    ]
    assert sum(line["event"] == "uncaught" for line in lines) == 2
    (ours,) = [line for line in lines if line["event"] == "ours.failed"]
    assert ours["exception"] == [{"type": "builtins.ValueError", "frames": ["<string>:11 <module>"]}]
