"""What sources are made with, and the documents that are given to them."""

import base64
import binascii

import strawberry

from app.domain.errors import bad_input
from app.domain.memory import EpistemicStatus as Epistemic
from app.domain.memory import TransformType as Transform
from app.ingestion.intake import Offered
from schema.scalars import JSON, Instant
from schema.types.enums import Classification, EpistemicStatus, SourceKind, TransformType


@strawberry.input(description="A new source of documents that are given in calls.")
class CreateSourceInput:
    name: str = strawberry.field(description="Its name in the space; 1 to 200 characters.")
    kind: SourceKind = strawberry.field(description="What it holds.")
    space_id: strawberry.ID | None = strawberry.field(default=None, description="The space, by id.")
    space_key: str | None = strawberry.field(
        default=None,
        description="The space, by key path; the organisation's own when none is named. An unknown one is made where "
        "the caller may write on the nearest space above it.",
    )
    provider: str | None = strawberry.field(
        default=None, description="Who keeps it; `api` by default. `git` and `filesystem` are for who reads places."
    )
    classification: Classification | None = strawberry.field(
        default=None, description="How freely its texts may be read; INTERNAL by default."
    )
    language: str | None = strawberry.field(
        default=None, description="Language of its prose, as Snowball names it; english by default."
    )
    access_policy: JSON | None = strawberry.field(
        default=None, description="The provider's own rules of access; kept as they are."
    )
    client_key: str | None = strawberry.field(
        default=None, description="The client's own key: the same call again does nothing and answers the same."
    )


@strawberry.input(description="A document that is given in a call: a text, or the bytes of a file.")
class DocumentInput:
    external_id: str = strawberry.field(
        description="Its name at the source, such as a path; it stays through every change. Its ending says what it is "
        "read as, unless `fileName` does."
    )
    text: str | None = strawberry.field(default=None, description="Its text; at most 1000000 characters.")
    content: str | None = strawberry.field(default=None, description="Instead: the bytes of a file, in Base64.")
    file_name: str | None = strawberry.field(default=None, description="A name whose ending says what it is.")
    title: str | None = strawberry.field(default=None, description="Its title; found in the text by default.")
    url: str | None = strawberry.field(default=None, description="Link to the original.")
    tags: list[str] | None = strawberry.field(default=None, description="Its tags; at most 64.")
    confidence: float | None = strawberry.field(default=None, description="0 to 1.")
    epistemic_status: EpistemicStatus | None = strawberry.field(default=None, description="OBSERVED by default.")
    transform_type: TransformType | None = strawberry.field(default=None, description="INGEST by default.")
    valid_from: Instant | None = strawberry.field(
        default=strawberry.UNSET, description="Since when it holds: from this write on by default; null: always."
    )
    valid_to: Instant | None = strawberry.field(default=None, description="Until when it holds.")
    created_at: Instant | None = strawberry.field(default=None, description="When it was made, at the source.")
    updated_at: Instant | None = strawberry.field(default=None, description="When it was last changed, at the source.")

    def offered(self, number: int) -> Offered:
        """`number` is its place in the call, for errors."""
        from_now = self.valid_from is strawberry.UNSET
        return Offered(
            external_id=self.external_id,
            text=self.text,
            content=None if self.content is None else _bytes(self.content, f"documents[{number}].content"),
            file_name=self.file_name,
            title=self.title,
            url=self.url,
            tags=tuple(self.tags or ()),
            confidence=self.confidence,
            epistemic_status=self.epistemic_status or Epistemic.OBSERVED,
            transform_type=self.transform_type or Transform.INGEST,
            from_now=from_now,
            valid_from=None if from_now else self.valid_from,
            valid_to=self.valid_to,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )


def _bytes(value: str, field: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise bad_input("not Base64", field) from None
