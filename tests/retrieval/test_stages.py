"""Rank, cap and budget on random candidates: the stages after gathering, without a store."""

from collections import Counter
from dataclasses import replace
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from app.domain.budget import BudgetStrategy
from app.domain.contract import summarise
from app.domain.principal import Principal
from app.domain.scoring import passage_score, rank_key
from app.domain.selection import Reason, Selection
from app.retrieval.budget import budget
from app.retrieval.cap import cap
from app.retrieval.rank import rank
from app.retrieval.request import make_request
from app.storage.passages import Passage
from tests.domain.candidates import candidate, candidates
from tests.retrieval.texts import passage

SOMEBODY = Principal(UUID(int=1), UUID(int=2), "somebody")

parameters = st.builds(
    lambda **options: make_request(SOMEBODY, query="anything", **options).parameters,
    top_k=st.integers(0, 8),
    max_per_level=st.integers(0, 6),
    max_passages_per_document=st.integers(0, 4),
    min_score=st.none() | st.floats(0, 1),
    token_budget=st.none() | st.integers(0, 2000),
    budget_strategy=st.sampled_from(BudgetStrategy),
)


def ids(selection: Selection) -> list[UUID]:
    return [item.id for item in selection.kept]


def texts(selection: Selection) -> dict[UUID, Passage]:
    """A text of random but settled length for each."""
    return {item.id: passage(item.id, tokens=item.id.int % 300) for item in selection.kept}


@given(candidates(), parameters)
def test_after_every_stage_what_was_gathered_is_kept_once_or_excluded_once(items, settings):
    gathered = frozenset(item.id for item in items)
    ranked = rank(Selection(tuple(items)))
    capped = cap(ranked, settings)
    cut, _ = budget(capped, texts(capped), settings)
    for stage in (ranked, capped, cut):
        assert stage.conserves(gathered)
    assert [id for id in ids(ranked) if id in set(ids(cut))] == ids(cut)
    assert sum(line.count for line in summarise(cut.excluded)) + len(cut.kept) == len(items)


@given(candidates())
def test_ranking_is_the_formula_and_its_order(items):
    ranked = rank(Selection(tuple(items))).kept
    for item in ranked:
        assert item.score == passage_score(item.scores.vector, item.scores.text, item.scores.level_weight)
    keys = [rank_key(item.scores.vector, item.scores.text, item.score, item.id) for item in ranked]
    assert keys == sorted(keys)


@given(candidates(), parameters)
def test_each_cap_holds_and_each_reason_is_true(items, settings):
    ranked = rank(Selection(tuple(items)))
    capped = cap(ranked, settings)
    place = {id: number for number, id in enumerate(ids(ranked))}
    assert len(capped.kept) <= settings.top_k
    assert max(Counter(item.level for item in capped.kept).values(), default=0) <= settings.max_per_level
    documents = Counter(item.document_id for item in capped.kept)
    assert max(documents.values(), default=0) <= settings.max_passages_per_document
    for out in capped.excluded:
        item = out.candidate
        better = [other for other in capped.kept if place[other.id] < place[item.id]]
        low = settings.min_score is not None and item.score < settings.min_score
        full = {
            Reason.MIN_SCORE: low,
            Reason.DUPLICATE: any(other.text_sha256 == item.text_sha256 for other in better),
            Reason.PER_DOCUMENT_CAP: sum(other.document_id == item.document_id for other in better)
            == settings.max_passages_per_document,
            Reason.PER_LEVEL_CAP: sum(other.level == item.level for other in better) == settings.max_per_level,
            Reason.TOP_K: len(better) == settings.top_k,
        }
        assert full[out.reason]
    assert settings.min_score is None or all(item.score >= settings.min_score for item in capped.kept)


@given(candidates(), parameters, st.randoms(use_true_random=False))
def test_diversity_is_named_where_relevance_alone_would_have_taken_it(items, settings, random):
    ranked = rank(Selection(tuple(items)))
    shuffled = list(ranked.kept)
    random.shuffle(shuffled)
    diverse = ranked.rewrite(shuffled)
    capped, plain = cap(diverse, settings, ranked), cap(ranked, settings)
    assert capped.conserves(ranked.gathered)
    assert ids(capped) == ids(cap(diverse, settings))
    for out in capped.excluded:
        assert (out.reason is Reason.DIVERSITY) == (out.candidate.id in set(ids(plain)))


@given(candidates(), parameters)
def test_the_budget_counts_the_texts_that_are_delivered(items, settings):
    selection = rank(Selection(tuple(items)))
    found = texts(selection)
    cut, one_more = budget(selection, found, settings)
    assert [item.tokens for item in cut.kept] == [found[item.id].tokens for item in cut.kept]
    assert {out.reason for out in cut.excluded} <= {Reason.TOKEN_BUDGET}
    assert (one_more is None) == (not cut.excluded)
    total = sum(item.tokens for item in cut.kept)
    if settings.token_budget is None:
        assert not cut.excluded
    elif settings.budget_strategy is not BudgetStrategy.KEEP_FIRST:
        assert total <= settings.token_budget


def test_a_passage_that_one_cap_holds_back_takes_no_place_under_another():
    pairs = [replace(candidate(number), document_id=UUID(int=number // 2)) for number in range(2, 8)]
    items = sorted(pairs, key=lambda item: -item.document_id.int)
    settings = make_request(SOMEBODY, query="x", top_k=3, max_per_level=3, max_passages_per_document=1).parameters
    kept = cap(Selection(tuple(items)), settings).kept
    assert [item.id.int for item in kept] == [6, 4, 2]
