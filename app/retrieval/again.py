"""E9. A retrieval made again: from its record and its trace, at its own clocks or at today's, writing nothing.

What other hosts said (a rewriting, a reranking) comes from the trace, and so do the candidates of an approximate leg
and the comparisons with what had no embedding. All else is read and computed anew. No endpoint is asked.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app.domain.dlp.scanning import Redacted
from app.domain.replay import Again, Given, given
from app.domain.reranking import reorder
from app.domain.scoring import leg_candidates
from app.domain.selection import Reason, Selection
from app.domain.trace import Kind, Trace, Traced
from app.providers.embedder.base import Embedder
from app.retrieval.assist import assist
from app.retrieval.authorise import Authorised
from app.retrieval.budget import budget
from app.retrieval.cap import cap
from app.retrieval.contract import deliver
from app.retrieval.deadline import Deadline
from app.retrieval.diversify import diversify
from app.retrieval.gather import Gathered, gather, signals
from app.retrieval.past import Past, scope_then, scope_today
from app.retrieval.pipeline import Retriever
from app.retrieval.question import Question, Unembedded, recompute
from app.retrieval.rank import rank
from app.retrieval.recall import Recalled, recall_of
from app.retrieval.redact import outgoing, redact
from app.retrieval.related import relate
from app.retrieval.timing import Stopwatch
from app.retrieval.trace import fates
from app.retrieval.words import search_words
from app.storage import passages, subjects
from app.storage import replay as storage
from app.storage.engine import Session
from app.storage.subjects import Reachable, Subject


@dataclass(frozen=True, slots=True)
class Told(Question):
    """A question whose comparisons with what has no embedding are known: `cosines` by the key of `recomputed`."""

    cosines: Mapping[bytes, float] | None = None

    def require(self, bare: Sequence[bytes]) -> list[bytes]:
        return [] if self.cosines is not None else Question.require(self, bare)

    def similarity(self, key: bytes) -> float | None:
        return Question.similarity(self, key) if self.cosines is None else self.cosines.get(key)


async def again(session: Session, retriever: Retriever, past: Past, *, now: bool) -> Again:
    """At the clocks that were recorded, within what was searched then; or `now`, within what the same caller may search
    today. SPACE_NOT_FOUND when that is nothing any more."""
    problems: list[str] = []
    authorised = await (scope_today if now else scope_then)(session, retriever.level_weights, past)
    question = await _question(session, retriever, past, problems, now)
    while True:
        try:
            compared, gathered = await _gathered(session, retriever, authorised, past, question, problems, now)
            recalled = await _recalled(session, retriever, authorised, past, compared, problems, now)
            break
        except Unembedded as missing:
            assert question is not None
            question = await _recomputed(retriever, question, missing, problems)
    by_score = rank(gathered.selection)
    ranked = _reranked(by_score, past, problems)
    question = await _with_vectors(session, retriever, authorised, ranked, past, compared, problems)
    parameters, watch = past.parameters, Stopwatch()
    diverse = await diversify(session, authorised, ranked, question, parameters, watch, Deadline())
    capped = cap(diverse, parameters, ranked)
    fetched = await passages.passages(session, authorised.scope, [item.id for item in capped.kept])
    # Without a version of its document a chunk cannot be delivered; only a hand in the database leaves one so.
    capped = capped.drop("cap", {item.id: Reason.TOP_K for item in capped.kept if item.id not in fetched})
    related, beside = await relate(session, authorised, capped, fetched, parameters)
    redacted, texts = redact(related, beside, authorised, retriever.tokens.count)
    selection, _ = budget(redacted, texts, parameters, recalled.tokens)
    delivered = deliver(selection, texts, authorised)
    got = (
        *(
            Given(
                item.candidate.id,
                item.candidate.document_id,
                item.source.id,
                item.content_sha256,
                None
                if item.candidate.related is None
                else (item.candidate.related.to, item.candidate.related.relation.value),
            )
            for item in delivered
        ),
        *(
            Given(item.candidate.id, item.candidate.hit.memory_id, None, item.candidate.hit.text_sha256.hex())
            for item in recalled.delivered
        ),
    )
    if past.may_have_skipped_diversity and not now and got != given(past.record):
        problems.append("mmr")
    return Again(
        given=got,
        traced=fates(ranked, selection, delivered, recalled),
        weights={level.value: weight for level, weight in authorised.weights.items()},
        spaces=frozenset(authorised.spaces),
        sources=frozenset(authorised.sources),
        policy_version=authorised.policy.version,
        model=None if retriever.embedder is None else retriever.embedder.model,
        owners=frozenset(recalled.groups) | ({recalled.subject_id} if recalled.subject_id else set()),
        problems=tuple(dict.fromkeys(problems)),
    )


async def _question(
    session: Session, retriever: Retriever, past: Past, problems: list[str], now: bool
) -> Question | None:
    """As it was searched. Without a trace it is embedded anew, if its model is within the process; so it is where
    today's model is another."""
    record, embedder = past.record, retriever.embedder
    if record["querySha256"] is None or past.query is None:
        return None
    if past.trace is not None:
        facts, vector = past.facts, past.trace.vector
        text, original = facts["rewrittenQuery"] or past.query, past.query
        if not now or vector is None or (embedder is not None and embedder.model == facts["model"]):
            return Told(
                text=text,
                vector=vector,
                model=None if vector is None else facts["model"],
                original=original if text != original else None,
                cosines=None if now else await _cosines(session, past),
            )
        return await _embedded(embedder, text, problems, original if text != original else None)
    if record["rewrittenSha256"] is not None:
        problems.append("rewrite")
    if record["rerankModel"] is not None:
        problems.append("rerank")
    if record["model"] is None:
        return Question(past.query, None, None)
    if not now and (embedder is None or embedder.model != record["model"]):
        problems.append("embed")
        return Question(past.query, None, None)
    return await _embedded(embedder, past.query, problems)


