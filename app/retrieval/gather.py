"""R2. The text and vector legs name candidates; each candidate then gets both of its true signals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app.domain import lexical
from app.domain.document import embedding_text
from app.domain.errors import Code, MunimentError
from app.domain.lexical import Analyser
from app.domain.scoring import LEG_CANDIDATES, normalise_text, normalise_vector
from app.domain.selection import Candidate, Scores, Selection
from app.retrieval.authorise import Authorised
from app.retrieval.question import Question, Unembedded
from app.retrieval.timing import Stopwatch
from app.storage import passages, search_text, search_vector
from app.storage.engine import Session
from app.storage.passages import Named

#: A lexeme found in more than this share of the searched chunks chooses no rows, as long as rarer ones find enough.
COMMON = 0.05
#: Below this many chunks a lexeme is never called common: scoring them all costs next to nothing.
FEW = 500


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates, how the vector leg ran (`exact` or `off`), and what the reader should know of the search."""

    selection: Selection
    vector_mode: str
    indexes: tuple[str, ...] = ()
    text_query_empty: bool = False
    without_embedding: int = 0


NOTHING = Gathered(Selection(()), "off")


@dataclass(frozen=True, slots=True)
class Words:
    """What the text leg made of a question, and the chunks that it named. `query` None: it holds no word to search."""

    query: "_Query | None"
    found: list[UUID]


async def search_words(
    session: Session, authorised: Authorised, text: str | None, analyser: Callable[[str], Analyser], watch: Stopwatch
) -> Words:
    """The text leg, which needs no embedding of the question."""
    if text is None or not authorised.sources:
        return Words(None, [])
    with watch.stage("text"):
        query = await _query(session, authorised, text, analyser)
        return Words(query, await _text_leg(session, authorised, query) if query else [])


async def gather(
    session: Session,
    authorised: Authorised,
    question: Question | None,
    analyser: Callable[[str], Analyser],
    watch: Stopwatch,
    words: Words | None = None,
) -> Gathered:
    """`words` is the text leg, when it has already run."""
    if question is None or not authorised.sources:
        return NOTHING
    if words is None:
        words = await search_words(session, authorised, question.text, analyser, watch)
    query, by_words = words.query, words.found
    by_meaning: list[UUID] = []
    if question.vector is not None:
        with watch.stage("vector"):
            by_meaning = await _vector_leg(session, authorised, question)
    rows = await passages.named(
        session,
        authorised.scope,
        list(dict.fromkeys([*by_words, *by_meaning])),
        query=question.vector,
        model=question.model,
        terms=search_text.term_vector(query.weights) if query else None,
    )
    without = 0
    if question.vector is not None:
        without = sum(row.similarity is None for row in rows)
        rows = await _compared(session, authorised, question, rows)
    return Gathered(
        selection=Selection(tuple(_candidate(row, authorised, query) for row in rows)),
        vector_mode="off" if question.vector is None else "exact",
        indexes=("text:bm25",) if question.vector is None else ("text:bm25", f"vector:exact:{question.model}"),
        text_query_empty=query is None,
        without_embedding=without,
    )


async def _compared(session: Session, authorised: Authorised, question: Question, rows: Sequence[Named]) -> list[Named]:
    """What the words found before its embedding was there is compared all the same: no text waits to be found."""
    bare = sorted((row.chunk_id for row in rows if row.similarity is None), reverse=True)
    wanted = question.require([chunk.bytes for chunk in bare])
    if wanted:
        texts = await passages.passages(session, authorised.scope, [UUID(bytes=key) for key in wanted])
        raise Unembedded(
            {id.bytes: embedding_text(item.title, item.heading_path, item.text) for id, item in texts.items()}
        )
    return [
        replace(row, similarity=question.similarity(row.chunk_id.bytes)) if row.similarity is None else row
        for row in rows
    ]


async def _vector_leg(session: Session, authorised: Authorised, question: Question) -> list[UUID]:
    assert question.vector is not None
    assert question.model is not None
    hits = await search_vector.search(
        session,
        authorised.scope,
        sources=list(authorised.sources),
        query=question.vector,
        model=question.model,
        limit=LEG_CANDIDATES,
    )
    return [hit.chunk_id for hit in hits]


@dataclass(frozen=True, slots=True)
class _Query:
    """The question's lexemes over the searched spaces: the keys of each, rarest first, and the weights that score."""

    keys: list[tuple[int, list[int]]]
    weights: dict[int, float]
    greatest: float
    chunks: int


async def _query(
    session: Session, authorised: Authorised, text: str, analyser: Callable[[str], Analyser]
) -> _Query | None:
    """None when the question holds no lexeme to search for."""
    wanted: dict[str, float] = {}
    for language in sorted({source.language for source in authorised.sources.values()}):
        for lexeme, weight in analyser(language).query_terms(text).items():
            wanted[lexeme] = max(weight, wanted.get(lexeme, 0.0))
    if not wanted:
        return None
    spaces = sorted({source.space_id for source in authorised.sources.values()})
    keys = {lexeme: [lexical.key(space, lexical.lexeme_id(lexeme)) for space in spaces] for lexeme in wanted}
    counted = await search_text.frequencies(
        session, authorised.scope, spaces, [key for group in keys.values() for key in group]
    )
    held = {lexeme: sum(counted.by_key.get(key, 0) for key in group) for lexeme, group in keys.items()}
    weights = {
        lexical.dimension(lexical.lexeme_id(lexeme)): weight * lexical.idf(held[lexeme], counted.chunks)
        for lexeme, weight in wanted.items()
    }
    rarest_first = sorted(wanted, key=lambda lexeme: (held[lexeme], lexeme))
    return _Query(
        keys=[(held[lexeme], keys[lexeme]) for lexeme in rarest_first],
        weights=weights,
        greatest=sum(weights.values()),
        chunks=counted.chunks,
    )


async def _text_leg(session: Session, authorised: Authorised, query: _Query) -> list[UUID]:
    """Rare lexemes choose the rows; when they find too few the next commoner one joins them, and then all."""
    common = max(COMMON * query.chunks, FEW)
    every = len(query.keys)
    rare = max(1, sum(held <= common for held, _ in query.keys))
    hits: list[search_text.Hit] = []
    for taken in sorted({rare, min(rare + 1, every), every}):
        hits = await search_text.search(
            session,
            authorised.scope,
            sources=list(authorised.sources),
            keys=[key for _, group in query.keys[:taken] for key in group],
            terms=search_text.term_vector(query.weights),
            limit=LEG_CANDIDATES,
        )
        if len(hits) >= LEG_CANDIDATES:
            break
    return [hit.chunk_id for hit in hits]


def _candidate(row: Named, authorised: Authorised, query: _Query | None) -> Candidate:
    """The organisation is checked again here: one missed predicate must not become another tenant's answer."""
    source = authorised.sources.get(row.source_id)
    space = authorised.spaces.get(row.space_id)
    if row.organisation != authorised.scope.organisation or source is None or space is None:
        raise MunimentError(Code.INTERNAL, "a row from outside the permitted scope was refused")
    return Candidate(
        id=row.chunk_id,
        document_id=row.document_id,
        source_id=row.source_id,
        space_id=row.space_id,
        level=space.level,
        provider=source.provider,
        kind=source.kind,
        text_sha256=row.text_sha256,
        scores=Scores(
            vector=None if row.similarity is None else normalise_vector(row.similarity),
            text=None if query is None or not row.bm25 else normalise_text(row.bm25, query.greatest),
            level_weight=authorised.weights[space.level],
        ),
    )
