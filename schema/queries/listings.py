"""What there is in a space or a source: subjects, groups, proposals, documents."""

from typing import Annotated
from uuid import UUID

import strawberry

from app.domain.principal import Permission, parse_id
from app.ingestion.listing import list_documents
from app.memory.listing import list_groups, list_subjects
from app.memory.proposing import list_proposals
from app.storage.memories import FIRST_ID
from schema.context import Info
from schema.permissions import Where, needs
from schema.scalars import Instant
from schema.types.connection import Connection, bad_cursor, connect, decode_cursor, page_size
from schema.types.memory import DocumentEntry
from schema.types.people import Group, ProposedRevision, Subject

SUBJECTS, GROUPS, PROPOSALS, DOCUMENTS = "subjects", "groups", "proposals", "documents"

SpaceId = Annotated[strawberry.ID | None, strawberry.argument(description="The space, by id.")]
SpaceKey = Annotated[
    str | None, strawberry.argument(description="The space, by key path; the organisation's own when none is named.")
]
First = Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")]
After = Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")]


@strawberry.type
class ListingQueries:
    @needs(Permission.ADMIN)
    @strawberry.field(description="The subjects that belong to the space itself, by name.")
    async def subjects(
        self, info: Info, space_id: SpaceId = None, space_key: SpaceKey = None, first: First = None, after: After = None
    ) -> Connection[Subject]:
        size = page_size(first)
        found = await list_subjects(
            info.context.services.database,
            info.context.principal,
            space_id=None if space_id is None else str(space_id),
            space_key=space_key,
            after=decode_cursor(SUBJECTS, after) or "",
            limit=size + 1,
        )
        return connect(
            SUBJECTS,
            found,
            size,
            after,
            node=Subject.of,
            position=lambda subject: subject.external_id,
        )

    @needs(Permission.READ)
    @strawberry.field(description="The groups that belong to the space itself, by key.")
    async def groups(
        self, info: Info, space_id: SpaceId = None, space_key: SpaceKey = None, first: First = None, after: After = None
    ) -> Connection[Group]:
        size = page_size(first)
        found = await list_groups(
            info.context.services.database,
            info.context.principal,
            space_id=None if space_id is None else str(space_id),
            space_key=space_key,
            after=decode_cursor(GROUPS, after) or "",
            limit=size + 1,
        )
        return connect(GROUPS, found, size, after, node=Group.of, position=lambda group: group.key)

    @needs(Permission.ADMIN, Permission.MEMORY_WRITE)
    @strawberry.field(
        description="Proposed revisions of the memories of the space itself and of its groups, by memory and number."
    )
    async def proposals(
        self,
        info: Info,
        space_id: SpaceId = None,
        space_key: SpaceKey = None,
        memory_id: Annotated[strawberry.ID | None, strawberry.argument(description="Only of this memory.")] = None,
        pending: Annotated[bool, strawberry.argument(description="Only those that can still be accepted.")] = True,
        first: First = None,
        after: After = None,
    ) -> Connection[ProposedRevision]:
        size = page_size(first)
        found = await list_proposals(
            info.context.services.database,
            info.context.principal,
            space_id=None if space_id is None else str(space_id),
            space_key=space_key,
            memory_id=None if memory_id is None else str(memory_id),
            pending=pending,
            after=_revision(decode_cursor(PROPOSALS, after)),
            limit=size + 1,
        )
        return connect(
            PROPOSALS,
            found,
            size,
            after,
            node=ProposedRevision.of,
            position=lambda proposal: f"{proposal.memory_id}:{proposal.revision}",
        )

    @needs(Permission.READ, where=Where.ITEM)
    @strawberry.field(
        description="The documents of a source as they were believed to hold then, by id. Their texts are read one by "
        "one, with `document`."
    )
    async def documents(
        self,
        info: Info,
        source_id: Annotated[strawberry.ID, strawberry.argument(description="Id of the source.")],
        as_of: Annotated[
            Instant | None, strawberry.argument(description="Point of valid time; now by default.")
        ] = None,
        known_at: Annotated[
            Instant | None, strawberry.argument(description="Point of system time; now by default.")
        ] = None,
        first: First = None,
        after: After = None,
    ) -> Connection[DocumentEntry]:
        size, cursor = page_size(first), decode_cursor(DOCUMENTS, after)
        behind = FIRST_ID if cursor is None else parse_id(cursor)
        if behind is None:
            raise bad_cursor()
        found = await list_documents(
            info.context.services.database,
            info.context.principal,
            str(source_id),
            as_of,
            known_at,
            after=behind,
            limit=size + 1,
        )
        return connect(
            DOCUMENTS, found, size, after, node=DocumentEntry.of, position=lambda entry: str(entry.document_id)
        )


def _revision(position: str | None) -> tuple[UUID, int]:
    if position is None:
        return FIRST_ID, 0
    memory, _, revision = position.partition(":")
    id = parse_id(memory)
    if id is None or not (revision.isascii() and revision.isdigit() and len(revision) < 10):
        raise bad_cursor()
    return id, int(revision)
