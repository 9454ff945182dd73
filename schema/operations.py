"""Which operation of a document runs."""

from collections.abc import Iterator

from graphql import GraphQLError, OperationDefinitionNode
from strawberry.extensions import SchemaExtension


class OneOperation(SchemaExtension):
    """Refuses a document of several operations when none is named: the library would run the first of them."""

    def on_parse(self) -> Iterator[None]:
        yield
        document = self.execution_context.graphql_document
        if document is None or self.execution_context._provided_operation_name is not None:
            return
        operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
        if len(operations) > 1:
            raise GraphQLError("operationName must say which operation of the document is meant", operations)
