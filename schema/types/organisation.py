"""The caller, the spaces, and what the deployment offers."""

from typing import Any, Self

import strawberry

from app.identity.active_space import read_active_space
from app.storage.findings import SpaceCoverage as _SpaceCoverage
from schema.context import Info
from schema.scalars import BigInt, Instant
from schema.types.enums import SpaceLevel


@strawberry.type(description="A node of the organisation's tree of spaces.")
class Space:
    id: strawberry.ID = strawberry.field(description="Id of the space.")
    parent_id: strawberry.ID | None = strawberry.field(
        description="The space above it; null for the organisation's own, and where the caller may not see it."
    )
    key_path: str = strawberry.field(description="Keys from below the organisation's space, joined by `/`.")
    level: SpaceLevel = strawberry.field(description="Level of the space.")
    name: str = strawberry.field(description="Name of the space.")

    @classmethod
    def of(cls, row: Any) -> Self:
        """From a row of `permissions.visible_spaces`."""
        return cls(
            id=strawberry.ID(str(row.id)),
            parent_id=None if row.parent_id is None else strawberry.ID(str(row.parent_id)),
            key_path=row.key_path,
            level=SpaceLevel(row.level),
            name=row.name,
        )


@strawberry.type(description="The authenticated caller.")
class Me:
    id: strawberry.ID = strawberry.field(description="Id of the caller in the organisation.")
    organisation_id: strawberry.ID = strawberry.field(description="The organisation that the token is for.")
    external_id: str = strawberry.field(description="The token's subject.")
    actor_type: str = strawberry.field(description="person, agent, application or admin.")

    @strawberry.field(
        description=(
            "The space that questions are asked from when neither the input nor a header names one; null when none is "
            "set, or the caller may not see it any more."
        )
    )
    async def active_space(self, info: Info) -> Space | None:
        row = await read_active_space(info.context.services.database, info.context.principal)
        return None if row is None else Space.of(row)


@strawberry.type(description="A default and the most that is served.")
class ParameterLimits:
    default: int = strawberry.field(description="In effect when the parameter is not given.")
    greatest: int = strawberry.field(description="Greater values are lowered to this.")


@strawberry.type(description="What a first-party application may rely on.")
class Capabilities:
    retrieval: bool = strawberry.field(description="Whether retrieval is served.")
    top_k: ParameterLimits = strawberry.field(description="Limits of `topK`.")
    max_per_level: ParameterLimits = strawberry.field(description="Limits of `maxPerLevel`.")
    max_passages_per_document: ParameterLimits = strawberry.field(description="Limits of `maxPassagesPerDocument`.")
    token_budget: ParameterLimits = strawberry.field(description="Limits of `tokenBudget`.")
    embedder_locality: str = strawberry.field(description="in_deployment, external or none.")


@strawberry.type(description="How questions and documents are embedded.")
class EmbeddingStatus:
    configured: bool = strawberry.field(description="Whether anything embeds.")
    model: str | None = strawberry.field(description="Name of the model.")
    dimensions: int | None = strawberry.field(description="Length of its vectors.")
    locality: str = strawberry.field(description="in_deployment, external or none.")


@strawberry.type(description="An optional stage of a retrieval that asks another host.")
class OptionalStage:
    configured: bool = strawberry.field(description="Whether an endpoint is set.")
    model: str | None = strawberry.field(description="Name of the model; null where the endpoint serves just one.")
    locality: str = strawberry.field(description="in_deployment, external or none.")


@strawberry.type(description="How far the slices of a space that hold now are embedded and indexed.")
class SpaceCoverage:
    space_id: strawberry.ID = strawberry.field(description="Id of the space.")
    space_key: str = strawberry.field(description="Key path of the space.")
    chunks: BigInt = strawberry.field(description="Slices of its sources.")
    embedded: float = strawberry.field(description="Share of them with an embedding of the current model, 0 to 1.")
    indexed: float = strawberry.field(
        description="Share of them whose index is as today's policy against leaks makes it, 0 to 1."
    )

    @classmethod
    def of(cls, found: _SpaceCoverage) -> Self:
        """Of a space without slices everything is done."""
        whole = found.chunks or 1
        return cls(
            space_id=strawberry.ID(str(found.space_id)),
            space_key=found.key_path,
            chunks=BigInt(found.chunks),
            embedded=found.embedded / whole if found.chunks else 1.0,
            indexed=found.indexed / whole if found.chunks else 1.0,
        )


@strawberry.type(
    description="How the deployment stands, for administrators. Never an address, a key or an error's text."
)
class Status:
    search_backend: str = strawberry.field(description="`exact`, `hnsw` or `text`.")
    embeddings: EmbeddingStatus = strawberry.field(description="The embedder.")
    rewriting: OptionalStage = strawberry.field(description="What words questions anew.")
    reranking: OptionalStage = strawberry.field(description="What orders the best candidates anew.")
    chunks: BigInt = strawberry.field(description="Chunks that hold now.")
    embedded_chunks: BigInt = strawberry.field(description="Those of them with an embedding of the current model.")
    queue_depth: BigInt = strawberry.field(description="Events that wait to be chained.")
    embedding_queue_depth: BigInt = strawberry.field(description="Chunks that wait for their embedding.")
    chain_head_sequence: BigInt = strawberry.field(description="Last sequence of the evidence chain; 0 when empty.")
    chain_head_age: float | None = strawberry.field(description="Seconds since the last record was chained.")
    chain_head_at: Instant | None = strawberry.field(description="When the last record was chained.")
    spaces: int = strawberry.field(description="Spaces of the organisation.")
    reindex_queue_depth: BigInt = strawberry.field(description="Sources that wait to be indexed anew.")
    coverage: list[SpaceCoverage] = strawberry.field(description="Spaces with a source, by key path.")
