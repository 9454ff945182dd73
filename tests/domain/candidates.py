"""Random candidates, as the stages of a retrieval see them."""

from dataclasses import replace
from uuid import UUID

from hypothesis import strategies as st

from app.domain.principal import Level
from app.domain.scoring import LEVEL_WEIGHTS
from app.domain.selection import Candidate, Scores

PROVIDERS, KINDS = ("filesystem", "git", "notion"), ("docs", "codebase", "issues")


def candidate(number: int, tokens: int = 1, score: float = 0.0) -> Candidate:
    """One whose id tells its number."""
    return Candidate(
        id=UUID(int=number),
        document_id=UUID(int=1),
        source_id=UUID(int=2),
        space_id=UUID(int=3),
        level=Level.PROJECT,
        provider="filesystem",
        kind="docs",
        text_sha256=number.to_bytes(8),
        scores=Scores(),
        score=score,
        tokens=tokens,
    )


def sized(*tokens: int) -> list[Candidate]:
    """Numbered from 1, best first by score too."""
    return [candidate(number, size, 1 / number) for number, size in enumerate(tokens, 1)]


_signals = st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)


@st.composite
def _candidates(draw: st.DrawFn, number: int) -> Candidate:
    level = draw(st.sampled_from(Level))
    return replace(
        candidate(number, draw(st.integers(0, 400)), draw(st.sampled_from([0.0, 0.2, 0.2, 0.5, 0.9]))),
        document_id=UUID(int=draw(st.integers(1, 5))),
        level=level,
        text_sha256=draw(st.sampled_from([b"a", b"b"]) | st.just(number.to_bytes(8))),
        provider=draw(st.sampled_from(PROVIDERS)),
        kind=draw(st.sampled_from(KINDS)),
        scores=Scores(draw(_signals), draw(_signals), LEVEL_WEIGHTS[level]),
    )


@st.composite
def candidates(draw: st.DrawFn, most: int = 20) -> list[Candidate]:
    """Different ids in no order; few documents, levels and scores, so that caps and ties are met."""
    numbers = draw(st.lists(st.integers(1, 999), max_size=most, unique=True))
    return [draw(_candidates(number)) for number in numbers]
