"""Structured logs, one JSON object a line on standard error; never a text of a document, a question or a secret."""

import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from traceback import extract_tb
from typing import Any, Final

import structlog
from structlog.typing import EventDict, Processor

from app.domain.errors import MunimentError

#: Libraries that tell of every statement or request at a level that may be switched on.
_CHATTY: Final = ("asyncio", "httpcore", "httpx", "sqlalchemy", "websockets", "uvicorn")

#: Messages without a place for values that are worth reading.
_KNOWN: Final = frozenset(
    {
        "Exception in ASGI application",
        "ASGI callable returned without completing response.",
        "Invalid HTTP request received.",
        "Task exception was never retrieved",
        "Future exception was never retrieved",
        "Unhandled exception in event loop",
    }
)

_PROCESSORS: Final[tuple[Processor, ...]] = (
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


def configure_logging(level: str) -> None:
    """What we log, and what the libraries do, goes to standard error in one form."""
    number = logging.getLevelNamesMapping()[level.upper()]
    render = structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*_PROCESSORS, describe_exception, render],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Library(render))
    logging.basicConfig(handlers=[handler], level=max(number, logging.WARNING), force=True)
    sys.excepthook = lambda _type, error, _trace: _uncaught(error)
    sys.unraisablehook = lambda failed: _uncaught(failed.exc_value)
    threading.excepthook = lambda failed: _uncaught(failed.exc_value)
    for name in _CHATTY:
        # Their own levels would let through what they print of statements and bodies.
        logging.getLogger(name).setLevel(max(number, logging.WARNING))


def _uncaught(error: BaseException | None) -> None:
    """By default Python would print the text of the exception."""
    structlog.get_logger().error("uncaught", exc_info=error)


class _Library(logging.Formatter):
    """A library's message without what it puts in: that may be a statement, an address with a password, an object with
    a user's text in it. The first line of what stands in its code tells what happened, and the exception where."""

    def __init__(self, render: Processor) -> None:
        super().__init__()
        self._render = render

    def format(self, record: logging.LogRecord) -> str:
        place = f"{record.filename}:{record.lineno} {record.funcName}"
        event: EventDict = {"event": "library", "logger": record.name, "place": place, "message": _template(record)}
        if record.exc_info:
            event["exc_info"] = record.exc_info[1]
        level = record.levelname.lower()
        for step in (_PROCESSORS[1], describe_exception, self._render):
            event["level"] = level
            rendered = step(None, level, event)
            if isinstance(rendered, str):
                return rendered
        raise TypeError("the last step renders")


def _template(record: logging.LogRecord) -> str:
    """Only what was written by programmers: where nothing is to be put in, it may have been put in already."""
    first = str(record.msg).partition("\n")[0]
    return first if record.args or first in _KNOWN else "…"


def describe_exception(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Replaces `exc_info` by the types, places and causes of an exception.

    Its message goes unlogged unless we or the operating system wrote it: a driver's message may quote a user's text.
    """
    given = event.pop("exc_info", None)
    error = given if isinstance(given, BaseException) else sys.exc_info()[1] if given else None
    if error is not None:
        event["exception"] = [_described(item) for item in _chain(error)]
    return event


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _described(error: BaseException) -> dict[str, Any]:
    described: dict[str, Any] = {"type": f"{type(error).__module__}.{type(error).__qualname__}"}
    if isinstance(error, MunimentError):
        described["code"] = error.code.value
        if error.retryable:
            # The state of the service, in words of ours; what another failure says may name what the caller named.
            described["message"] = error.message
    elif isinstance(error, OSError) and error.strerror:
        described["message"] = error.strerror
    if sqlstate := getattr(error, "sqlstate", None):
        described["sqlstate"] = str(sqlstate)
    described["frames"] = [
        f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in extract_tb(error.__traceback__)
    ]
    return described
