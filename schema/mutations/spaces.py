"""The tree of spaces, what its levels weigh, lenses, and the space that a caller asks from."""

from typing import Annotated

import strawberry

from app.domain.principal import Permission
from app.identity.active_space import set_active_space
from app.identity.level_weights import set_level_weights
from app.identity.tree import create_space, ensure_space
from app.retrieval.lenses import change_lens, create_lens, retract_lens
from schema.context import Info
from schema.inputs.memory import ClientKey, Expected
from schema.inputs.spaces import CreateLensInput, CreateSpaceInput, LensChanges, LevelWeightInput
from schema.permissions import TOKEN, Where, needs
from schema.types.enums import SpaceLevel
from schema.types.lens import Lens, LevelWeights
from schema.types.organisation import Space

LensId = Annotated[strawberry.ID, strawberry.argument(description="Id of the lens.")]


@strawberry.type
class SpaceMutations:
    @needs(Permission.ADMIN)
    @strawberry.mutation(description="Make a space below another. CONFLICT when there is one of that key path.")
    async def create_space(
        self, info: Info, input: Annotated[CreateSpaceInput, strawberry.argument(description="The new space.")]
    ) -> Space:
        services, principal = info.context.services, info.context.principal
        return Space.of(
            await create_space(
                services.database,
                principal,
                parent_id=None if input.parent_id is None else str(input.parent_id),
                parent_key=input.parent_key,
                key=input.key,
                name=input.name,
                level=input.level,
                client_key=input.client_key,
            )
        )

    @needs(Permission.WRITE)
    @strawberry.mutation(
        description=(
            "The space of a key path: the one that is there, unchanged, or a new one with the ancestors that it lacks. "
            "To make it, the caller must be allowed to write on the nearest space that there is."
        )
    )
    async def ensure_space(
        self,
        info: Info,
        space_key: Annotated[str, strawberry.argument(description="Keys joined by `/`, as in `project/part`.")],
        name: Annotated[
            str | None, strawberry.argument(description="What a new one is called; its last key by default.")
        ] = None,
        level: Annotated[
            SpaceLevel | None,
            strawberry.argument(description="Level of a new one: PROJECT by default, SUBPROJECT below a project."),
        ] = None,
        client_key: ClientKey = None,
    ) -> Space:
        services, principal = info.context.services, info.context.principal
        return Space.of(
            await ensure_space(services.database, principal, space_key, name=name, level=level, client_key=client_key)
        )

    @needs(TOKEN)
    @strawberry.mutation(
        description=(
            "The space that the caller asks from when neither the input nor the header `X-Muniment-Space` names one; "
            "with neither argument none. It shows in `me { activeSpace }`."
        )
    )
    async def set_active_space(
        self,
        info: Info,
        space_id: Annotated[strawberry.ID | None, strawberry.argument(description="The space, by id.")] = None,
        space_key: Annotated[str | None, strawberry.argument(description="The space, by key path.")] = None,
    ) -> Space | None:
        services, principal = info.context.services, info.context.principal
        found = await set_active_space(
            services.database,
            principal,
            space_id=None if space_id is None else str(space_id),
            space_key=space_key,
        )
        return None if found is None else Space.of(found)

    @needs(Permission.ADMIN)
    @strawberry.mutation(
        description=(
            "The organisation's own level weights are these from now on and no others; an empty list resets to the "
            "defaults. Needs the permission on the organisation's space."
        )
    )
    async def set_level_weights(
        self,
        info: Info,
        overrides: Annotated[
            list[LevelWeightInput], strawberry.argument(description="The whole set; empty resets it.")
        ],
        expected_system_from: Expected = None,
        client_key: ClientKey = None,
    ) -> LevelWeights:
        services, principal = info.context.services, info.context.principal
        return LevelWeights.of(
            await set_level_weights(
                services.database,
                principal,
                services.retriever.level_weights,
                [(item.level, item.weight) for item in overrides],
                expected=expected_system_from,
                client_key=client_key,
            )
        )

    @needs(Permission.ADMIN)
    @strawberry.mutation(description="Make a lens of a space, for all who may see that space.")
    async def create_lens(
        self, info: Info, input: Annotated[CreateLensInput, strawberry.argument(description="The new lens.")]
    ) -> Lens:
        services, principal = info.context.services, info.context.principal
        return Lens.of(
            await create_lens(
                services.database,
                principal,
                input.parts,
                space_id=None if input.space_id is None else str(input.space_id),
                space_key=input.space_key,
                client_key=input.client_key,
            )
        )

    @needs(Permission.ADMIN, where=Where.ITEM)
    @strawberry.mutation(description="From now on the lens is otherwise; at an earlier `knownAt` it is as it was.")
    async def change_lens(
        self,
        info: Info,
        id: LensId,
        changes: Annotated[LensChanges, strawberry.argument(description="What is to be different.")],
        expected_system_from: Expected = None,
        client_key: ClientKey = None,
    ) -> Lens:
        services, principal = info.context.services, info.context.principal
        return Lens.of(
            await change_lens(
                services.database,
                principal,
                str(id),
                changes.parts,
                expected=expected_system_from,
                client_key=client_key,
            )
        )

    @needs(Permission.ADMIN, where=Where.ITEM)
    @strawberry.mutation(description="From now on there is no such lens; at an earlier `knownAt` it is as it was.")
    async def retract_lens(
        self, info: Info, id: LensId, expected_system_from: Expected = None, client_key: ClientKey = None
    ) -> strawberry.ID:
        services, principal = info.context.services, info.context.principal
        retracted = await retract_lens(
            services.database, principal, str(id), expected=expected_system_from, client_key=client_key
        )
        return strawberry.ID(str(retracted))
