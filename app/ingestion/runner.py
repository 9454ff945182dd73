"""Ingesting a source: read in batches, prepare what is new, write what differs. Twice changes nothing.

A source hands over documents as *drafts*: for each document the periods in which each of its revisions holds, and how
to read their bytes. Whether it is a folder or a git history makes no difference from there on.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TypeAlias, TypeVar
from uuid import UUID

from app.domain.document import DocumentFacts
from app.domain.errors import MunimentError
from app.domain.memory import TransformType
from app.domain.temporal import Period, Portion, Timeline, assert_fact, at, clip, coalesce, retract, update_fact
from app.ingestion.prepare import Content, Preparer
from app.ingestion.preparing import go_on, in_thread
from app.ingestion.reconcile import Cut, contents_needed, cut_of
from app.ingestion.report import Report
from app.ingestion.store import ATTEMPTS, Moved, Wanted, gone_wrong, unchanged, write_batch
from app.providers.parsers.blocks import Unsupported
from app.providers.parsers.registry import parse
from app.storage import documents, policies
from app.storage.documents import Believed
from app.storage.engine import Database
from app.storage.sources import StoredSource

T = TypeVar("T")

#: A document's name at its source is a key of an index.
MAX_KEY_BYTES = 2000
#: Documents of one write. The clock is held for one batch at a time.
BATCH = 64


@dataclass(frozen=True, slots=True)
class Revision:
    """The bytes of a document during one period. `etag` names them at the source."""

    period: Period
    external_id: str
    etag: str
    created_at: datetime | None
    updated_at: datetime | None
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Draft:
    """A document at its source: all its history; or, with `read_at`, only what it was at that instant, and gone when
    there is no revision."""

    external_key: str
    revisions: tuple[Revision, ...]
    read_at: datetime | None = None


Progress = Callable[[int], None]
#: What should be believed of a batch, with the contents that are new.
Prepared: TypeAlias = tuple[list[Wanted], dict[Cut, Content]]


@dataclass(frozen=True, slots=True)
class Ingestion:
    """One run over one source."""

    database: Database
    organisation: UUID
    source: StoredSource
    preparer: Preparer
    embed: bool
    tags: tuple[str, ...] | None = None

    async def run(self, drafts: Iterable[Draft], report: Report, progress: Progress = lambda count: None) -> None:
        """Each batch is prepared while the one before is written: the one takes this process, the other the database.
        They share no document."""

        waiting: deque[tuple[Sequence[Draft], asyncio.Task[Prepared]]] = deque()

        async def finish() -> None:
            batch, prepared = waiting[0]
            await self._write(batch, await prepared, report)
            waiting.popleft()
            report.seen += len(batch)
            progress(len(batch))

        try:
            for batch in _batches(_nameable(drafts, report), BATCH):
                waiting.append((batch, asyncio.create_task(self._prepare(batch, report))))
                if len(waiting) > 1:
                    await finish()
            while waiting:
                await finish()
        finally:
            # What went wrong is told as it is; what was being prepared beside it is of no use any more.
            for _, prepared in waiting:
                prepared.cancel()
            await asyncio.gather(*(prepared for _, prepared in waiting), return_exceptions=True)

    async def _prepare(self, drafts: Sequence[Draft], report: Report) -> Prepared:
        keys = [draft.external_key for draft in drafts]
        async with self.database.snapshot(self.organisation) as session:
            believed = await documents.believed(session, self.source.id, keys)
            masks = await policies.masks(session, self.source.id)
        work = _Work(self.preparer, self.source.language, self.tags, report, masks)
        return await in_thread(work.prepare, drafts, believed)

    async def _write(self, drafts: Sequence[Draft], prepared: Prepared, report: Report) -> None:
        for _ in range(ATTEMPTS):
            wanted, contents = prepared
            if not wanted:
                return
            try:
                report.add(
                    await write_batch(self.database, self.organisation, self.source, wanted, contents, embed=self.embed)
                )
            except Moved:
                prepared = await self._prepare(drafts, report)
                continue
            return
        raise gone_wrong()


class _Work:
    """Preparing one batch, off the event loop."""

    def __init__(
        self, preparer: Preparer, language: str, tags: tuple[str, ...] | None, report: Report, masks: bool
    ) -> None:
        self._masks = masks
        self._preparer = preparer
        self._language = language
        self._tags = tags
        self._report = report
        self._read: dict[tuple[str, str], Content | None] = {}

    def prepare(self, drafts: Sequence[Draft], believed: Mapping[str, Believed]) -> Prepared:
        wanted: list[Wanted] = []
        contents: dict[Cut, Content] = {}
        for draft in drafts:
            go_on()
            known = believed.get(draft.external_key)
            before = () if known is None else tuple(row.portion for row in known.versions)
            item = Wanted(draft.external_key, self._timeline(draft, before), continues=before)
            if unchanged(item, known):
                continue
            wanted.append(item)
            needed = contents_needed(before, item.timeline)
            for revision in draft.revisions:
                facts = self._facts(revision, before)
                if facts is not None and cut_of(facts) in needed and cut_of(facts) not in contents:
                    content = self._content(revision)
                    if content is not None:
                        contents[cut_of(facts)] = content
        return wanted, contents

    def _timeline(self, draft: Draft, before: Timeline[DocumentFacts]) -> Timeline[DocumentFacts]:
        portions = [
            Portion(revision.period, facts)
            for revision in draft.revisions
            if (facts := self._facts(revision, before)) is not None
        ]
        if draft.read_at is None:
            return self._corrected(draft, before, coalesce(tuple(portions)))
        if not draft.revisions:
            return retract(before, Period(draft.read_at, None))
        timeline = before
        for portion in portions:
            held = at(timeline, draft.read_at)
            if held is None or not (held.value == portion.value or _corrects(held.value, portion.value)):
                timeline = assert_fact(timeline, _since(timeline, portion.period, draft.read_at), portion.value)
        return timeline

    def _corrected(
        self, draft: Draft, before: Timeline[DocumentFacts], timeline: Timeline[DocumentFacts]
    ) -> Timeline[DocumentFacts]:
        """What was corrected by hand stays, wherever the source still has the bytes that were corrected."""
        for portion in before:
            for revision in draft.revisions:
                read = DocumentFacts(b"", revision.external_id, "", "", etag=revision.etag)
                if _corrects(portion.value, read):
                    for piece in clip([portion.period], revision.period):
                        timeline = update_fact(timeline, piece, portion.value)
        return timeline

    def _facts(self, revision: Revision, before: Timeline[DocumentFacts]) -> DocumentFacts | None:
        """What is known of the bytes: from the store where it has read them before, else by reading them now."""
        for portion in before:
            held = portion.value
            if (held.etag, held.external_id) == (revision.etag, revision.external_id) and not _by_hand(held):
                return held if self._tags is None else replace(held, tags=self._tags)
        content = self._content(revision)
        if content is None:
            return None
        return DocumentFacts(
            content_sha256=content.sha256,
            external_id=revision.external_id,
            title=content.title,
            mime=content.mime,
            etag=revision.etag,
            tags=self._tags if self._tags is not None else before[-1].value.tags if before else (),
            source_created_at=revision.created_at,
            source_updated_at=revision.updated_at,
        )

    def _content(self, revision: Revision) -> Content | None:
        """None when the bytes cannot be read as text; the report then says why."""
        key = (revision.external_id, revision.etag)
        if key not in self._read:
            self._read[key] = self._parsed(revision)
        return self._read[key]

    def _parsed(self, revision: Revision) -> Content | None:
        try:
            parsed = parse(revision.external_id, revision.read())
            content = self._preparer.content(revision.external_id, parsed, self._language, self._masks)
        except (Unsupported, MunimentError, OSError) as error:
            self._report.failures[revision.external_id] = str(error)
            return None
        if content.problems and revision.period.end is None:
            self._report.repairs[revision.external_id] = "; ".join(content.problems)
        return content


def _by_hand(facts: DocumentFacts) -> bool:
    return facts.transform_type == TransformType.MANUAL.value


def _corrects(held: DocumentFacts, read: DocumentFacts) -> bool:
    """Whether what is held was put by hand in the place of these very bytes."""
    return _by_hand(held) and (held.etag, held.external_id) == (read.etag, read.external_id)


def _since(before: Timeline[DocumentFacts], period: Period, read_at: datetime) -> Period:
    """When what was read began to hold. It may be older than what was last seen in its place (an old file put back);
    then it came there after that, at the latest when it was read."""
    edges = [edge for portion in before for edge in (portion.period.start, portion.period.end) if edge is not None]
    overtaken = any(period.start is None or period.start < edge <= read_at for edge in edges)
    return Period(read_at, period.end) if overtaken else period


def _nameable(drafts: Iterable[Draft], report: Report) -> Iterator[Draft]:
    """What can be told apart by its name; the others are reported, and stop nothing."""
    seen: set[str] = set()
    for draft in drafts:
        if draft.external_key in seen:
            report.failures[draft.external_key] = "Another file has the same name here."
        elif len(draft.external_key.encode()) > MAX_KEY_BYTES:
            report.failures[draft.external_key[:200] + "…"] = f"Its name is longer than {MAX_KEY_BYTES} bytes."
        else:
            seen.add(draft.external_key)
            yield draft


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
