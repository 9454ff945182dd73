"""R3. The formula, and the order that follows from it."""

from dataclasses import replace

from app.domain.scoring import passage_score, rank_key
from app.domain.selection import Candidate, Selection


def rank(selection: Selection) -> Selection:
    scored = [_scored(item) for item in selection.kept]
    return selection.rewrite(
        sorted(scored, key=lambda item: rank_key(item.scores.vector, item.scores.text, item.score, item.id))
    )


def _scored(item: Candidate) -> Candidate:
    scores = item.scores
    return replace(item, score=passage_score(scores.vector, scores.text, scores.level_weight))