async def _embedded(
    embedder: Embedder | None, text: Redacted, problems: list[str], original: Redacted | None = None
) -> Question:
    """By the model of today, as long as that asks no endpoint."""
    if embedder is None:
        return Question(text, None, None, original=original)
    if not embedder.in_process:
        problems.append("embed")
        return Question(text, None, None, original=original)
    vector = await embedder.embed_query(text)
    return Question(
        text,
        vector,
        embedder.model,
        original=original,
        readable=embedder.reads(text),
        languages=embedder.languages,
    )


async def _recomputed(retriever: Retriever, question: Question, missing: Unembedded, problems: list[str]) -> Question:
    """With the vectors that were missing; without them where an endpoint would have to be asked."""
    embedder = retriever.embedder
    if embedder is not None and embedder.model == question.model and embedder.in_process:
        return await recompute(question, missing, embedder, Stopwatch())
    problems.append("embed")
    known = {key: value for key in missing.texts if (value := question.similarity(key)) is not None}
    return Told(question.text, question.vector, question.model, original=question.original, cosines=known)


async def _cosines(session: Session, past: Past) -> dict[bytes, float]:
    """Cosines of the trace to what had no embedding, by chunk id and by SHA-256 of a memory's text."""
    assert past.trace is not None
    told = {item.item: item.signals["cosine"] for item in past.trace.candidates}
    memories = [item.item for item in past.trace.candidates if item.source is None]
    texts = await storage.items(session, memories, past.valid_at, past.known_at)
    keys = {id: texts[id].text_sha256 if id in texts else id.bytes for id in told}
    bare = {bytes.fromhex(key) for key in past.facts.get("recomputed", ())}
    return {keys[id]: cosine for id, cosine in told.items() if cosine is not None and keys[id] in bare}


async def _gathered(
    session: Session,
    retriever: Retriever,
    authorised: Authorised,
    past: Past,
    question: Question | None,
    problems: list[str],
    now: bool,
) -> tuple[Question | None, Gathered]:
    """The question as it was compared, and the candidates. Both legs run again where they are exact; those of the trace
    are looked at in any case."""
    watch, limit = Stopwatch(), leg_candidates(past.parameters.top_k)
    text = None if question is None else question.text
    words = await search_words(session, authorised, text, retriever.analyser, watch, limit)
    compared = question and question.compared_with(words.languages)
    approximate = any(index.startswith("vector:hnsw") for index in past.record["indexes"])
    named = [] if past.trace is None or now else _named(past.trace.candidates)
    if approximate and not now:
        if past.trace is None:
            problems.append("vector")
        elif compared is not None and authorised.sources:
            found, bare = await signals(session, authorised, compared, words.query, named)
            return compared, Gathered(found, "hnsw", bare=bare)
    gathered = await gather(session, authorised, compared, retriever.analyser, watch, words, limit=limit)
    if retriever.graph_assist and (now or past.trace is None):
        gathered, _ = await assist(session, authorised, compared, words.query, gathered, Deadline(None), watch)
    beside = [id for id in named if id not in gathered.selection.gathered]
    if beside and compared is not None and authorised.sources:
        found, bare = await signals(session, authorised, compared, words.query, beside)
        gathered = replace(
            gathered,
            selection=gathered.selection.append(found.kept),
            bare=gathered.bare | bare,
        )
    return compared, gathered


