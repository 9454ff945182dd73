"""R10. What was given, what was left out and why, and what a careful reader should know."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from app.domain.contract import Exclusion, Limitation, LimitationCode, sentence, summarise
from app.domain.selection import Reason, Selection
from app.retrieval.answer import Delivered, SourceSummary
from app.retrieval.authorise import Authorised
from app.retrieval.gather import Gathered
from app.retrieval.recall import Recalled
from app.retrieval.redact import shown_source
from app.storage.passages import Passage


def deliver(selection: Selection, texts: Mapping[UUID, Passage], authorised: Authorised) -> tuple[Delivered, ...]:
    """The kept passages in order, numbered from 1 as their citations are."""
    contributing = {item.source_id for item in selection.kept}
    sources = {id: shown_source(authorised.sources[id], authorised) for id in contributing}
    return tuple(
        Delivered(
            index=number,
            candidate=item,
            passage=texts[item.id],
            source=sources[item.source_id],
            space=authorised.spaces[item.space_id],
            content_sha256=item.text_sha256.hex(),
        )
        for number, item in enumerate(selection.kept, 1)
    )


def exclusions(selection: Selection, recalled: Recalled, authorised: Authorised, asked: bool) -> tuple[Exclusion, ...]:
    """Counts by reason. Nothing here speaks of a space or a source that the caller may not see."""
    gathered = {item.provider for item in selection.kept} | {item.candidate.provider for item in selection.excluded}
    silent = sorted({source.provider for source in authorised.sources.values()} - gathered) if asked else []
    return (
        *authorised.exclusions,
        *(
            Exclusion(Reason.NO_RESULTS, "gather", provider, None, None, sentence(Reason.NO_RESULTS))
            for provider in silent
        ),
        *summarise((*selection.excluded, *recalled.excluded)),
    )


def summarise_sources(delivered: Sequence[Delivered]) -> tuple[SourceSummary, ...]:
    """One line a source that contributed, in the order of first appearance."""
    by_source: dict[UUID, list[Delivered]] = {}
    for item in delivered:
        by_source.setdefault(item.source.id, []).append(item)
    return tuple(
        SourceSummary(items[0].source, len(items), sum(item.passage.tokens for item in items))
        for items in by_source.values()
    )


def _nothing(authorised: Authorised, gathered: Gathered) -> str:
    if not authorised.sources:
        return "The spaces that were searched hold no source for this request: name another space, or ingest into one."
    if gathered.selection.kept:
        return "All that matched was left out: the exclusions say why."
    return "Nothing matched within the caller's scope."


def limitations(
    delivered: Sequence[Delivered],
    recalled: Recalled,
    authorised: Authorised,
    gathered: Gathered,
    *,
    asked: bool,
    one_more: int | None,
    dropped: int,
    degraded: int = 0,
) -> tuple[Limitation, ...]:
    found = [
        Limitation(LimitationCode.SCOPE_APPLIED, "Only spaces and sources that the caller may search were searched.")
    ]
    if any(item.type is Reason.PROVIDER_SCOPE for item in authorised.exclusions):
        found.append(
            Limitation(LimitationCode.PROVIDER_SCOPE_APPLIED, "The credential admits sources of some providers only.")
        )
    if not delivered and not recalled.delivered:
        found.append(Limitation(LimitationCode.NO_CONTEXT, _nothing(authorised, gathered)))
    if authorised.historical:
        found.append(
            Limitation(LimitationCode.HISTORICAL_READ, "The answer is as of an earlier moment of one or both clocks.")
        )
    if asked and gathered.indexes and gathered.vector_mode == "off":
        found.append(Limitation(LimitationCode.TEXT_ONLY, "Only the text of the question was searched for."))
    if asked and gathered.text_query_empty:
        found.append(
            Limitation(LimitationCode.TEXT_QUERY_EMPTY, "The question holds no word that a text search could use.")
        )
    without_embedding = gathered.without_embedding + recalled.without_embedding
    if without_embedding:
        found.append(
            Limitation(
                LimitationCode.STALE_EMBEDDINGS,
                "Some candidates have no embedding of the current model: compared anew, or not at all.",
                without_embedding,
            )
        )
    if recalled.truncated:
        found.append(
            Limitation(LimitationCode.CANDIDATES_TRUNCATED, "Only the newest memories were looked at; there are more.")
        )
    if degraded:
        found.append(
            Limitation(
                LimitationCode.DEGRADED,
                "Optional stages were skipped or failed; the answer does without them, and degradedStages names them.",
                degraded,
            )
        )
    if one_more is not None and dropped:
        found.append(
            Limitation(
                LimitationCode.BUDGET_TOO_SMALL,
                f"A budget of {one_more} tokens would have kept one more passage.",
                one_more,
            )
        )
    if any(item.source.synced_at is None for item in delivered):
        found.append(
            Limitation(LimitationCode.MISSING_SYNC_TIMESTAMP, "When some of the sources were last synced is not known.")
        )
    if any(item.source.access_policy is None for item in delivered):
        found.append(
            Limitation(
                LimitationCode.MISSING_SOURCE_ACCESS_POLICY, "Some of the sources carry no access policy of their own."
            )
        )
    return tuple(found)
