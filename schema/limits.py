"""What is let in before it runs: the size of a document, what it costs, and how often its caller called.

A document is measured before it is validated, since validation itself can be made dear.
"""

from collections.abc import AsyncIterator, Iterator
from functools import lru_cache

from graphql import GraphQLError, parse
from strawberry.extensions import SchemaExtension
from strawberry.schema.schema import validate_document
from strawberry.types import ExecutionContext

from app.domain.errors import Code, MunimentError
from app.domain.limits import Limits
from schema.complexity import INTROSPECTION, TooComplex, measure
from schema.operations import chosen

#: Documents whose parse and validation are remembered: clients send the same few again and again.
CACHED_DOCUMENTS = 512

#: Characters of a document that is remembered.
CACHED_LENGTH = 20_000

#: Measures that are no number of things.
_TOLD = {"depth": "its depth", "cost": "its cost", "repeats": "selecting a field again and again in one place"}

_parsed = lru_cache(CACHED_DOCUMENTS)(parse)
_validated = lru_cache(CACHED_DOCUMENTS)(validate_document)


class Admission(SchemaExtension):
    """Refuses what asks for too much, or comes too often, before anything of it runs."""

    def on_operation(self) -> Iterator[None]:
        self.execution_context.parse_options["max_tokens"] = self._limits.tokens
        yield

    def on_parse(self) -> Iterator[None]:
        context = self.execution_context
        if context.query:
            try:
                reading = _parsed if len(context.query) <= CACHED_LENGTH else parse
                context.graphql_document = reading(context.query, **context.parse_options)
            except (GraphQLError, RecursionError):
                # The library meets the same error where it can be answered over every transport.
                pass
        yield

    async def on_validate(self) -> AsyncIterator[None]:
        self.execution_context.pre_execution_errors = await self._refusals(self.execution_context)
        yield

    async def _refusals(self, context: ExecutionContext) -> list[GraphQLError]:
        document = context.graphql_document
        assert document is not None
        limits = self._limits
        try:
            operation = chosen(document, context._provided_operation_name)
            measured = measure(context.schema._schema, document, operation, context.variables or {}, limits)
            if not limits.introspection and INTROSPECTION & measured.roots.keys():
                raise MunimentError(Code.FORBIDDEN, "introspection is switched off")
            invalid = _validated(context.schema._schema, document, context.validation_rules)
            if not invalid:
                await context.context.admit(measured.roots)
            return invalid
        except TooComplex as found:
            return [refused(too_complex(found.measure, found.limit, found.actual))]
        except RecursionError:
            return [refused(too_complex("depth", limits.depth))]
        except MunimentError as error:
            return [refused(error)]
        except GraphQLError as error:
            return [error]

    @property
    def _limits(self) -> Limits:
        limits: Limits = self.execution_context.context.services.limits
        return limits


def refused(error: MunimentError) -> GraphQLError:
    """An error about the whole request."""
    return GraphQLError(error.message, original_error=error)


def too_complex(measure: str, limit: int, actual: int | None = None) -> MunimentError:
    """`actual` is how many were counted until the limit was passed."""
    told = (
        f"{_TOLD[measure]}: at most {limit} is let in" if measure in _TOLD else f"too many {measure}: at most {limit}"
    )
    details = {"measure": measure, "limit": limit} | ({} if actual is None else {"actual": actual})
    return MunimentError(Code.QUERY_TOO_COMPLEX, f"the operation is refused for {told}", details=details)
