"""Records by what they are about, page by page, for who may see them (E8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.errors import bad_input
from app.domain.instant import as_utc
from app.domain.memory import pseudonym
from app.domain.principal import Principal, parse_id
from app.evidence.attribution import Attribution, attribution_of, is_text, shown_of
from app.evidence.sight import Sight
from app.identity.spaces import named_visible, space_not_found, visible_among
from app.storage import reports, subjects, tenancy
from app.storage.engine import Database, Session
from app.storage.reports import Wanted
from app.storage.subjects import Subject

MAX_NAME = 256


@dataclass(frozen=True, slots=True)
class Filter:
    """What records are asked for; None asks for all. `start` is included, `end` is not. A subject is named by its
    pseudonym, or by its own name, which counts for who may see a subject of that name."""

    category: str | None = None
    client_id: str | None = None
    space_id: str | None = None
    space_key: str | None = None
    subject_pseudonym: str | None = None
    subject_id: str | None = None
    start: datetime | None = None
    end: datetime | None = None

    def __post_init__(self) -> None:
        for name, value in (
            ("category", self.category),
            ("clientId", self.client_id),
            ("subjectPseudonym", self.subject_pseudonym),
            ("subjectId", self.subject_id),
        ):
            if value is not None and not (0 < len(value) <= MAX_NAME and is_text(value)):
                raise bad_input(f"1 to {MAX_NAME} characters of text", name)
        if self.subject_pseudonym is not None and self.subject_id is not None:
            raise bad_input("a subject is named by its pseudonym or by its own name, not both", "subjectId")
        start, end = self.start, self.end
        if start is not None and end is not None and as_utc(start, "from") >= as_utc(end, "to"):
            raise bad_input("must come after from", "to")


NO_FILTER = Filter()


async def page(
    database: Database,
    principal: Principal,
    filter: Filter = NO_FILTER,
    *,
    newest: bool = False,
    after: str | None = None,
    limit: int,
) -> list[Attribution]:
    """In the order of the chain, those that wait for it last; or the newest first. `after` is `position` of a record,
    from where it goes on wherever that record has got to since. SPACE_NOT_FOUND for a space that the caller may not
    see; all else that they may not see is not there."""
    async with database.snapshot(principal.organisation) as session:
        wanted = await wanted_of(session, principal, filter)
        sight = await Sight.of(session, principal)
        if wanted.subjects == ():
            return []
        place, position = await _behind(session, after)
        parts = [(reports.page, place), (reports.waiting, position)]
        if newest:
            parts.reverse()
        if position is not None and not newest:
            # It goes on in the queue.
            parts = parts[1:]
        if place is not None and newest:
            parts = parts[1:]
        rows: list[object] = []
        for part, behind in parts:
            if len(rows) < limit:
                left = limit - len(rows)
                rows += await part(session, wanted, sight.viewer, newest=newest, behind=behind, limit=left)
        return await shown_of(session, sight, [attribution_of(row) for row in rows])


async def wanted_of(session: Session, principal: Principal, filter: Filter) -> Wanted:
    """The filter as the chain is searched by it."""
    space, found = None, []
    if filter.space_id is not None or filter.space_key is not None:
        space = await named_visible(session, principal, space_id=filter.space_id, space_key=filter.space_key)
    if filter.subject_id is not None:
        found = await subjects.find_subjects(session, filter.subject_id)
        visible = await visible_among(session, principal, found)
        found = [item for item in found if item.space_id in visible]
    return _wanted(filter, space, found)


async def wanted_for_operator(session: Session, filter: Filter) -> Wanted:
    """The same for who may see everything; a space that is named by its id may be gone."""
    space = None if filter.space_id is None else parse_id(filter.space_id)
    if space is None and filter.space_id is not None:
        raise space_not_found()
    if filter.space_key is not None:
        row = await tenancy.find_space(session, filter.space_key.strip("/") or "/")
        if row is None:
            raise space_not_found("spaceKey")
        space = row.id
    found = [] if filter.subject_id is None else await subjects.find_subjects(session, filter.subject_id)
    return _wanted(filter, space, found)


def _wanted(filter: Filter, space: UUID | None, found: Sequence[Subject]) -> Wanted:
    named: tuple[str, ...] | None = None
    if filter.subject_pseudonym is not None:
        named = (filter.subject_pseudonym.lower(),)
    if filter.subject_id is not None:
        named = tuple(sorted(pseudonym(item.pseudonym_key, item.external_id) for item in found))
    return Wanted(filter.category, filter.client_id, space, named, filter.start, filter.end)


def position(item: Attribution) -> str:
    """Where a record stands: its place in the chain, else its id."""
    return str(item.id) if item.sequence is None else str(item.sequence)


async def _behind(session: Session, after: str | None) -> tuple[int | None, int | None]:
    """(place in the chain, position in the queue) to go on from."""
    if after is None:
        return None, None
    if after.isascii() and after.isdigit() and len(after) < 19:
        return int(after), None
    id: UUID | None = parse_id(after)
    place = (None, None) if id is None else await reports.place(session, id)
    if place == (None, None):
        raise bad_input("not a cursor of this collection", "after")
    return place
