"""The schema, put together; no I/O."""

import strawberry
from graphql import GraphQLError
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from schema.errors import CodedErrors
from schema.limits import Admission
from schema.mutations.credentials import CredentialMutations
from schema.mutations.dlp import DlpMutations
from schema.mutations.documents import DocumentMutations
from schema.mutations.evidence import EvidenceMutations
from schema.mutations.grants import GrantMutations
from schema.mutations.memory import MemoryMutations
from schema.mutations.sources import SourceMutations
from schema.mutations.spaces import SpaceMutations
from schema.queries.credentials import CredentialQueries
from schema.queries.dlp import DlpQueries
from schema.queries.evidence import EvidenceQueries
from schema.queries.facts import FactQueries
from schema.queries.gateway import GatewayQueries
from schema.queries.grants import GrantQueries
from schema.queries.impact import ImpactQueries
from schema.queries.listings import ListingQueries
from schema.queries.organisation import OrganisationQueries
from schema.queries.proofs import ProofQueries
from schema.queries.retrieval import RetrievalQueries
from schema.queries.sources import SourceQueries
from schema.queries.spaces import SpaceQueries
from schema.queries.traces import TraceQueries
from schema.scalars import SCALARS
from schema.subscriptions.context import ContextSubscriptions
from schema.subscriptions.jobs import JobSubscriptions
from schema.subscriptions.verification import VerificationSubscriptions
from schema.types.enums import ErrorCode


@strawberry.type(description="Reads. `retrieve` also stores its own evidence before it answers.")
class Query(
    RetrievalQueries,
    FactQueries,
    EvidenceQueries,
    OrganisationQueries,
    SpaceQueries,
    TraceQueries,
    GatewayQueries,
    ProofQueries,
    ImpactQueries,
    GrantQueries,
    CredentialQueries,
    ListingQueries,
    SourceQueries,
    DlpQueries,
):
    pass


@strawberry.type(description="Writes.")
class Mutation(
    MemoryMutations,
    DocumentMutations,
    SourceMutations,
    EvidenceMutations,
    SpaceMutations,
    GrantMutations,
    CredentialMutations,
    DlpMutations,
):
    pass


@strawberry.type(description="What goes on, as it happens.")
class Subscription(VerificationSubscriptions, ContextSubscriptions, JobSubscriptions):
    pass


class Schema(strawberry.Schema):
    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Nothing: the library would log the document, and with it the question. `CodedErrors` logs what is ours."""


graphql_schema = Schema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    types=[ErrorCode],
    extensions=[CodedErrors, Admission],
    config=StrawberryConfig(scalar_map=SCALARS),
)
