"""Lenses and level weights, as known at any point of system time."""

from typing import Annotated

import strawberry

from app.domain import lens as domain
from app.domain.principal import Permission, parse_id
from app.identity.level_weights import read_level_weights
from app.retrieval.lenses import list_lenses, read_lens
from app.storage.memories import FIRST_ID
from schema.context import Info
from schema.permissions import TOKEN, needs
from schema.scalars import Instant
from schema.types.connection import Connection, bad_cursor, connect, decode_cursor, page_size
from schema.types.lens import Lens, LevelWeights

LENSES = "lenses"

KnownAt = Annotated[Instant | None, strawberry.argument(description="Point of system time; now by default.")]


@strawberry.type
class SpaceQueries:
    @needs(Permission.ADMIN)
    @strawberry.field(
        description=(
            "What each level weighs: the default, the organisation's own, and the one that counts. With `knownAt` as "
            "it was known then, so that an old retrieval can be explained."
        )
    )
    async def level_weights(
        self,
        info: Info,
        space_id: Annotated[
            strawberry.ID | None,
            strawberry.argument(
                description="A space that the caller administers; the organisation's own by default. The weights are "
                "the organisation's, and hold in every space."
            ),
        ] = None,
        known_at: KnownAt = None,
    ) -> LevelWeights:
        services, principal = info.context.services, info.context.principal
        return LevelWeights.of(
            await read_level_weights(
                services.database,
                principal,
                services.retriever.level_weights,
                space_id=None if space_id is None else str(space_id),
                known_at=known_at,
            )
        )

    @needs(TOKEN)
    @strawberry.field(
        description="A lens as it was known at a point of system time; null when it was not there then. Whoever may "
        "see its space may read it."
    )
    async def lens(
        self,
        info: Info,
        id: Annotated[strawberry.ID, strawberry.argument(description="Id of the lens.")],
        known_at: KnownAt = None,
    ) -> Lens | None:
        services, principal = info.context.services, info.context.principal
        found = await read_lens(services.database, principal, str(id), known_at)
        return None if found is None else Lens.of(found)

    @needs(TOKEN)
    @strawberry.field(description="The lenses of the spaces that the caller may see, as known then, by id.")
    async def lenses(
        self,
        info: Info,
        known_at: KnownAt = None,
        first: Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")] = None,
        after: Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")] = None,
    ) -> Connection[Lens]:
        services, principal = info.context.services, info.context.principal
        size, cursor = page_size(first), decode_cursor(LENSES, after)
        behind = FIRST_ID if cursor is None else parse_id(cursor)
        if behind is None:
            raise bad_cursor()
        rows = await list_lenses(services.database, principal, known_at, after=behind, limit=size + 1)
        return connect(LENSES, rows, size, after, node=Lens.of, position=_position)


def _position(lens: domain.Lens) -> str:
    return str(lens.id)
