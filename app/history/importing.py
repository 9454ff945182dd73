"""Moving in from another store: facts keep the system times that they were recorded at.

Only into an organisation that is new, and strictly in the order of system time; what happened at one instant becomes
visible together.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from app.domain.document import DocumentFacts
from app.domain.errors import Code, MunimentError, bad_input
from app.domain.instant import FIRST
from app.domain.memory import MemoryFacts, Owner
from app.domain.principal import Level, Permission, principal_id
from app.domain.temporal import Erase, applied
from app.history.lines import FactKind, Line, at_line, moments
from app.ingestion.prepare import Content, Preparer
from app.ingestion.reconcile import Cut, contents_needed, cut_of
from app.ingestion.store import Wanted, write_in
from app.memory.people import check_name, ensure_subject
from app.memory.revision import Reviser
from app.providers.ids import new_id
from app.providers.parsers.registry import clean, parse_text
from app.storage import documents, memories, sources, tenancy
from app.storage.engine import Database, WriteSession
from app.storage.memories import VERSIONS, owner_columns
from app.storage.sources import StoredSource

PROVIDER = "import"


@dataclass(slots=True)
class Imported:
    """What an import made: how many operations, and the id of each fact by its name."""

    operations: int = 0
    facts: dict[tuple[FactKind, str], UUID] = field(default_factory=dict)


@dataclass(slots=True)
class HistoryImport:
    """One import into one organisation. May be fed in several goes, as long as system time moves on."""

    database: Database
    preparer: Preparer
    reviser: Reviser
    organisation: UUID
    subject: str
    embed: bool = False
    result: Imported = field(default_factory=Imported)
    _source: StoredSource | None = None
    _root: UUID | None = None

    async def run(self, lines: Iterable[Line], progress: Callable[[int], None] = lambda count: None) -> Imported:
        """CONFLICT when the organisation stands already, or system time runs backwards."""
        for system, together in moments(lines):
            if self._root is None:
                await self._found(system)
            async with self.database.write(self.organisation, system) as session:
                if self._root is None:
                    await self._settle(session)
                await self._documents(session, [line for line in together if line.kind is FactKind.DOCUMENT])
                for line in together:
                    if line.kind is FactKind.MEMORY:
                        with at_line(line.number):
                            await self._memory(session, line)
            self.result.operations += len(together)
            progress(len(together))
        return self.result

    async def _found(self, first: datetime) -> None:
        clock = first - timedelta(microseconds=1) if first > FIRST else first
        made = await tenancy.create_organisation(
            self.database, self.organisation, str(self.organisation), "Imported", clock
        )
        if not made:
            raise MunimentError(Code.CONFLICT, "history is imported into a new organisation only", "organisation")

    async def _settle(self, session: WriteSession) -> None:
        """The organisation's space, a source for its documents, and somebody who may do everything."""
        root = new_id()
        await tenancy.create_space(session, id=root, parent=None, key_path="/", level=Level.ORGANISATION, name="Root")
        person = principal_id(self.organisation, "person", self.subject)
        await tenancy.create_principal(session, person, "person", self.subject)
        for permission in Permission:
            await tenancy.grant(session, new_id(), person, root, permission)
        self._source = await sources.create_source(
            session,
            id=new_id(),
            space=root,
            kind="custom",
            provider=PROVIDER,
            name=PROVIDER,
            classification="internal",
            access_policy={"provider": PROVIDER, "mode": "space"},
            language="english",
        )
        self._root = root

    async def _memory(self, session: WriteSession, line: Line) -> None:
        assert self._root is not None
        known = self.result.facts.get((FactKind.MEMORY, line.fact))
        owner = Owner(self._root) if known is None else await memories.find_owner(session, known)
        if owner is None:
            raise MunimentError(Code.CONFLICT, f"the memory {line.fact} is gone")
        if known is None:
            subject = line.value.get("subject")
            if subject is not None:
                made = await ensure_subject(session, check_name(str(subject), "subject"), self._root)
                owner = Owner(self._root, subject_id=made.id)
            known = new_id()
            await memories.create(session, known, owner)
            self.result.facts[FactKind.MEMORY, line.fact] = known
        op = line.op(self._memory_facts(line))
        if isinstance(op, Erase):
            await VERSIONS.erase(session, known, op.period, **owner_columns(owner))
        else:
            await VERSIONS.change(session, known, op, **owner_columns(owner))

    def _memory_facts(self, line: Line) -> MemoryFacts:
        if "text" not in line.value:
            return MemoryFacts(text="", tokens=0)
        line.changes.check()
        return self.reviser.facts(None, line.changes, 1)

    async def _documents(self, session: WriteSession, lines: Sequence[Line]) -> None:
        if not lines:
            return
        assert self._source is not None
        names = list(dict.fromkeys(line.fact for line in lines))
        believed = await documents.believed(session, self._source.id, names)
        wanted: list[Wanted] = []
        contents: dict[Cut, Content] = {}
        for name in names:
            before = tuple(row.portion for row in believed[name].versions) if name in believed else ()
            after = before
            for line in lines:
                if line.fact == name:
                    facts, content = self._document_facts(line)
                    if content is not None:
                        contents[cut_of(facts)] = content
                    op = line.op(facts)
                    if isinstance(op, Erase):
                        raise bad_input("a document cannot be erased by an import", "op")
                    after = applied(after, op)
            if not contents_needed(before, after) <= contents.keys():
                raise MunimentError(Code.INTERNAL, "an imported document needs a text that is not there")
            wanted.append(Wanted(name, after))
        await write_in(session, self._source, wanted, contents, embed=self.embed)
        for name, document in (await documents.believed(session, self._source.id, names)).items():
            self.result.facts[FactKind.DOCUMENT, name] = document.id

    def _document_facts(self, line: Line) -> tuple[DocumentFacts, Content | None]:
        assert self._source is not None
        if "text" not in line.value:
            return DocumentFacts(b"", line.fact, "", ""), None
        parsed = parse_text(line.fact, clean(str(line.value["text"]))[0])
        if line.value.get("title"):
            parsed = replace(parsed, title=str(line.value["title"]))
        content = self.preparer.content(line.fact, parsed, self._source.language)
        return (
            DocumentFacts(
                content_sha256=content.sha256,
                external_id=line.fact,
                title=content.title,
                mime=content.mime,
                url=line.value.get("url"),
                tags=tuple(line.value.get("tags", ())),
                etag=line.value.get("etag"),
            ),
            content,
        )
