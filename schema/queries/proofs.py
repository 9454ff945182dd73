"""Checkpoints and proofs, which are checked without a secret."""

from typing import Annotated

import strawberry

from app.domain.principal import Permission
from app.evidence import proofs
from schema.context import Info
from schema.permissions import TOKEN, needs
from schema.scalars import BigInt
from schema.types.proofs import Checkpoint, ConsistencyProof, EvidenceLeaf, InclusionProof


@strawberry.type
class ProofQueries:
    @needs(Permission.AUDIT_READ)
    @strawberry.field(description="The newest signed checkpoint of the organisation's evidence; null before the first.")
    async def checkpoint(self, info: Info) -> Checkpoint | None:
        services, principal = info.context.services, info.context.principal
        found = await proofs.latest_checkpoint(services.database, principal.organisation)
        return None if found is None else Checkpoint.of(found)

    @needs(TOKEN)
    @strawberry.field(
        description="Proof that a record is in the tree, for whoever may see the record. Name it by id or by place."
    )
    async def inclusion_proof(
        self,
        info: Info,
        attribution_id: Annotated[strawberry.ID | None, strawberry.argument(description="Id of the record.")] = None,
        sequence: Annotated[BigInt | None, strawberry.argument(description="Place of the record.")] = None,
        tree_size: Annotated[
            BigInt | None,
            strawberry.argument(
                description="Leaves of the tree; by default of the earliest checkpoint that covers the record, or else "
                "of the whole tree."
            ),
        ] = None,
    ) -> InclusionProof:
        services = info.context.services
        return InclusionProof.of(
            await proofs.inclusion_proof(
                services.database,
                info.context.principal,
                attribution_id=None if attribution_id is None else str(attribution_id),
                sequence=sequence,
                tree_size=tree_size,
            )
        )

    @needs(TOKEN)
    @strawberry.field(
        description="The bytes of a record that its leaf in the tree hashes, for who retrieved, or an auditor, and "
        "checks a proof of it themselves. Name it by id or by place."
    )
    async def evidence_leaf(
        self,
        info: Info,
        attribution_id: Annotated[strawberry.ID | None, strawberry.argument(description="Id of the record.")] = None,
        sequence: Annotated[BigInt | None, strawberry.argument(description="Place of the record.")] = None,
    ) -> EvidenceLeaf:
        return EvidenceLeaf.of(
            await proofs.record_leaf(
                info.context.services.database,
                info.context.principal,
                attribution_id=None if attribution_id is None else str(attribution_id),
                sequence=sequence,
            )
        )

    @needs(Permission.AUDIT_READ)
    @strawberry.field(description="Proof that the tree of `from` leaves is a beginning of that of `to` leaves.")
    async def consistency_proof(
        self,
        info: Info,
        from_: Annotated[
            BigInt, strawberry.argument(name="from", description="Leaves of the earlier tree, at least 1.")
        ],
        to: Annotated[BigInt, strawberry.argument(description="Leaves of the later tree.")],
    ) -> ConsistencyProof:
        services, principal = info.context.services, info.context.principal
        return ConsistencyProof.of(await proofs.consistency_proof(services.database, principal.organisation, from_, to))
