"""Correcting and retracting documents by hand: the same plan and the same write as when a source is read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from app.domain.document import DocumentFacts
from app.domain.errors import Code, MunimentError, bad_input
from app.domain.instant import format_instant, parse_instant
from app.domain.memory import TransformType
from app.domain.principal import Permission, Principal, parse_id
from app.domain.temporal import ALWAYS, Period, Retract, Timeline, applied, clip, update_fact
from app.identity.once import Outcome, check_client_key, done, once
from app.identity.spaces import NOWHERE, permitted
from app.ingestion.prepare import Content, Preparer
from app.ingestion.preparing import go_on, in_thread
from app.ingestion.reconcile import Cut, contents_needed, cut_of
from app.ingestion.store import ATTEMPTS, Moved, Wanted, gone_wrong, write_in
from app.providers.parsers.registry import clean, parse_text
from app.storage import documents, policies, reading, sources
from app.storage.engine import Database
from app.storage.reading import StoredDocument
from app.storage.sources import StoredSource

MAX_TEXT = 1_000_000
MAX_TITLE = 1_000


#: From what is believed of a document to what should be, with the contents that are new. The last argument is that of
#: `Preparer.content`.
Edit = Callable[[Timeline[DocumentFacts], StoredSource, bool], tuple[Timeline[DocumentFacts], dict[Cut, Content]]]


@dataclass(frozen=True, slots=True)
class Editor:
    """The editing use cases of documents."""

    database: Database
    preparer: Preparer
    embed: bool

    async def correct(
        self,
        principal: Principal,
        id: str,
        text: str,
        period: Period = ALWAYS,
        *,
        title: str | None = None,
        expected: datetime | None = None,
        client_key: str | None = None,
    ) -> StoredDocument:
        """The same valid period, another text: only where the document is believed to be anything. What was believed
        right after, of the first part of the period that holds.

        The version keeps the source's name for the bytes that it corrects: reading those again does not undo it."""
        check_client_key(client_key)
        for value, most, field in ((text, MAX_TEXT, "text"), (title or "", MAX_TITLE, "title")):
            if len(value) > most or clean(value)[1]:
                raise bad_input(f"at most {most} characters, without NUL or lone surrogates", field)

        def revised(
            before: Timeline[DocumentFacts], source: StoredSource, masks: bool
        ) -> tuple[Timeline[DocumentFacts], dict[Cut, Content]]:
            if not any(portion.period.overlaps(period) for portion in before):
                raise MunimentError(Code.CONFLICT, "nothing is believed in that period that could be corrected")
            after, contents = before, {}
            # The text is read as its name says, and is the same for every portion of one name.
            made: dict[str, Content] = {}
            for portion in before:
                go_on()
                name = portion.value.external_id
                content = made.get(name)
                if content is None:
                    content = made[name] = self._content(name, text, title, source, masks)
                facts = replace(
                    portion.value,
                    content_sha256=content.sha256,
                    title=content.title,
                    transform_type=TransformType.MANUAL.value,
                )
                contents[cut_of(facts)] = content
                for piece in clip([portion.period], period):
                    after = update_fact(after, piece, facts)
            return after, contents

        call = {"correctDocument": id, "text": text, "title": title, "period": str(period)}
        document, known_at = await self._edit(principal, id, revised, period, expected, call, client_key)
        async with self.database.snapshot(principal.organisation) as session:
            found = await reading.document_from(session, document, period, known_at)
        if found is None:
            raise document_not_found()
        return found

    async def retract(
        self,
        principal: Principal,
        id: str,
        period: Period = ALWAYS,
        *,
        expected: datetime | None = None,
        client_key: str | None = None,
    ) -> UUID:
        """The document is no longer believed to hold in the period."""
        check_client_key(client_key)

        def without(
            before: Timeline[DocumentFacts], _source: StoredSource, _masks: bool
        ) -> tuple[Timeline[DocumentFacts], dict[Cut, Content]]:
            return applied(before, Retract(period)), {}

        call = {"retractDocument": id, "period": str(period)}
        return (await self._edit(principal, id, without, period, expected, call, client_key))[0]

    async def _edit(
        self,
        principal: Principal,
        id: str,
        edit: Edit,
        period: Period,
        expected: datetime | None,
        call: Mapping[str, Any],
        client_key: str | None,
    ) -> tuple[UUID, datetime]:
        """(the document, when it was written)."""
        document = parse_id(id)
        for _ in range(ATTEMPTS):
            async with self.database.snapshot(principal.organisation) as session:
                place = None if document is None else await reading.document_place(session, document)
                space = NOWHERE if place is None else place.space_id
                await permitted(session, principal, Permission.WRITE, space_id=space, missing=document_not_found())
                if document is None or place is None or not principal.admits(place.provider):
                    raise document_not_found()
                made = await done(session, principal, client_key, call)
                if made is not None:
                    return document, parse_instant(made["knownAt"])
                source = await sources.source_by_id(session, place.source_id)
                if source is None:
                    raise document_not_found()
                known = (await documents.believed(session, source.id, [place.external_key]))[place.external_key]
                if expected is not None and await documents.VERSIONS.changed_since(session, document, expected, period):
                    raise MunimentError(
                        Code.CONFLICT, "the document was changed by somebody else meanwhile", "expectedSystemFrom"
                    )
                masks = await policies.masks(session, source.id)
            before = tuple(row.portion for row in known.versions)
            after, contents = await in_thread(edit, before, source, masks)
            if not contents_needed(before, after) <= contents.keys():
                raise gone_wrong()
            wanted = [Wanted(place.external_key, after, continues=before)]
            try:
                made = await self._write(principal, source, wanted, contents, call, client_key)
            except Moved:
                continue
            return document, parse_instant(made["knownAt"])
        raise gone_wrong()

    async def _write(
        self,
        principal: Principal,
        source: StoredSource,
        wanted: Sequence[Wanted],
        contents: Mapping[Cut, Content],
        call: Mapping[str, Any],
        client_key: str | None,
    ) -> dict[str, Any]:
        async with self.database.write(principal.organisation) as session:

            async def work() -> Outcome:
                await write_in(session, source, wanted, contents, embed=self.embed)
                return Outcome({"knownAt": format_instant(session.stamp)})

            return await once(session, principal, client_key, call, work)

    def _content(self, name: str, text: str, title: str | None, source: StoredSource, masks: bool) -> Content:
        parsed = parse_text(name, text)
        if title is not None:
            parsed = replace(parsed, title=title)
        return self.preparer.content(name, parsed, source.language, masks)


async def read_document(
    database: Database, principal: Principal, id: str, as_of: datetime | None, known_at: datetime | None
) -> StoredDocument | None:
    """The version that held then; None when none did. NOT_FOUND when there is no such document for this caller."""
    document = parse_id(id)
    async with database.snapshot(principal.organisation) as session:
        place = None if document is None else await reading.document_place(session, document)
        space = NOWHERE if place is None else place.space_id
        await permitted(session, principal, Permission.READ, space_id=space, missing=document_not_found())
        if document is None or place is None or not principal.admits(place.provider):
            raise document_not_found()
        return await reading.document_at(session, document, *await reading.point(session, as_of, known_at))


def document_not_found() -> MunimentError:
    return MunimentError(Code.NOT_FOUND, "no such document", "id")
