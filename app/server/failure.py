"""The one body of a failure, whichever layer refuses: GraphQL's `errors` with a stable code and nothing else."""

from typing import Any
from uuid import UUID

from prometheus_client import Counter
from starlette.responses import JSONResponse

from app.domain.errors import MunimentError

failures = Counter("muniment_errors_total", "Failures that callers were told of, by code.", ["code"])


def extensions(error: MunimentError, request_id: UUID) -> dict[str, Any]:
    """All that a caller learns of a failure beside its sentence. The failure is counted."""
    failures.labels(error.code.value).inc()
    told: dict[str, Any] = {
        "code": error.code.value,
        "field": error.field,
        "requestId": str(request_id),
        "retryable": error.retryable,
        **error.details,
    }
    if error.retry_after_ms is not None:
        told["retryAfterMs"] = error.retry_after_ms
    return told


def refusal(
    error: MunimentError,
    request_id: UUID,
    status: int,
    headers: dict[str, str] | None = None,
    media_type: str = "application/json",
) -> JSONResponse:
    """The answer to a request that was never executed: there is no `data`."""
    body = {"errors": [{"message": error.message, "extensions": extensions(error, request_id)}]}
    return JSONResponse(body, status, headers, media_type)