def _named(candidates: Sequence[Traced]) -> list[UUID]:
    """The chunks that search named; what has no place among them joined later."""
    return [item.item for item in candidates if item.source is not None and item.rank is not None]


def _reranked(by_score: Selection, past: Past, problems: list[str]) -> Selection:
    """In the order that the reranker made, as the trace tells."""
    if past.trace is None:
        return by_score
    said = {
        item.item: score
        for item in past.trace.candidates
        if item.kind in (Kind.PASSAGE, Kind.RELATED) and (score := item.signals["rerank"]) is not None
    }
    said = {item.id: said[item.id] for item in by_score.kept if item.id in said}
    return by_score.rewrite(reorder(by_score.kept, said)) if said else by_score


async def _recalled(
    session: Session,
    retriever: Retriever,
    authorised: Authorised,
    past: Past,
    question: Question | None,
    problems: list[str],
    now: bool,
) -> Recalled:
    """Memories of the same subject and groups, whoever looks; when `now`, of those that the caller reaches today."""
    record = past.record
    if not record.get("includeMemories", bool(record["memories"])):
        return Recalled()
    reached = None
    scope = past.scope
    subject: UUID | None = None
    groups: list[UUID] = []
    if scope is not None:
        subject = UUID(scope["subject"]) if scope["subject"] else None
        groups = [UUID(id) for id in scope["groups"]]
    elif record["subjectPseudonym"] is not None:
        # Its name is not recorded. Whose memories were delivered tells whose were recalled.
        problems.append("recall")
        owners = await storage.owners(session, [UUID(item["memoryId"]) for item in record["memories"]])
        subject = next((row.subject_id for row in owners if row.subject_id), None)
        groups = sorted({row.group_id for row in owners if row.group_id})
    if subject is not None:
        row = await storage.subject(session, subject)
        reached = None if row is None else Reachable(Subject(*row), groups)
    if now and reached is not None:
        found = await subjects.reachable(
            session,
            reached.subject.external_id,
            user=past.principal.id,
            principals=past.principal.identities,
            valid_at=authorised.scope.as_of.valid_at,
            known_at=authorised.scope.as_of.system_at,
            now=authorised.now,
        )
        reached = next((one for one in found if one.subject.id == subject), None)
    return await recall_of(
        session,
        authorised,
        past.parameters.max_memories,
        question,
        retriever.max_candidates,
        reached,
        retriever.tokens.count,
    )


async def _with_vectors(
    session: Session,
    retriever: Retriever,
    authorised: Authorised,
    ranked: Selection,
    past: Past,
    question: Question | None,
    problems: list[str],
) -> Question | None:
    """Diversity compares the candidates with each other: those without an embedding are embedded anew, in process."""
    trade_off = past.parameters.mmr_lambda
    if trade_off is None or trade_off == 1.0 or question is None or question.vector is None:
        return question
    stored = await passages.vectors(session, authorised.scope, [item.id for item in ranked.kept], question.model)
    # One that was compared all the same had its vector then.
    bare = [item.id for item in ranked.kept if item.id not in stored and item.scores.cosine is not None]
    if not bare:
        return question
    embedder = retriever.embedder
    if embedder is None or embedder.model != question.model or not embedder.in_process:
        problems.append("mmr")
        return question
    texts = await passages.passages(session, authorised.scope, bare)
    vectors = await embedder.embed_documents([outgoing(texts[id], authorised.scanner) for id in bare if id in texts])
    return replace(
        question,
        recomputed=dict(zip((id.bytes for id in bare if id in texts), vectors, strict=True)),
    )


def rerun(
    retriever: Retriever,
) -> Callable[[Session, Mapping[str, Any], Trace | None, Redacted | None, tuple[UUID, ...], bool], Awaitable[Again]]:
    """`again` as evidence knows it."""

    async def run(
        session: Session,
        record: Mapping[str, Any],
        trace: Trace | None,
        query: Redacted | None,
        groups: tuple[UUID, ...],
        now: bool,
    ) -> Again:
        return await again(session, retriever, Past(record, trace, query, groups), now=now)

    return run
