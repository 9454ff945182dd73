"""R7. Beside the first ranked passages of code: what they call, what calls them and what tests them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.domain.code_graph import MOST, PER_RELATION, Call, Names, Neighbour, Place, Span, held, neighbours
from app.domain.errors import Code, MunimentError
from app.domain.selection import Candidate, Related, Relation, Scores, Selection
from app.providers.code_graph.registry import is_code, is_test_file
from app.retrieval.authorise import Authorised
from app.retrieval.request import Parameters
from app.storage import code_graph, passages
from app.storage.code_graph import Definition, Found, Surroundings, Wanted
from app.storage.engine import Session
from app.storage.passages import Passage

STAGE = "related"

#: Ranked chunks of code that are looked around from.
FIRST = 3
#: Places of one relation whose chunk is looked for: some will be delivered already.
LOOKED_FOR = 2 * PER_RELATION


async def relate(
    session: Session,
    authorised: Authorised,
    selection: Selection,
    texts: Mapping[UUID, Passage],
    parameters: Parameters,
) -> tuple[Selection, Mapping[UUID, Passage]]:
    """The selection with related passages at its end, and the texts with theirs. Nothing is asked where no passage is
    of code. What a cap left out may come back here, for another reason and without a score."""
    if parameters.exclude_related:
        return selection, texts
    ranked = [item for item in selection.kept if is_code(texts[item.id].external_id)][:FIRST]
    if not ranked:
        return selection, texts
    beside = await around(session, authorised, [(item, texts[item.id]) for item in ranked])
    chosen = _chosen(beside, selection, authorised)
    if not chosen:
        return selection, texts
    found = await passages.passages(session, authorised.scope, [item.id for item in chosen])
    fitting = [item for item in chosen if item.id in found and asked_for(found[item.id], authorised)]
    return selection.append(fitting), {**texts, **{item.id: found[item.id] for item in fitting}}


@dataclass(frozen=True, slots=True)
class Beside:
    """The chunk of a place that is related to a ranked one."""

    to: Candidate
    relation: Relation
    chunk: Found


async def around(session: Session, authorised: Authorised, ranked: Sequence[tuple[Candidate, Passage]]) -> list[Beside]:
    """Related chunks, by ranked chunk and relation, the closest first; a chunk may appear for several."""
    about = await code_graph.surroundings(session, authorised.scope, [item.id for item, _ in ranked])
    wanted: list[tuple[Candidate, Neighbour]] = []
    names: dict[UUID, Names] = {
        source: Names(_place(row) for row in about.definitions if row.source_id == source)
        for source in {item.source_id for item, _ in ranked}
    }
    for item, passage in ranked:
        taken: Counter[Relation] = Counter()
        for neighbour in _neighbours(item, passage, about, names[item.source_id]):
            if taken[neighbour.relation] < LOOKED_FOR:
                taken[neighbour.relation] += 1
                wanted.append((item, neighbour))
    if not wanted:
        return []
    found = await code_graph.places(session, authorised.scope, [_wanted(neighbour.place) for _, neighbour in wanted])
    by_position = {chunk.position: chunk for chunk in found}
    return [
        Beside(item, neighbour.relation, by_position[position])
        for position, (item, neighbour) in enumerate(wanted)
        if position in by_position
    ]


def _neighbours(item: Candidate, passage: Passage, about: Surroundings, names: Names) -> list[Neighbour]:
    """What the domain makes of the rows of one chunk and of its source."""
    spans = [Span(_place(row), row.end) for row in about.held if row.chunk == item.id]
    return neighbours(
        held(spans, passage.start_offset, passage.end_offset),
        [_call(row) for row in about.inside if row.chunk == item.id],
        [_call(row) for row in about.towards if row.source_id == item.source_id],
        names,
    )


def _place(row: Definition) -> Place:
    is_test = row.is_test and is_test_file(row.external_id)
    return Place(row.document_id, row.external_id, row.name, row.qualified_name, row.kind, row.start, is_test)


def _call(row: code_graph.Call) -> Call:
    # At module level the place is the call itself, and is known by what is called.
    caller = (
        Place(row.document_id, row.external_id, row.name, None, "module", row.offset)
        if row.within is None
        else _place(row.within)
    )
    return Call(row.name, row.qualifier, row.target, caller, row.offset)


def _wanted(place: Place) -> Wanted:
    return Wanted(place.document, place.name, place.qualified_name)


def _chosen(beside: Sequence[Beside], selection: Selection, authorised: Authorised) -> list[Candidate]:
    """Up to two of each relation for a ranked chunk and six in all, none of which is delivered already."""
    ids = {item.id for item in selection.kept}
    words = {item.text_sha256 for item in selection.kept}
    taken: Counter[tuple[UUID, Relation]] = Counter()
    chosen: list[Candidate] = []
    for item in beside:
        chunk, key = item.chunk, (item.to.id, item.relation)
        source = authorised.sources.get(chunk.source_id)
        if chunk.organisation != authorised.scope.organisation or source is None:
            raise MunimentError(Code.INTERNAL, "a row from outside the permitted scope was refused")
        space = authorised.spaces.get(chunk.space_id)
        if (
            len(chosen) == MOST
            or taken[key] == PER_RELATION
            or chunk.chunk_id in ids
            or chunk.text_sha256 in words
            or chunk.index_version != source.index_version
            or space is None
        ):
            continue
        taken[key] += 1
        ids.add(chunk.chunk_id)
        words.add(chunk.text_sha256)
        chosen.append(
            Candidate(
                id=chunk.chunk_id,
                document_id=chunk.document_id,
                source_id=chunk.source_id,
                space_id=chunk.space_id,
                level=space.level,
                provider=source.provider,
                kind=source.kind,
                text_sha256=chunk.text_sha256,
                scores=Scores(level_weight=authorised.weights[space.level]),
                related=Related(item.to.id, item.relation),
            )
        )
    return chosen


def asked_for(passage: Passage, authorised: Authorised) -> bool:
    """Filters on tags hold for what is beside a passage too; those on sources do since it is of the same source."""
    return all(not set(tags).isdisjoint(passage.tags) for tags in authorised.tags)
