"""The lens that a request looks through, and the tags that its documents must carry."""

from collections.abc import Mapping, Sized
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from app.domain.contract import Exclusion
from app.domain.errors import Code, MunimentError
from app.domain.lens import Lens, TagSets
from app.domain.principal import parse_id
from app.domain.selection import Reason
from app.retrieval.request import RetrievalRequest


def lens_id(request: RetrievalRequest) -> UUID | None:
    """NOT_FOUND when what was given is no id."""
    named = None if request.lens_id is None else parse_id(request.lens_id)
    if request.lens_id is not None and named is None:
        raise _not_found()
    return named


def looked_through(request: RetrievalRequest, row: Mapping[str, Any] | None) -> Lens | None:
    """The lens of a row as `reach` gives it. NOT_FOUND when one was asked for that the caller may not see: unknown and
    invisible are one answer."""
    if request.lens_id is None:
        return None
    if row is None:
        raise _not_found()
    spaces = _filter(row, "space_ids")
    return Lens(
        id=UUID(row["id"]),
        space_id=UUID(row["space_id"]),
        name=row["name"],
        space_ids=None if spaces is None else tuple(UUID(space) for space in spaces),
        source_kinds=_filter(row, "source_kinds"),
        providers=_filter(row, "providers"),
        tags=_filter(row, "tags"),
        system_from=datetime.fromisoformat(row["system_from"]).astimezone(UTC),
    )


def untagged(tags: TagSets, sources: Sized) -> tuple[Exclusion, ...]:
    """That documents were set aside by their tags. How many is not known: the legs never look at them."""
    if not tags or not sources:
        return ()
    said = "Only documents with the tags that were asked for were searched; the others were not counted."
    return (Exclusion(Reason.CALLER_FILTER, "gather", None, None, None, said),)


def _filter(row: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    return None if row[name] is None else tuple(row[name])


def _not_found() -> MunimentError:
    return MunimentError(Code.NOT_FOUND, "no such lens", "lensId")
