"""Documents that a client hands over in a call: many at once, the same ones again without effect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from app.domain.document import DocumentFacts
from app.domain.errors import MunimentError, bad_input
from app.domain.instant import format_instant, parse_instant
from app.domain.memory import EpistemicStatus, TransformType
from app.domain.principal import Permission, Principal
from app.domain.temporal import Period, Timeline, assert_fact
from app.identity.once import Outcome, check_client_key, done, once
from app.ingestion.catalogue import permitted_source, source_not_found
from app.ingestion.frequencies import refresh_frequencies
from app.ingestion.prepare import Content, Preparer
from app.ingestion.preparing import go_on, in_thread
from app.ingestion.reconcile import Cut, contents_needed, cut_of
from app.ingestion.runner import MAX_KEY_BYTES
from app.ingestion.store import ATTEMPTS, Moved, Wanted, gone_wrong, write_in
from app.providers.parsers.blocks import Parsed, Unsupported
from app.providers.parsers.registry import clean, parse, parse_text
from app.storage import catalogue, documents, policies, reading, sources
from app.storage.documents import Believed
from app.storage.engine import Database
from app.storage.sources import StoredSource

#: Documents of one call.
MOST: Final = 1000
MAX_TEXT: Final = 1_000_000
MAX_TITLE: Final = 1_000
MAX_TAGS: Final = 64
MAX_TAG: Final = 200


@dataclass(frozen=True, slots=True)
class Offered:
    """A document as a client gives it: `text`, or `content` to be read as its name says. `from_now`: it holds from the
    write on, whatever `valid_from` says."""

    external_id: str
    text: str | None = None
    content: bytes | None = None
    file_name: str | None = None
    title: str | None = None
    url: str | None = None
    tags: tuple[str, ...] = ()
    confidence: float | None = None
    epistemic_status: EpistemicStatus = EpistemicStatus.OBSERVED
    transform_type: TransformType = TransformType.INGEST
    from_now: bool = True
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Became(StrEnum):
    """What a call made of a document."""

    CREATED = "CREATED"
    CHANGED = "CHANGED"
    UNCHANGED = "UNCHANGED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Taken:
    """One document of a call, in its order. `problem` says why it failed, or what was repaired."""

    external_id: str
    became: Became
    id: UUID | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a call did. `known_at` is the instant of system time from which it is known."""

    source_id: UUID
    known_at: datetime
    taken: tuple[Taken, ...]


@dataclass(frozen=True, slots=True)
class Intake:
    """Taking documents from calls."""

    database: Database
    preparer: Preparer
    embed: bool

    async def take(
        self, principal: Principal, source_id: str, offered: Sequence[Offered], client_key: str | None = None
    ) -> Receipt:
        """All in one write: each overwrites what was believed of it in its period and fills what was not.

        One that cannot be read fails alone. The same document again changes nothing. Several of one name are its
        history, taken in order.
        """
        check_client_key(client_key)
        _check(offered)
        call = {"ingestDocuments": source_id, "documents": [_told(item) for item in offered]}
        for _ in range(ATTEMPTS):
            async with self.database.snapshot(principal.organisation) as session:
                listed = await permitted_source(session, principal, Permission.WRITE, source_id, "sourceId")
                made = await done(session, principal, client_key, call)
                if made is not None:
                    return _receipt(listed.id, made)
                source = await sources.source_by_id(session, listed.id)
                if source is None:
                    raise source_not_found("sourceId")
                believed = await documents.believed(session, source.id, [item.external_id for item in offered])
                now, _known = await reading.point(session, None, None)
                masks = await policies.masks(session, source.id)
            work = _Work(self.preparer, source, believed, now, masks)
            await in_thread(work.prepare, offered)
            try:
                made = await self._write(principal, source, work, offered, call, client_key)
            except Moved:
                continue
            await refresh_frequencies(self.database, principal.organisation, source.space_id)
            return _receipt(source.id, made)
        raise gone_wrong()

    async def _write(
        self,
        principal: Principal,
        source: StoredSource,
        work: "_Work",
        offered: Sequence[Offered],
        call: Mapping[str, Any],
        client_key: str | None,
    ) -> dict[str, Any]:
        async with self.database.write(principal.organisation) as session:

            async def written() -> Outcome:
                await write_in(session, source, work.wanted, work.contents, embed=self.embed)
                keys = list({item.external_id for item in offered})
                ids = await catalogue.document_ids(session, source.id, keys)
                return Outcome(
                    {
                        "knownAt": format_instant(session.stamp),
                        "taken": [
                            {
                                "externalId": item.external_id,
                                "became": work.became(number),
                                "id": str(ids[item.external_id]) if item.external_id in ids else None,
                                "problem": work.problems.get(number),
                            }
                            for number, item in enumerate(offered)
                        ],
                    }
                )

            return await once(session, principal, client_key, call, written)


