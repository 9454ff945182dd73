"""Structured logs, one JSON object a line on standard error; never a text of a document, a question or a secret."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from traceback import extract_tb
from typing import Any

import structlog
from structlog.typing import EventDict

from app.domain.errors import MunimentError


def configure_logging(level: str) -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            describe_exception,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


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
        described["message"] = error.message
    elif isinstance(error, OSError) and error.strerror:
        described["message"] = error.strerror
    if sqlstate := getattr(error, "sqlstate", None):
        described["sqlstate"] = str(sqlstate)
    described["frames"] = [
        f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in extract_tb(error.__traceback__)
    ]
    return described
