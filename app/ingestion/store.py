"""One batch of documents, from wanted timelines to one stamped write."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from app.domain import lexical
from app.domain.document import DocumentFacts
from app.domain.errors import Code, MunimentError
from app.domain.temporal import Timeline
from app.ingestion.prepare import Content
from app.ingestion.reconcile import Cut, Plan, contents_needed, plan
from app.providers.ids import new_id
from app.storage import documents, policies, sources
from app.storage.chunks import CopiedChunk, NewChunk
from app.storage.documents import Batch, Believed
from app.storage.engine import Database, WriteSession
from app.storage.search_text import term_vector
from app.storage.sources import StoredSource

#: How often a batch is planned anew because somebody else changed one of its documents meanwhile.
ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """What should be believed of a document from now on."""

    external_key: str
    timeline: Timeline[DocumentFacts]
    continues: Timeline[DocumentFacts] | None = field(default=None, kw_only=True)
    """What was believed when the timeline was made from it; None when the timeline stands by itself."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a batch changed."""

    documents: int = 0
    versions: int = 0
    chunks: int = 0


class Moved(Exception):
    """A document, or the policy on what its index holds, was changed after its contents were prepared."""


async def write_batch(
    database: Database,
    organisation: UUID,
    source: StoredSource,
    wanted: Sequence[Wanted],
    contents: Mapping[Cut, Content],
    *,
    embed: bool,
    at: datetime | None = None,
) -> Written:
    """Write what differs. What is believed is read again under the clock's lock, so that no other writer is undone;
    `Moved` when a timeline continues something else, needs contents that were not prepared, or the policy changed."""
    async with database.write(organisation, at) as session:
        return await write_in(session, source, wanted, contents, embed=embed)


async def write_in(
    session: WriteSession,
    source: StoredSource,
    wanted: Sequence[Wanted],
    contents: Mapping[Cut, Content],
    *,
    embed: bool,
) -> Written:
    """The same inside a transaction that is open already. NOT_FOUND when the source was deleted meanwhile."""
    if wanted and await sources.source_by_id(session, source.id) is None:
        raise MunimentError(Code.NOT_FOUND, "the source was deleted")
    # The policy may be another by now: what was made under the last one is made anew.
    if contents and {content.masks for content in contents.values()} != {await policies.masks(session, source.id)}:
        raise Moved(source.name)
    believed = await documents.believed(session, source.id, [item.external_key for item in wanted])
    batch, written = await asyncio.to_thread(_batch, source, wanted, contents, believed)
    if written.documents:
        await documents.write(session, source, batch, embed=embed)
    return written


def unchanged(wanted: Wanted, believed: Believed | None) -> bool:
    """Whether the store already believes exactly this."""
    before = () if believed is None else tuple(row.portion for row in believed.versions)
    return before == wanted.timeline


def _batch(
    source: StoredSource, wanted: Sequence[Wanted], contents: Mapping[Cut, Content], believed: Mapping[str, Believed]
) -> tuple[Batch, Written]:
    batch, touched = Batch(), 0
    for item in wanted:
        known = believed.get(item.external_key)
        before = () if known is None else tuple(row.portion for row in known.versions)
        needed = contents_needed(before, item.timeline)
        overtaken = item.continues is not None and item.continues != before
        if overtaken or not needed <= contents.keys():
            raise Moved(item.external_key)
        change = plan(
            () if known is None else known.versions,
            () if known is None else known.chunks,
            item.timeline,
            {cut: contents[cut].slices for cut in needed},
        )
        if change.empty:
            continue
        touched += 1
        id = new_id() if known is None else known.id
        if known is None:
            batch.documents.append((id, item.external_key))
        batch.contents |= {cut[0]: contents[cut].text for cut in needed}
        batch.graphs |= {cut[0]: graph for cut in needed if (graph := contents[cut].graph) is not None}
        _add(batch, source, id, change)
    return batch, Written(touched, len(batch.versions), len(batch.chunks))


def _add(batch: Batch, source: StoredSource, document: UUID, change: Plan) -> None:
    batch.close_versions += change.close_versions
    batch.versions += [(document, portion) for portion in change.insert_versions]
    batch.close_chunks += change.close_chunks
    batch.copies += [CopiedChunk(new_id(), item.chunk_id, item.period) for item in change.derive]
    # What still holds is embedded first: questions about now are the common ones.
    for item in sorted(change.create, key=lambda created: created.period.end is not None):
        weights = item.slice.lexemes
        batch.chunks.append(
            NewChunk(
                id=new_id(),
                document_id=document,
                period=item.period,
                content_sha256=item.content_sha256,
                slice=item.slice,
                keys=lexical.keys(source.space_id, weights),
                terms=term_vector({lexical.dimension(number): weight for number, weight in weights.items()}),
            )
        )


def gone_wrong() -> MunimentError:
    return MunimentError(Code.CONFLICT, "the source is being changed by somebody else; try again")
