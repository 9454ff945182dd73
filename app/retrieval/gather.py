"""R2. The text and vector legs name candidates; each candidate then gets both of its true signals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app.domain.errors import Code, MunimentError
from app.domain.lexical import Analyser
from app.domain.scoring import LEG_CANDIDATES, normalise_text, normalise_vector
from app.domain.selection import Candidate, Reason, Scores, Selection
from app.retrieval.authorise import Authorised
from app.retrieval.question import Question, Unembedded
from app.retrieval.redact import may_be_sent, outgoing
from app.retrieval.timing import Stopwatch
from app.retrieval.words import Query, Words, phrase_bonus, search_words
from app.storage import passages, search_text, search_vector
from app.storage.engine import Session
from app.storage.passages import Named

STAGE = "index"


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates, how the vector leg ran (`exact`, `hnsw`, `off`), and what a reader should know of the search."""

    selection: Selection
    vector_mode: str
    indexes: tuple[str, ...] = ()
    text_query_empty: bool = False
    bare: frozenset[UUID] = frozenset()

    @property
    def without_embedding(self) -> int:
        """How many candidates have no embedding of the model: `bare` has their ids."""
        return len(self.bare)


NOTHING = Gathered(Selection(()), "off")


async def gather(
    session: Session,
    authorised: Authorised,
    question: Question | None,
    analyser: Callable[[str], Analyser],
    watch: Stopwatch,
    words: Words | None = None,
    *,
    limit: int = LEG_CANDIDATES,
    approximate: bool = False,
) -> Gathered:
    """`words` is the text leg, when it has already run; `limit` the most that a leg names. `approximate`: the vector
    leg may use its index, where that is quicker and the reading is about now."""
    if question is None or not authorised.sources:
        return NOTHING
    if words is None:
        words = await search_words(session, authorised, question.text, analyser, watch, limit)
    query, by_words = words.query, words.found
    by_meaning: list[UUID] = []
    mode = "off"
    if question.vector is not None:
        with watch.stage("vector"):
            mode, by_meaning = await _vector_leg(session, authorised, question, limit, approximate)
    chunks = list(dict.fromkeys([*by_words, *by_meaning]))
    found, bare = await signals(session, authorised, question, query, chunks)
    return Gathered(
        selection=found,
        vector_mode=mode,
        indexes=("text:bm25",) if question.vector is None else ("text:bm25", f"vector:{mode}:{question.model}"),
        text_query_empty=query is None,
        bare=bare,
    )


async def signals(
    session: Session, authorised: Authorised, question: Question, query: Query | None, chunks: list[UUID]
) -> tuple[Selection, frozenset[UUID]]:
    """Candidates with both of their true signals, whoever named them, and which of them have no embedding. What
    belongs to an index version that its source has left behind is set aside."""
    rows = await passages.named(
        session,
        authorised.scope,
        chunks,
        query=question.vector,
        model=question.model,
        terms=search_text.term_vector(query.weights) if query else None,
    )
    bare: frozenset[UUID] = frozenset()
    if question.vector is not None:
        # What may not be sent to be embedded is searched by its words, and lacks nothing.
        bare = frozenset(
            row.chunk_id
            for row in rows
            if row.similarity is None and may_be_sent(authorised, row.source_id, question.endpoint)
        )
        rows = await _compared(session, authorised, question, rows, bare)
    bonus = await phrase_bonus(session, authorised, query, [row.chunk_id for row in rows if row.bm25])
    found = Selection(tuple(_candidate(row, authorised, query, bonus.get(row.chunk_id, 0.0)) for row in rows))
    stale = {
        row.chunk_id: Reason.STALE_INDEX
        for row in rows
        if row.index_version != authorised.sources[row.source_id].index_version
    }
    return found.drop(STAGE, stale), bare


async def _compared(
    session: Session, authorised: Authorised, question: Question, rows: Sequence[Named], bare: frozenset[UUID]
) -> list[Named]:
    """What the words found before its embedding was there is compared all the same: no text waits to be found."""
    wanted = question.require([chunk.bytes for chunk in sorted(bare, reverse=True)])
    if wanted:
        texts = await passages.passages(session, authorised.scope, [UUID(bytes=key) for key in wanted])
        raise Unembedded({id.bytes: outgoing(item, authorised.scanner) for id, item in texts.items()})
    return [
        replace(row, similarity=question.similarity(row.chunk_id.bytes)) if row.chunk_id in bare else row
        for row in rows
    ]


async def _vector_leg(
    session: Session, authorised: Authorised, question: Question, limit: int, approximate: bool
) -> tuple[str, list[UUID]]:
    """How it ran, and what it named. An earlier moment of either clock is always read exactly."""
    assert question.vector is not None
    assert question.model is not None
    mode, hits = await search_vector.planned(
        session,
        authorised.scope,
        sources=list(authorised.sources),
        query=question.vector,
        model=question.model,
        limit=limit,
        tags=authorised.tags,
        approximate=approximate and not authorised.historical,
    )
    return mode, [hit.chunk_id for hit in hits]


def _candidate(row: Named, authorised: Authorised, query: Query | None, bonus: float) -> Candidate:
    """The organisation is checked again here: one missed predicate must not become another tenant's answer."""
    source = authorised.sources.get(row.source_id)
    space = authorised.spaces.get(row.space_id)
    if row.organisation != authorised.scope.organisation or source is None or space is None:
        raise MunimentError(Code.INTERNAL, "a row from outside the permitted scope was refused")
    bm25 = None if row.bm25 is None else row.bm25 + bonus
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
            text=None if query is None or not bm25 else normalise_text(bm25, query.greatest),
            level_weight=authorised.weights[space.level],
            cosine=row.similarity,
            bm25=bm25,
        ),
    )
