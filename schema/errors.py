"""One shape for every error: a stable code, the field, the request, whether to try again. Nothing else leaks."""

from collections.abc import Iterator
from typing import Any

import structlog
from graphql import GraphQLError, GraphQLSyntaxError
from strawberry.exceptions import MissingQueryError
from strawberry.extensions import SchemaExtension
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types import ExecutionContext

from app.domain.errors import Code, MunimentError, bad_input
from app.server.failure import extensions
from schema.blame import blamed
from schema.limits import too_complex

log = structlog.get_logger()

#: Refused before anything runs; the endpoint answers them.
REQUEST_ERRORS = (MissingQueryError, CannotGetOperationTypeError, InvalidOperationTypeError)

#: What the library says of a document of too many tokens, and of one that it cannot follow any deeper.
_TOO_LONG, _TOO_DEEP = "tokens. Parsing aborted.", "nested too deeply"


class CodedErrors(SchemaExtension):
    """Gives each error its code; what was not meant for callers becomes INTERNAL and goes to the log."""

    def on_operation(self) -> Iterator[None]:
        try:
            yield
        except REQUEST_ERRORS:
            raise
        except GraphQLError as error:
            raise coded(error, self.execution_context) from None
        except RecursionError:
            shown = too_complex("depth", self.execution_context.context.services.limits.depth)
            raise coded(GraphQLError(shown.message, original_error=shown), self.execution_context) from None
        except Exception as error:
            raise coded(GraphQLError("", original_error=error), self.execution_context) from None
        result = self.execution_context.result
        errors = getattr(result, "errors", None)
        if result is not None and errors:
            result.errors = [coded(error, self.execution_context) for error in errors]

    def on_stream_result(self, result: Any) -> Iterator[None]:
        """Each event of a stream on its own, before it leaves."""
        if getattr(result, "errors", None):
            result.errors = [coded(error, self.execution_context) for error in result.errors]
        yield


def coded(error: GraphQLError, execution: ExecutionContext) -> GraphQLError:
    """The same place in the query, with a message and a code that are meant for the caller."""
    if error.extensions and "code" in error.extensions:
        return error
    request_id = execution.context.request_id
    shown = _shown(error, execution)
    if shown.code is Code.INTERNAL:
        log.error("graphql.failed", request_id=str(request_id), exc_info=_cause(error) or error)
        shown = MunimentError(Code.INTERNAL, "an internal error")
    return GraphQLError(
        shown.message,
        nodes=error.nodes,
        source=error.source,
        positions=error.positions,
        path=error.path,
        extensions=extensions(shown, request_id),
    )


def _shown(error: GraphQLError, execution: ExecutionContext) -> MunimentError:
    cause = _cause(error)
    if isinstance(error, GraphQLSyntaxError) and _TOO_LONG in error.message:
        return too_complex("tokens", execution.parse_options.get("max_tokens", 0))
    nested = isinstance(error, GraphQLSyntaxError) and _TOO_DEEP in error.message
    if nested or (error.path is None and isinstance(cause, RecursionError)):
        return too_complex("depth", execution.context.services.limits.depth)
    ours = isinstance(cause, MunimentError)
    if error.path is None and (cause is None or ours or isinstance(cause, GraphQLError)):
        # The document, or a value in it or in a variable: the library's sentence says where it stands.
        field = cause.field if isinstance(cause, MunimentError) else None
        code = cause.code if isinstance(cause, MunimentError) else Code.BAD_USER_INPUT
        place = blamed(error, execution.schema._schema, execution.graphql_document, execution.variables)
        if not isinstance(cause, MunimentError):
            return MunimentError(code, error.message, place)
        return MunimentError(code, error.message, field or place, cause.retry_after_ms, details=cause.details)
    if error.path is None and isinstance(cause, ValueError):
        return bad_input("a value in the document cannot be read")  # such as a number of thousands of digits
    if isinstance(cause, MunimentError):
        return cause
    if cause is None and _in_document(error):
        return bad_input(error.message)  # a variable that was found wanting only when an argument used it
    return MunimentError(Code.INTERNAL, "an internal error")


def _cause(error: GraphQLError) -> Exception | None:
    """What was raised first, below the library's wrappings; None when the library itself raised."""
    cause = error.original_error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    return cause


def _in_document(error: GraphQLError) -> bool:
    """Whether the library blames a place in the document, not what a resolver gave."""
    original = error.original_error
    return isinstance(original, GraphQLError) and bool(original.nodes)
