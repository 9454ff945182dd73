"""Failures that a caller may see, each with a stable code. Everything else is INTERNAL and says nothing."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Code(StrEnum):
    """Stable error codes; they are part of the schema (`ErrorCode`)."""

    UNAUTHENTICATED = "UNAUTHENTICATED"
    FORBIDDEN = "FORBIDDEN"
    BAD_USER_INPUT = "BAD_USER_INPUT"
    SPACE_NOT_FOUND = "SPACE_NOT_FOUND"
    ATTRIBUTION_NOT_FOUND = "ATTRIBUTION_NOT_FOUND"
    NOT_FOUND = "NOT_FOUND"
    CONFLICT = "CONFLICT"
    ATTRIBUTION_FAILED = "ATTRIBUTION_FAILED"
    SEARCH_UNAVAILABLE = "SEARCH_UNAVAILABLE"
    RATE_LIMITED = "RATE_LIMITED"
    QUERY_TOO_COMPLEX = "QUERY_TOO_COMPLEX"
    PERSISTED_QUERY_NOT_FOUND = "PERSISTED_QUERY_NOT_FOUND"
    INTERNAL = "INTERNAL"


#: Codes after which the same request may succeed unchanged.
RETRYABLE = frozenset({Code.ATTRIBUTION_FAILED, Code.SEARCH_UNAVAILABLE, Code.RATE_LIMITED})


class MunimentError(Exception):
    """A failure with a code, a sentence for people and, where one input is to blame, its field. `retry_after_ms`: when
    trying again has a chance, where that is known. `details` are further facts that a program can act on."""

    def __init__(
        self,
        code: Code,
        message: str,
        field: str | None = None,
        retry_after_ms: int | None = None,
        *,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field
        self.retry_after_ms = retry_after_ms
        self.details = dict(details or {})

    @property
    def retryable(self) -> bool:
        return self.code in RETRYABLE


def bad_input(message: str, field: str | None = None) -> MunimentError:
    """The commonest failure: the caller's input cannot be accepted."""
    return MunimentError(Code.BAD_USER_INPUT, message, field)
