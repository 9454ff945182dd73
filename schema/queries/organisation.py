"""Who asks, from where they can ask, and how the deployment stands."""

from typing import Annotated

import strawberry

from app.domain.principal import Permission
from app.providers.chat import Chat
from app.providers.reranker import Reranker
from app.retrieval import request
from app.retrieval.request import Limits
from app.server.status import read_status
from app.storage import permissions
from schema.context import Info
from schema.permissions import TOKEN, needs
from schema.scalars import BigInt
from schema.types.connection import Connection, connect, decode_cursor, page_size
from schema.types.organisation import (
    Capabilities,
    EmbeddingStatus,
    Me,
    OptionalStage,
    ParameterLimits,
    Space,
    SpaceCoverage,
    Status,
)

SPACES = "spaces"


@strawberry.type
class OrganisationQueries:
    @needs(TOKEN)
    @strawberry.field(description="The authenticated caller.")
    async def me(self, info: Info) -> Me:
        principal = info.context.principal
        return Me(
            id=strawberry.ID(str(principal.id)),
            organisation_id=strawberry.ID(str(principal.organisation)),
            external_id=principal.external_id,
            actor_type=principal.actor_type.value,
        )

    @needs(TOKEN)
    @strawberry.field(description="The spaces on which the caller holds a permission, by key path.")
    async def spaces(
        self,
        info: Info,
        first: Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")] = None,
        after: Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")] = None,
    ) -> Connection[Space]:
        size, principal = page_size(first), info.context.principal
        position = decode_cursor(SPACES, after) or ""
        async with info.context.services.database.snapshot(principal.organisation) as session:
            rows = await permissions.visible_spaces(session, principal.id, principal.identities, position, size + 1)
        return connect(SPACES, rows, size, after, node=Space.of, position=lambda row: str(row.key_path))

    @needs(TOKEN)
    @strawberry.field(description="What a first-party application may rely on; needs no permission beyond a token.")
    async def capabilities(self, info: Info) -> Capabilities:
        embedder = info.context.services.retriever.embedder
        return Capabilities(
            retrieval=True,
            top_k=_limits(request.TOP_K),
            max_per_level=_limits(request.MAX_PER_LEVEL),
            max_passages_per_document=_limits(request.MAX_PER_DOCUMENT),
            token_budget=_limits(request.TOKEN_BUDGET),
            embedder_locality=embedder.locality if embedder else "none",
        )

    @needs(Permission.ORG_ADMIN)
    @strawberry.field(description="How the deployment stands, for the organisation's administrators.")
    async def status(self, info: Info) -> Status:
        services, principal = info.context.services, info.context.principal
        embedder = services.retriever.embedder
        rewriter, reranking = services.retriever.rewriter, services.retriever.reranking
        status = await read_status(services.database, principal.organisation, embedder.model if embedder else None)
        return Status(
            search_backend=services.search_backend,
            embeddings=EmbeddingStatus(
                configured=embedder is not None,
                model=embedder.model if embedder else None,
                dimensions=embedder.dimensions if embedder else None,
                locality=embedder.locality if embedder else "none",
            ),
            rewriting=_stage(rewriter.chat if rewriter else None),
            reranking=_stage(reranking.reranker if reranking else None),
            chunks=BigInt(status.chunks),
            embedded_chunks=BigInt(status.embedded_chunks),
            queue_depth=BigInt(status.queue_depth),
            embedding_queue_depth=BigInt(status.embedding_queue_depth),
            chain_head_sequence=BigInt(status.chain_head_sequence),
            chain_head_age=status.chain_head_age,
            chain_head_at=status.chain_head_at,
            spaces=status.spaces,
            reindex_queue_depth=BigInt(status.reindex_queue_depth),
            coverage=[SpaceCoverage.of(found) for found in status.coverage],
        )


def _stage(model: Chat | Reranker | None) -> OptionalStage:
    return OptionalStage(
        configured=model is not None,
        model=model.model if model else None,
        locality=model.locality if model else "none",
    )


def _limits(limits: Limits) -> ParameterLimits:
    return ParameterLimits(default=limits.default, greatest=limits.greatest)
