"""Which operation of a document runs."""

from graphql import DocumentNode, GraphQLError, OperationDefinitionNode


def chosen(document: DocumentNode, name: str | None) -> OperationDefinitionNode:
    """The one of that name, or the only one. Where several are there and none is named it is an error, though the
    library would run the first of them."""
    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    if name is None and len(operations) > 1:
        raise GraphQLError("operationName must say which operation of the document is meant", operations)
    return next((node for node in operations if name and node.name and node.name.value == name), operations[0])
