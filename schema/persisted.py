"""Operations that are known beforehand are checked when the server starts."""

from graphql import GraphQLError, OperationDefinitionNode, parse, validate

from app.domain.limits import Limits
from app.server.operations import Operations
from schema.build import graphql_schema
from schema.complexity import TooComplex, measure


def require_valid(known: Operations, limits: Limits | None = None) -> None:
    """`ValueError` for a persisted operation that the schema does not have, or that asks for too much."""
    schema = graphql_schema._schema
    for text in set(known.documents.values()):
        try:
            document = parse(text)
            problems = validate(schema, document)
            if problems:
                raise problems[0]
            for node in document.definitions:
                if isinstance(node, OperationDefinitionNode):
                    measure(schema, document, node, {}, limits or Limits())
        except TooComplex as found:
            raise ValueError(f"a persisted operation has too much {found.measure}: {text[:80]!r}") from None
        except GraphQLError as error:
            raise ValueError(f"a persisted operation is not valid ({error.message}): {text[:80]!r}") from None
