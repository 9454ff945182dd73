"""Documents on both clocks, by hand."""

from typing import Annotated

import strawberry

from app.domain.principal import Permission
from schema.context import Info
from schema.inputs.memory import ClientKey, Expected, ValidFrom, ValidTo, period
from schema.permissions import Where, needs
from schema.types.memory import Document

DocumentId = Annotated[strawberry.ID, strawberry.argument(description="Id of the document.")]


@strawberry.type
class DocumentMutations:
    @needs(Permission.WRITE, where=Where.ITEM)
    @strawberry.mutation(
        description=(
            "The same valid period, another text: only where the document is believed to be anything; without bounds, "
            "everywhere. Answers with the first part that was corrected. It outlives later readings of the "
            "source, until the source itself has other bytes."
        )
    )
    async def correct_document(
        self,
        info: Info,
        id: DocumentId,
        text: Annotated[str, strawberry.argument(description="The whole text as it should have been.")],
        title: Annotated[str | None, strawberry.argument(description="Another title.")] = None,
        valid_from: ValidFrom = None,
        valid_to: ValidTo = None,
        expected_system_from: Expected = None,
        client_key: ClientKey = None,
    ) -> Document:
        services, principal = info.context.services, info.context.principal
        return Document.of(
            await services.editor.correct(
                principal,
                str(id),
                text,
                period(valid_from, valid_to),
                title=title,
                expected=expected_system_from,
                client_key=client_key,
            )
        )

    @needs(Permission.WRITE, where=Where.ITEM)
    @strawberry.mutation(
        description=(
            "The document is no longer believed to hold in the period; without bounds, never. A later reading of "
            "a source that still has it brings it back."
        )
    )
    async def retract_document(
        self,
        info: Info,
        id: DocumentId,
        valid_from: ValidFrom = None,
        valid_to: ValidTo = None,
        expected_system_from: Expected = None,
        client_key: ClientKey = None,
    ) -> strawberry.ID:
        services, principal = info.context.services, info.context.principal
        retracted = await services.editor.retract(
            principal, str(id), period(valid_from, valid_to), expected=expected_system_from, client_key=client_key
        )
        return strawberry.ID(str(retracted))
