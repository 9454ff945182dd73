"""Words that a question quotes: a chunk that holds them in this order, side by side, is what was meant.

Letter case, accents' spelling and the signs between words do not matter; in scripts without spaces every character is
a word. A quotation mark that has no partner, or nothing between it and its partner, quotes nothing.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from app.domain import lexical

#: The words of a phrase in order, folded.
Phrase: TypeAlias = tuple[str, ...]

#: Phrases of one question that count; further ones are words like all others.
MOST_PHRASES = 8

# The straight mark closes itself; the typographic ones come in pairs, German, French and East Asian among them.
_QUOTED = re.compile(
    r'"([^"]*)"|“([^“”]*)”|„([^„“”]*)[“”]|«([^«»]*)»|»([^«»]*)«|「([^「」]*)」|『([^『』]*)』|＂([^＂]*)＂'
)
_APART = "\x1f"


def quoted(question: str) -> tuple[Phrase, ...]:
    """The phrases of a question, each once, in order; none when nothing is quoted."""
    found = (lexical.folded(match[match.lastindex or 0]) for match in _QUOTED.finditer(question))
    return tuple(dict.fromkeys(tuple(words) for words in found if words))[:MOST_PHRASES]


def held(phrases: Sequence[Phrase], texts: Iterable[str]) -> int:
    """How many of the phrases stand in one of the texts; none stands across two of them."""
    found: set[Phrase] = set()
    for text in texts:
        likely = [phrase for phrase in phrases if phrase not in found]
        if text.isascii():
            # To tell words apart costs much more than to look for their letters, which few texts hold.
            letters = text.casefold()
            likely = [phrase for phrase in likely if all(word in letters for word in phrase)]
        if likely:
            joined = f"{_APART}{_APART.join(lexical.folded(text))}{_APART}"
            found.update(phrase for phrase in likely if f"{_APART}{_APART.join(phrase)}{_APART}" in joined)
    return len(found)


def weight(chunks: int) -> float:
    """What a phrase counts among a question's lexemes: as the rarest there can be (idf, nats)."""
    return lexical.idf(0, chunks)