class _Work:
    """Preparing one call, off the event loop. Documents are named by their place in it."""

    def __init__(
        self, preparer: Preparer, source: StoredSource, believed: Mapping[str, Believed], now: datetime, masks: bool
    ) -> None:
        self._masks = masks
        self._preparer = preparer
        self._source = source
        self._now = now
        self._before: dict[str, Timeline[DocumentFacts]] = {
            key: tuple(row.portion for row in known.versions) for key, known in believed.items()
        }
        self._after = dict(self._before)
        self._became: dict[int, Became] = {}
        self.contents: dict[Cut, Content] = {}
        self.problems: dict[int, str] = {}

    def prepare(self, offered: Sequence[Offered]) -> None:
        for number, item in enumerate(offered):
            go_on()
            period = Period(self._now if item.from_now else item.valid_from, item.valid_to)
            try:
                content = self._content(item)
            except (Unsupported, MunimentError) as error:
                self.problems[number] = str(error)
                self._became[number] = Became.FAILED
                continue
            if content.problems:
                self.problems[number] = "; ".join(content.problems)
            facts = _facts(item, content)
            self.contents[cut_of(facts)] = content
            known = self._after.get(item.external_id, ())
            after = assert_fact(known, period, facts)
            self._after[item.external_id] = after
            self._became[number] = Became.UNCHANGED if after == known else Became.CHANGED if known else Became.CREATED

    @property
    def wanted(self) -> list[Wanted]:
        found = [
            Wanted(key, after, continues=self._before.get(key, ()))
            for key, after in self._after.items()
            if after != self._before.get(key, ())
        ]
        for item in found:
            if not contents_needed(item.continues or (), item.timeline) <= self.contents.keys():
                raise gone_wrong()
        return found

    def became(self, number: int) -> Became:
        return self._became[number]

    def _content(self, item: Offered) -> Content:
        name = item.file_name or item.external_id
        parsed = self._parsed(item, name)
        if item.title is not None:
            parsed = replace(parsed, title=item.title)
        return self._preparer.content(name, parsed, self._source.language, self._masks)

    def _parsed(self, item: Offered, name: str) -> Parsed:
        if item.content is not None:
            return parse(name, item.content)
        # What PostgreSQL cannot store is taken out and told of, as in a file.
        text, problems = clean(item.text or "")
        parsed = parse_text(name, text)
        return replace(parsed, problems=(*problems, *parsed.problems))


def _facts(item: Offered, content: Content) -> DocumentFacts:
    return DocumentFacts(
        content_sha256=content.sha256,
        external_id=item.external_id,
        title=content.title,
        mime=content.mime,
        url=item.url,
        confidence=item.confidence,
        epistemic_status=item.epistemic_status.value,
        transform_type=item.transform_type.value,
        tags=tuple(dict.fromkeys(item.tags)),
        source_created_at=item.created_at,
        source_updated_at=item.updated_at,
    )


def _check(offered: Sequence[Offered]) -> None:
    """BAD_USER_INPUT, naming the place, for what no document can be."""
    if len(offered) > MOST:
        raise bad_input(f"at most {MOST} documents a call", "documents")
    for number, item in enumerate(offered):
        field = f"documents[{number}]"
        if not item.external_id or len(item.external_id.encode("utf-8", "replace")) > MAX_KEY_BYTES:
            raise bad_input(f"1 to {MAX_KEY_BYTES} bytes", f"{field}.externalId")
        if item.text is None and item.content is None:
            raise bad_input("give a text or a content: one of them is needed", f"{field}.text")
        if item.text is not None and item.content is not None:
            raise bad_input("give a text or a content, not both", f"{field}.text")
        if len(item.text or "") > MAX_TEXT:
            raise bad_input(f"at most {MAX_TEXT} characters", f"{field}.text")
        if item.confidence is not None and not 0.0 <= item.confidence <= 1.0:
            raise bad_input("must lie between 0 and 1", f"{field}.confidence")
        if len(item.tags) > MAX_TAGS:
            raise bad_input(f"at most {MAX_TAGS} tags", f"{field}.tags")
        names = {
            "externalId": item.external_id,
            "fileName": item.file_name or "",
            "title": item.title or "",
            "url": item.url or "",
            "tags": "".join(item.tags),
        }
        for name, value in names.items():
            if clean(value)[1]:
                raise bad_input("without NUL or lone surrogates", f"{field}.{name}")
        if len(item.title or "") > MAX_TITLE or len(item.url or "") > MAX_KEY_BYTES:
            raise bad_input("too long", f"{field}.{'url' if len(item.title or '') <= MAX_TITLE else 'title'}")
        if any(not 0 < len(tag) <= MAX_TAG for tag in item.tags):
            raise bad_input(f"1 to {MAX_TAG} characters", f"{field}.tags")


def _told(item: Offered) -> list[str]:
    return [repr(getattr(item, name)) for name in Offered.__dataclass_fields__]


def _receipt(source: UUID, made: Mapping[str, Any]) -> Receipt:
    return Receipt(
        source,
        parse_instant(made["knownAt"]),
        tuple(
            Taken(
                one["externalId"],
                Became(one["became"]),
                None if one["id"] is None else UUID(one["id"]),
                one["problem"],
            )
            for one in made["taken"]
        ),
    )
