"""Reading memories and documents as of any point of both clocks, and the history of any fact."""

from typing import Annotated

import strawberry

from app.domain.principal import Permission, parse_id
from app.history.rectangles import history
from app.ingestion.editing import read_document
from app.memory.reading import list_memories, read_memory
from app.memory.resolve import Named
from app.storage.memories import FIRST_ID, Listed
from schema.context import Info
from schema.permissions import Where, needs
from schema.scalars import Instant
from schema.types.connection import Connection, bad_cursor, connect, decode_cursor, page_size
from schema.types.memory import Document, FactVersion, Memory

AsOf = Annotated[Instant | None, strawberry.argument(description="Point of valid time; now by default.")]
KnownAt = Annotated[Instant | None, strawberry.argument(description="Point of system time; now by default.")]
First = Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")]
After = Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")]


@strawberry.type
class FactQueries:
    @needs(Permission.READ, where=Where.ITEM)
    @strawberry.field(description="A memory as it was believed at a point of both clocks; null when nothing was.")
    async def memory(
        self,
        info: Info,
        id: Annotated[strawberry.ID, strawberry.argument(description="Id of the memory.")],
        as_of: AsOf = None,
        known_at: KnownAt = None,
    ) -> Memory | None:
        services, principal = info.context.services, info.context.principal
        found = await read_memory(services.database, principal, str(id), as_of, known_at)
        return None if found is None else Memory.of(found)

    @needs(Permission.READ)
    @strawberry.field(description="The memories of a subject, a group or a space, as they were believed to hold then.")
    async def memories(
        self,
        info: Info,
        subject_id: Annotated[strawberry.ID | None, strawberry.argument(description="The subject.")] = None,
        group_key: Annotated[str | None, strawberry.argument(description="The group.")] = None,
        space_id: Annotated[strawberry.ID | None, strawberry.argument(description="The space, by id.")] = None,
        space_key: Annotated[str | None, strawberry.argument(description="The space, by key path.")] = None,
        as_of: AsOf = None,
        known_at: KnownAt = None,
        first: First = None,
        after: After = None,
    ) -> Connection[Memory]:
        services, principal = info.context.services, info.context.principal
        size, cursor = page_size(first), decode_cursor("memories", after)
        behind = FIRST_ID if cursor is None else parse_id(cursor)
        if behind is None:
            raise bad_cursor()
        named = Named(
            subject_id=None if subject_id is None else str(subject_id),
            group_key=group_key,
            space_id=None if space_id is None else str(space_id),
            space_key=space_key,
        )
        rows = await list_memories(services.database, principal, named, as_of, known_at, after=behind, limit=size + 1)
        return connect("memories", rows, size, after, node=Memory.of, position=_memory_position)

    @needs(Permission.READ, where=Where.ITEM)
    @strawberry.field(description="A document as it was believed at a point of both clocks; null when none was.")
    async def document(
        self,
        info: Info,
        id: Annotated[strawberry.ID, strawberry.argument(description="Id of the document.")],
        as_of: AsOf = None,
        known_at: KnownAt = None,
    ) -> Document | None:
        services, principal = info.context.services, info.context.principal
        found = await read_document(services.database, principal, str(id), as_of, known_at)
        return None if found is None else Document.of(found)

    @needs(Permission.READ, where=Where.ITEM)
    @strawberry.field(
        description=(
            "Every rectangle of valid and system time that was ever believed of a document, a memory or a membership; "
            "with `knownAt`, only what was believed then."
        )
    )
    async def history(
        self,
        info: Info,
        id: Annotated[strawberry.ID, strawberry.argument(description="Id of the fact.")],
        known_at: Annotated[
            Instant | None, strawberry.argument(description="Only what was believed then; null: everything ever.")
        ] = None,
        first: First = None,
        after: After = None,
    ) -> Connection[FactVersion]:
        services, principal = info.context.services, info.context.principal
        size, cursor = page_size(first), decode_cursor("history", after)
        if cursor is not None and not (cursor.isascii() and cursor.isdigit()):
            raise bad_cursor()
        start = 0 if cursor is None else min(int(cursor[:15]), 1 << 40)
        rows = await history(services.database, principal, str(id), known_at=known_at, after=start, limit=size + 1)
        numbered = list(enumerate(rows, start + 1))
        return connect(
            "history",
            numbered,
            size,
            after,
            node=lambda row: FactVersion.of(row[1]),
            position=lambda row: str(row[0]),
        )


def _memory_position(item: Listed) -> str:
    return str(item.memory_id)
