"""Which records of evidence are asked for."""

from typing import Annotated

import strawberry

from app.evidence.reports import NO_FILTER, Filter
from schema.scalars import Instant


@strawberry.input(description="Records must meet all that is given.")
class EvidenceFilter:
    category: str | None = strawberry.field(
        default=None,
        description="`context_attribution`, `context_attribution_link`, `models.gateway.context_link`, "
        "`subject_erasure` or `chain_verification`.",
    )
    client_id: str | None = strawberry.field(
        default=None, description="The verified id of the program that called, as its token named it."
    )
    space_id: strawberry.ID | None = strawberry.field(
        default=None, description="The space that was asked in, by id; those below it do not count."
    )
    space_key: str | None = strawberry.field(default=None, description="The same by key path.")
    subject_pseudonym: str | None = strawberry.field(
        default=None, description="What records call a subject, 64 hexadecimal digits; it outlives the subject."
    )
    subject_id: str | None = strawberry.field(
        default=None,
        description="The subject by its own name, of those in spaces that the caller may see, as long as there is one.",
    )
    from_: Instant | None = strawberry.field(
        name="from", default=None, description="Made at this instant or later, by the record's own `issuedAt`."
    )
    to: Instant | None = strawberry.field(default=None, description="Made before this instant.")


def to_filter(given: EvidenceFilter | None) -> Filter:
    if given is None:
        return NO_FILTER
    return Filter(
        category=given.category,
        client_id=given.client_id,
        space_id=None if given.space_id is None else str(given.space_id),
        space_key=given.space_key,
        subject_pseudonym=given.subject_pseudonym,
        subject_id=given.subject_id,
        start=given.from_,
        end=given.to,
    )


Wanted = Annotated[
    EvidenceFilter | None, strawberry.argument(description="Which records; all that the caller may see by default.")
]
