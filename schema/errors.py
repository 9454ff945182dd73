"""One shape for every error: a stable code, the field, the request, whether to try again. Nothing else leaks."""

from collections.abc import Iterator

import strawberry
import structlog
from graphql import GraphQLError
from strawberry.extensions import SchemaExtension

from app.domain.errors import Code, MunimentError
from schema.context import Context

log = structlog.get_logger()

ErrorCode = strawberry.enum(
    Code, name="ErrorCode", description="Every value that `extensions.code` of an error can have."
)


class CodedErrors(SchemaExtension):
    """Gives each error its code; what was not meant for callers becomes INTERNAL and goes to the log."""

    def on_operation(self) -> Iterator[None]:
        yield
        result = self.execution_context.result
        errors = getattr(result, "errors", None)
        if result is not None and errors:
            result.errors = [coded(error, self.execution_context.context) for error in errors]


def coded(error: GraphQLError, context: Context) -> GraphQLError:
    """The same place in the query, with a message and a code that are meant for the caller."""
    cause = error.original_error
    while isinstance(cause, GraphQLError) and cause.original_error is not None:
        cause = cause.original_error
    field = None
    if isinstance(cause, MunimentError):
        code, message, field = cause.code, cause.message, cause.field
        if error.path is None:  # a value in the document or a variable: the library's text says which
            message = error.message
    elif cause is None or isinstance(cause, GraphQLError):
        code, message = Code.BAD_USER_INPUT, error.message
    else:
        code, message = Code.INTERNAL, "an internal error"
        log.error("graphql.failed", request_id=str(context.request_id), exc_info=cause)
    if code is Code.INTERNAL:
        message = "an internal error"
    shown = MunimentError(code, message, field)
    return GraphQLError(
        message,
        nodes=error.nodes,
        source=error.source,
        positions=error.positions,
        path=error.path,
        extensions={
            "code": code.value,
            "field": field,
            "requestId": str(context.request_id),
            "retryable": shown.retryable,
        },
    )
