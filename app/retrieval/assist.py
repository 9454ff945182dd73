"""R4. Graph assist, where it is switched on: what the best hits link to or call joins the candidates, with signals of
its own, and is ranked like any other."""

from dataclasses import replace
from typing import Final
from uuid import UUID

from app.domain.links import named
from app.domain.selection import Candidate
from app.providers.code_graph.registry import is_code
from app.retrieval.authorise import Authorised
from app.retrieval.deadline import Deadline
from app.retrieval.gather import Gathered, signals
from app.retrieval.question import Question
from app.retrieval.rank import rank
from app.retrieval.related import around, asked_for
from app.retrieval.timing import Stopwatch
from app.retrieval.words import Query
from app.storage import links, passages
from app.storage.engine import Session

STAGE: Final = "graph"

#: Best hits that are followed, names of documents that their links may mean, and candidates that may join.
FIRST = 3
MOST_NAMES = 60
MOST = 20


async def assist(
    session: Session,
    authorised: Authorised,
    question: Question | None,
    query: Query | None,
    gathered: Gathered,
    deadline: Deadline,
    watch: Stopwatch,
) -> tuple[Gathered, bool]:
    """The candidates with those that joined, and whether the stage was entered where there was something to follow."""
    if question is None or not gathered.selection.kept:
        return gathered, True
    if deadline.admit(STAGE) is None:
        return gathered, False
    with watch.stage(STAGE):
        best = rank(gathered.selection).kept[:FIRST]
        ids = await _beside(session, authorised, best)
        new = [id for id in ids if id not in gathered.selection.gathered]
        if not new:
            return gathered, True
        found, bare = await signals(session, authorised, question, query, new)
        joined = rank(found).kept[:MOST]
        unscored = {item.id: item for item in found.kept}
        return (
            replace(
                gathered,
                selection=gathered.selection.append(unscored[item.id] for item in joined),
                bare=gathered.bare | bare,
            ),
            True,
        )


async def _beside(session: Session, authorised: Authorised, best: tuple[Candidate, ...]) -> list[UUID]:
    """Chunks one call or one link away, each once."""
    texts = await passages.passages(session, authorised.scope, [item.id for item in best])
    code = [(item, texts[item.id]) for item in best if item.id in texts and is_code(texts[item.id].external_id)]
    called = [item.chunk.chunk_id for item in await around(session, authorised, code)] if code else []
    pages = [item.id for item in best if item.id in texts and not is_code(texts[item.id].external_id)]
    linked = await _linked(session, authorised, pages) if pages else []
    found = list(dict.fromkeys([*called, *linked]))
    if not authorised.tags or not found:
        return found
    told = await passages.passages(session, authorised.scope, found)
    return [id for id in found if id in told and asked_for(told[id], authorised)]


async def _linked(session: Session, authorised: Authorised, pages: list[UUID]) -> list[UUID]:
    order = {id: place for place, id in enumerate(pages)}
    written = sorted(await links.links_of(session, authorised.scope, pages), key=lambda link: order[link.chunk])
    names = dict.fromkeys((link.source_id, name) for link in written for name in named(link.external_id, link.target))
    if not names:
        return []
    return await links.chunks_of(session, authorised.scope, list(names)[:MOST_NAMES])
