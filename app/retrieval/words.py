"""R2, the text leg. Rare lexemes choose the rows, all lexemes score them; what the question quotes counts more."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from app.domain import lexical, phrases
from app.domain.lexical import Analyser
from app.domain.phrases import Phrase
from app.domain.scoring import LEG_CANDIDATES
from app.retrieval.authorise import Authorised
from app.retrieval.redact import searchable
from app.retrieval.timing import Stopwatch
from app.storage import passages, search_text
from app.storage.engine import Session

#: Rows that the lexemes which choose are expected to find: so many, or this share of the chunks that are searched, if
#: that is more. The first ten places are then those of all rows (tests/benchmarks/README.md).
BUDGET, BUDGET_SHARE = 3_000, 0.04
#: A question counts by its first so many different lexemes; a text of that length says no more by its rest.
MOST_LEXEMES = 512
#: How many times as many are looked at when they were too few; the last look is at all lexemes with a meaning.
WIDER = 8


@dataclass(frozen=True, slots=True)
class Query:
    """The question's lexemes over the searched spaces.

    `keys` has those with a meaning, rarest first: in how many chunks each is held, and its key in each space. `weights`
    score by dimension and sum up, with that of each phrase, to `greatest`, which no chunk reaches.
    """

    keys: list[tuple[int, list[int]]]
    weights: dict[int, float]
    greatest: float
    chunks: int
    phrases: tuple[Phrase, ...] = ()
    phrase_weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Words:
    """What the text leg made of a question, and the chunks that it named. `query` None: it holds no word to search.
    `least` is the BM25 of the last one named, once as many were named as may be; else 0. `languages` are those of the
    sources in which something was found."""

    query: Query | None
    found: list[UUID]
    least: float = 0.0
    languages: frozenset[str] = frozenset()


async def search_words(
    session: Session,
    authorised: Authorised,
    text: str | None,
    analyser: Callable[[str], Analyser],
    watch: Stopwatch,
    limit: int = LEG_CANDIDATES,
) -> Words:
    """The text leg, which needs no embedding of the question. `limit`: the most that it names."""
    if text is None or not authorised.sources:
        return Words(None, [])
    with watch.stage("text"):
        query = await _query(session, authorised, text, analyser)
        hits = await _text_leg(session, authorised, query, limit) if query else []
        named = {hit.source_id for hit in hits}
        return Words(
            query,
            [hit.chunk_id for hit in hits],
            hits[-1].signal if len(hits) >= limit else 0.0,
            frozenset(source.language for id, source in authorised.sources.items() if id in named),
        )


async def _query(
    session: Session, authorised: Authorised, text: str, analyser: Callable[[str], Analyser]
) -> Query | None:
    """None when the question holds no lexeme to search for."""
    wanted: dict[str, float] = {}
    content: set[str] = set()
    for language in sorted({source.language for source in authorised.sources.values()}):
        terms = analyser(language).question(text)
        content |= terms.content
        for lexeme, weight in terms.weights.items():
            wanted[lexeme] = max(weight, wanted.get(lexeme, 0.0))
    if not wanted:
        return None
    if len(wanted) > MOST_LEXEMES:
        wanted = dict(islice(wanted.items(), MOST_LEXEMES))
        content &= wanted.keys()
    spaces = sorted({source.space_id for source in authorised.sources.values()})
    keys = {lexeme: [lexical.key(space, lexical.lexeme_id(lexeme)) for space in spaces] for lexeme in wanted}
    counted = await search_text.frequencies(
        session, authorised.scope, spaces, list(authorised.sources), [key for group in keys.values() for key in group]
    )
    held = {lexeme: sum(counted.by_key.get(key, 0) for key in group) for lexeme, group in keys.items()}
    weights = {
        lexical.dimension(lexical.lexeme_id(lexeme)): weight * lexical.idf(held[lexeme], counted.chunks)
        for lexeme, weight in wanted.items()
    }
    quoted = phrases.quoted(text)
    phrase_weight = phrases.weight(counted.chunks)
    return Query(
        keys=[(held[lexeme], keys[lexeme]) for lexeme in sorted(content, key=lambda lexeme: (held[lexeme], lexeme))],
        weights=weights,
        greatest=sum(weights.values()) + len(quoted) * phrase_weight,
        chunks=counted.chunks,
        phrases=quoted,
        phrase_weight=phrase_weight,
    )


async def _text_leg(session: Session, authorised: Authorised, query: Query, limit: int) -> list[search_text.Hit]:
    """As many of the rarest lexemes choose the rows as the budget is for; more of them when they find too few."""
    held = [count for count, _ in query.keys]
    budget = max(BUDGET, int(BUDGET_SHARE * query.chunks))
    hits: list[search_text.Hit] = []
    for taken in sorted({lexical.rarest(held, budget), lexical.rarest(held, WIDER * budget), len(held)}):
        hits = await search_text.search(
            session,
            authorised.scope,
            sources=list(authorised.sources),
            keys=list(zip(*(group for _, group in query.keys[:taken]), strict=True)),
            terms=search_text.term_vector(query.weights),
            limit=limit,
            tags=authorised.tags,
        )
        if len(hits) >= limit:
            break
    return hits


async def phrase_bonus(
    session: Session, authorised: Authorised, query: Query | None, chunks: list[UUID]
) -> dict[UUID, float]:
    """What the quoted phrases that a chunk holds add to its BM25; nothing is read when nothing is quoted. `chunks` are
    those with some word of the question: no other can hold a phrase of it."""
    if query is None or not query.phrases or not chunks:
        return {}
    texts = await passages.passages(session, authorised.scope, chunks)
    held = {
        id: phrases.held(query.phrases, searchable(item, authorised.sources[item.source_id], authorised))
        for id, item in texts.items()
    }
    return {id: number * query.phrase_weight for id, number in held.items() if number}
