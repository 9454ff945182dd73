"""The schema, put together; no I/O."""

import strawberry
from strawberry.extensions import ParserCache, ValidationCache
from strawberry.schema.config import StrawberryConfig

from schema.errors import CodedErrors, ErrorCode
from schema.mutations.evidence import EvidenceMutations
from schema.queries.evidence import EvidenceQueries
from schema.queries.organisation import OrganisationQueries
from schema.queries.retrieval import RetrievalQueries
from schema.scalars import SCALARS

#: Documents whose parse and validation are remembered: clients send the same few again and again.
CACHED_DOCUMENTS = 512


@strawberry.type(description="Reads. `retrieve` also stores its own evidence before it answers.")
class Query(RetrievalQueries, EvidenceQueries, OrganisationQueries):
    pass


@strawberry.type(description="Writes.")
class Mutation(EvidenceMutations):
    pass


graphql_schema = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    types=[ErrorCode],
    extensions=[
        CodedErrors,
        lambda: ParserCache(maxsize=CACHED_DOCUMENTS),
        lambda: ValidationCache(maxsize=CACHED_DOCUMENTS),
    ],
    config=StrawberryConfig(scalar_map=SCALARS),
)
