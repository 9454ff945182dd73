"""Memories, subjects, groups, and the history of a fact as rectangles on both clocks."""

from typing import Self, cast

import strawberry

from app.history.rectangles import Rectangle
from app.storage.memories import Listed
from app.storage.reading import Entry, StoredDocument
from schema.scalars import JSON, Instant
from schema.types.enums import FactKind


@strawberry.type(description="A memory as it was believed at one point of both clocks.")
class Memory:
    id: strawberry.ID = strawberry.field(description="Id of the memory; stays through every change.")
    version_id: strawberry.ID = strawberry.field(description="Id of this version.")
    text: str = strawberry.field(description="What is remembered.")
    tokens: int = strawberry.field(description="Tokens of the text (cl100k_base).")
    importance: float = strawberry.field(description="0 to 1.")
    confidence: float | None = strawberry.field(description="0 to 1, where it was given.")
    epistemic_status: str = strawberry.field(description="observed, told, inferred or assumed.")
    transform_type: str = strawberry.field(description="How it came to be, such as agent_write or manual.")
    tags: list[str] = strawberry.field(description="Its tags.")
    revision: int = strawberry.field(description="Accepted revision, from 1.")
    space_id: strawberry.ID = strawberry.field(description="The space that it is kept in.")
    valid_from: Instant | None = strawberry.field(description="Since when it holds; null: always.")
    valid_to: Instant | None = strawberry.field(description="Until when it holds; null: no end is known.")
    system_from: Instant = strawberry.field(description="Since when it is believed.")
    system_to: Instant | None = strawberry.field(description="Until when it was believed; null: it still is.")

    @classmethod
    def of(cls, item: Listed) -> Self:
        facts = item.facts
        return cls(
            id=strawberry.ID(str(item.memory_id)),
            version_id=strawberry.ID(str(item.version_id)),
            text=facts.text,
            tokens=facts.tokens,
            importance=facts.importance,
            confidence=facts.confidence,
            epistemic_status=facts.epistemic_status.value,
            transform_type=facts.transform_type.value,
            tags=list(facts.tags),
            revision=facts.revision,
            space_id=strawberry.ID(str(item.owner.space_id)),
            valid_from=item.valid_from,
            valid_to=item.valid_to,
            system_from=item.system_from,
            system_to=item.system_to,
        )


@strawberry.type(description="A document as it was believed at one point of both clocks.")
class Document:
    id: strawberry.ID = strawberry.field(description="Id of the document; stays through every change.")
    version_id: strawberry.ID = strawberry.field(description="Id of this version.")
    source_id: strawberry.ID = strawberry.field(description="The source that it comes from.")
    space_id: strawberry.ID = strawberry.field(description="The space of the source.")
    provider: str = strawberry.field(description="Provider of the source.")
    kind: str = strawberry.field(description="Kind of the source.")
    external_id: str = strawberry.field(description="Its name at the source, such as a path.")
    title: str = strawberry.field(description="Its title.")
    text: str = strawberry.field(description="Its whole text.")
    content_sha256: str = strawberry.field(description="SHA-256 of the text.")
    mime: str = strawberry.field(description="What it was read as.")
    url: str | None = strawberry.field(description="Link to the original.")
    tags: list[str] = strawberry.field(description="Its tags.")
    confidence: float | None = strawberry.field(description="0 to 1, where it was given.")
    epistemic_status: str = strawberry.field(description="observed, told, inferred or assumed.")
    transform_type: str = strawberry.field(description="How it came to be, such as ingest or manual.")
    valid_from: Instant | None = strawberry.field(description="Since when it holds; null: always.")
    valid_to: Instant | None = strawberry.field(description="Until when it holds; null: no end is known.")
    system_from: Instant = strawberry.field(description="Since when it is believed.")
    system_to: Instant | None = strawberry.field(description="Until when it was believed; null: it still is.")

    @classmethod
    def of(cls, item: StoredDocument) -> Self:
        return cls(
            id=strawberry.ID(str(item.document_id)),
            version_id=strawberry.ID(str(item.version_id)),
            source_id=strawberry.ID(str(item.source_id)),
            space_id=strawberry.ID(str(item.space_id)),
            provider=item.provider,
            kind=item.kind,
            external_id=item.external_id,
            title=item.title,
            text=item.text,
            content_sha256=item.content_sha256.hex(),
            mime=item.mime,
            url=item.url,
            tags=item.tags,
            confidence=item.confidence,
            epistemic_status=item.epistemic_status,
            transform_type=item.transform_type,
            valid_from=item.valid_from,
            valid_to=item.valid_to,
            system_from=item.system_from,
            system_to=item.system_to,
        )


@strawberry.type(description="A document in the list of its source, as it was believed at one point of both clocks.")
class DocumentEntry:
    id: strawberry.ID = strawberry.field(description="Id of the document; stays through every change.")
    version_id: strawberry.ID = strawberry.field(description="Id of this version.")
    external_id: str = strawberry.field(description="Its name at the source, such as a path.")
    title: str = strawberry.field(description="Its title.")
    content_sha256: str = strawberry.field(description="SHA-256 of the text.")
    mime: str = strawberry.field(description="What it was read as.")
    url: str | None = strawberry.field(description="Link to the original.")
    tags: list[str] = strawberry.field(description="Its tags.")
    valid_from: Instant | None = strawberry.field(description="Since when it holds; null: always.")
    valid_to: Instant | None = strawberry.field(description="Until when it holds; null: no end is known.")
    system_from: Instant = strawberry.field(description="Since when it is believed.")
    system_to: Instant | None = strawberry.field(description="Until when it was believed; null: it still is.")

    @classmethod
    def of(cls, entry: Entry) -> Self:
        return cls(
            id=strawberry.ID(str(entry.document_id)),
            version_id=strawberry.ID(str(entry.version_id)),
            external_id=entry.external_id,
            title=entry.title,
            content_sha256=entry.content_sha256.hex(),
            mime=entry.mime,
            url=entry.url,
            tags=entry.tags,
            valid_from=entry.valid_from,
            valid_to=entry.valid_to,
            system_from=entry.system_from,
            system_to=entry.system_to,
        )


@strawberry.type(description="A rectangle on both clocks: what was believed to hold when, and while it was believed.")
class FactVersion:
    id: strawberry.ID = strawberry.field(description="Id of the version.")
    kind: FactKind = strawberry.field(description="What it is a version of.")
    valid_from: Instant | None = strawberry.field(description="Since when it holds; null: always.")
    valid_to: Instant | None = strawberry.field(description="Until when it holds; null: no end is known.")
    system_from: Instant = strawberry.field(description="Since when it was believed.")
    system_to: Instant | None = strawberry.field(description="Until when it was believed; null: it still is.")
    value: JSON = strawberry.field(description="What was believed.")

    @classmethod
    def of(cls, item: Rectangle) -> Self:
        assert item.system.start is not None
        return cls(
            id=strawberry.ID(str(item.id)),
            kind=item.kind,
            valid_from=item.valid.start,
            valid_to=item.valid.end,
            system_from=item.system.start,
            system_to=item.system.end,
            value=cast(JSON, item.value),
        )
