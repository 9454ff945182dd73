"""What matched the question but is not in force at the point of both clocks that is read.

Counted are documents, once each, by the text of theirs that matches best: it is not yet true (NOT_YET_VALID), no longer
true (EXPIRED), or no longer believed while the document now says something else (SUPERSEDED). A document that gave a
candidate is in force and matches: that it was edited is no news. A match is what the text leg would have named. What
was deleted whole is not told of, and nothing is that was stamped after `knownAt`.
"""

from app.domain.contract import Exclusion, sentence
from app.domain.errors import Code, MunimentError
from app.domain.selection import Reason
from app.domain.trace import NEAR_MISS, NearMiss
from app.retrieval.authorise import Authorised
from app.retrieval.gather import Gathered
from app.retrieval.words import Words
from app.storage import near_misses as storage
from app.storage.engine import Session
from app.storage.search_text import term_vector

#: Chunks that the lexemes which choose rows may stand in: rarest first, as far as this goes.
MOST_HELD = 400
#: How many of them choose.
MOST_LEXEMES = 16


async def near_misses(session: Session, authorised: Authorised, words: Words) -> tuple[NearMiss, ...]:
    """One statement, beside the text leg; none where no lexeme is rare enough to choose rows by."""
    query = words.query
    if query is None:
        return ()
    keys: list[int] = []
    room = MOST_HELD
    for held, group in query.keys[:MOST_LEXEMES]:
        room -= held
        if room < 0:
            break
        keys += group
    if not keys:
        return ()
    found = await storage.search(
        session,
        authorised.scope,
        sources=list(authorised.sources),
        keys=keys,
        terms=term_vector(query.weights),
        least=words.least,
        named=words.found,
        tags=authorised.tags,
    )
    if any(
        row.organisation != authorised.scope.organisation or row.source_id not in authorised.sources for row in found
    ):
        raise MunimentError(Code.INTERNAL, "a row from outside the permitted scope was refused")
    return tuple(NearMiss(row.document_id, row.source_id, row.space_id, Reason(row.reason)) for row in found)


def beside(missed: tuple[NearMiss, ...], gathered: Gathered) -> tuple[NearMiss, ...]:
    """Those of documents that gave no candidate, whichever leg named it."""
    documents = {item.document_id for item in gathered.selection.kept}
    return tuple(item for item in missed if item.document not in documents)


def count(missed: tuple[NearMiss, ...], authorised: Authorised) -> tuple[Exclusion, ...]:
    """By reason, provider and source kind, in documents. None of them was a candidate."""
    counted: dict[tuple[Reason, str, str], int] = {}
    for item in missed:
        source = authorised.sources[item.source]
        group = (item.reason, source.provider, source.kind)
        counted[group] = counted.get(group, 0) + 1
    return tuple(
        Exclusion(reason, NEAR_MISS, provider, kind, number, sentence(reason))
        for (reason, provider, kind), number in counted.items()
    )
