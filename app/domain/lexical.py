"""Text to lexemes, the same way for documents and for questions.

NFKC → words of any script → parts of identifiers, character bigrams where a script writes no spaces → casefold → stem.
Nothing a person can type is a syntax here: every text has lexemes or none, and never fails.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, pairwise
from typing import NamedTuple
from uuid import UUID

import numpy as np

#: Casefolded word → its stem. Provided by the caller, because the stemmer is a library.
Stem = Callable[[str], str]

#: Longer lexemes are cut, so that a megabyte without a space stays one small key.
MAX_LEXEME = 64

#: What a stop word of a question counts, a word with a meaning counting 1. To drop them ranks worse: in code and in
#: German they still tell chunks apart.
STOP_WORD_WEIGHT = 0.5

#: BM25's saturation and length normalisation (Robertson and Zaragoza, 2009), and the length that counts as average.
#: The length is fixed so that a stored weight never changes; it is about that of a full chunk and its title.
K1, B, REFERENCE_LENGTH = 1.2, 0.75, 128

#: Lexemes are hashed into this many dimensions of a sparse vector, of which one vector holds at most so many.
DIMENSIONS, MAX_NONZERO = 1_000_000_000, 16_000

_CACHED_WORDS = 1 << 16


def _ranges(*wanted: str) -> tuple[str, ...]:
    """For each major category, the inside of a regular expression's character class that holds its code points."""
    # The planes between hold ideographs only, or nothing.
    codes = [*range(0x80, 0x20000), *range(0xE0000, 0xE0200)]
    categories = {code: unicodedata.category(chr(code))[0] for code in codes}
    classes: list[str] = []
    for major in wanted:
        inside = [code for code in codes if categories[code] == major]
        starts = [code for code in inside if categories.get(code - 1) != major]
        ends = [code for code in inside if categories.get(code + 1) != major]
        classes.append("".join(f"{chr(a)}-{chr(b)}" for a, b in zip(starts, ends, strict=True)))
    return tuple(classes)


_MARKS, _SYMBOLS = _ranges("M", "S")

# Thai, Lao, Myanmar, Khmer; Hangul; Hiragana, Katakana, Bopomofo; Han with its extensions.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"
    "\u3005-\u3007\u3041-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\U0001b000-\U0001b16f"
    "\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)

# Signs between blanks count as a word, so that a text of signs only can be found.
_SIGNS = r"(?<!\S)(?:[^\w\s]|_)++(?!\S)"
_ASCII_WORD = re.compile(rf"[A-Za-z0-9]\w*+(?:'[A-Za-z0-9]\w*+)*+|{_SIGNS}")
_WORD = re.compile(rf"[^\W_][\w{_MARKS}]*+(?:'[^\W_][\w{_MARKS}]*+)*+|[{_SYMBOLS}]|{_SIGNS}")
_RUN = re.compile(rf"[{_UNSPACED}](?:[{_UNSPACED}{_MARKS}])*|[^{_UNSPACED}]+")
_UNSPACED_CHARACTER = re.compile(rf"[^{_MARKS}][{_MARKS}]*")
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]").search
# Spellings of the apostrophe, and characters that are written but not seen.
_REPLACED = {**dict.fromkeys("\u2018\u2019\u02bc\u2032", "'"), **dict.fromkeys("\u00ad\u200d\u2060\ufeff", "")}
#: What English appends after an apostrophe and no question is about.
_CLITICS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
# getFileName → get File Name; HTTPServer2 → HTTP Server 2. Casefolding comes later, so capitals are still there.
_BOUNDARY = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|_+")


def words(text: str) -> list[str]:
    """The words of a text as written (NFKC), in order: letters, digits and marks, with inner `_` and `'`.

    Symbols such as emoji stand singly, other signs only where there are blanks around them.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text)
    text = unicodedata.normalize("NFKC", text)
    for written, meant in _REPLACED.items():
        text = text.replace(written, meant)
    return _WORD.findall(text)


def _humps(part: str) -> list[str]:
    """Camel case apart: `getFileName`, `HTTPServer` → `get File Name`, `HTTP Server`."""
    if part.islower() or part.isupper() or part.istitle():
        return [part]
    cuts = [0]
    for i in range(1, len(part)):
        up = part[i].isupper()
        if up and (part[i - 1].islower() or (part[i - 1].isupper() and i + 1 < len(part) and part[i + 1].islower())):
            cuts.append(i)
    return [part[a:b] for a, b in zip(cuts, [*cuts[1:], len(part)], strict=True)]


def _fold(word: str) -> str:
    # Casefolding can undo the composition (ǰ), and the stemmer wants composed letters.
    return word.casefold() if word.isascii() else unicodedata.normalize("NFKC", word.casefold())


def _identifier(word: str) -> list[str]:
    """Folded parts of a word of a spaced script; when there are several, the whole too (without its underscores)."""
    pieces = [hump for part in _BOUNDARY.split(word) if part for hump in _humps(part)]
    if len(pieces) < 2:
        return [_fold(piece) for piece in pieces]
    return [*map(_fold, pieces), _fold("".join(pieces))]


class Terms(NamedTuple):
    """A question's lexemes with their weights, and those of them that a word with a meaning gave."""

    weights: dict[str, float]
    content: Set[str]


class Analyser:
    """Text → lexemes in one language. Immutable; `stem` decides whether it may be used by several threads."""

    def __init__(self, stem: Stem, stop_words: Iterable[str] = ()) -> None:
        self._stem = stem
        self._stop_words: Set[str] = frozenset(_fold(word) for word in stop_words)
        self._cached = lru_cache(maxsize=_CACHED_WORDS)(self._expand)

    def lexemes(self, text: str) -> list[str]:
        """Every lexeme of a document's text, with repetitions, in order."""
        found = words(text)
        short = max(map(len, found), default=0) <= MAX_LEXEME
        return list(chain.from_iterable(map(self._cached if short else self._expand, found)))

    def query_terms(self, text: str) -> dict[str, float]:
        """Lexeme → weight of a question; empty when it holds nothing to search for.

        A word counts once for each time it is written, a stop word half (`STOP_WORD_WEIGHT`). When every word is a stop
        word, only those written like a name stay: `Don`, `Can Will`; nothing stays of `the and of`. Signs count only
        where there are no words.
        """
        return self.question(text).weights

    def question(self, text: str) -> Terms:
        """`query_terms`, and which of them may choose what is scored: stop words never do, they only score."""
        found = words(text)
        found = [word for word in found if word[0].isalnum()] or found
        common = [self._is_common(word) for word in found]
        if found and all(common):
            found = _names(found)
            common = [False] * len(found)
        weights: dict[str, float] = {}
        content: set[str] = set()
        for word, is_common in zip(found, common, strict=True):
            lexemes = self._expand(word)
            for lexeme in lexemes:
                weights[lexeme] = weights.get(lexeme, 0.0) + (STOP_WORD_WEIGHT if is_common else 1.0)
            if not is_common:
                content.update(lexemes)
        return Terms(weights, content)

    def _is_common(self, word: str) -> bool:
        folded = _fold(word)
        return folded in self._stop_words or folded.split("'")[0] in self._stop_words

    def _expand(self, word: str) -> tuple[str, ...]:
        if not word[0].isalnum():
            return (word[:MAX_LEXEME],)
        found: list[str] = []
        for run in _RUN.findall(word) if _HAS_UNSPACED(word) else (word,):
            if _HAS_UNSPACED(run[0]):
                found.extend(_grams(run))
                continue
            before, *after = run.split("'")
            for piece in (before, *(part for part in after if _fold(part) not in _CLITICS)):
                found.extend(self._stem(lexeme[:MAX_LEXEME]) for lexeme in _identifier(piece))
        return tuple(found)


def folded(text: str) -> list[str]:
    """The words of a text in order as they are compared literally: folded, not stemmed; where a script writes no
    spaces every character is one. Signs are left out."""
    found: list[str] = []
    for word in words(text):
        if not word[0].isalnum():
            continue
        for run in _RUN.findall(word) if _HAS_UNSPACED(word) else (word,):
            found.extend(_UNSPACED_CHARACTER.findall(run) if _HAS_UNSPACED(run[0]) else (_fold(run),))
    return found


def _grams(run: str) -> list[str]:
    """The characters of a run and its bigrams; a mark belongs to the character before it."""
    characters = [character[:MAX_LEXEME] for character in _UNSPACED_CHARACTER.findall(run)]
    return characters + [a + b for a, b in pairwise(characters)]


def _names(found: Sequence[str]) -> list[str]:
    """Words written with a capital, single letters apart. At the start a capital tells only if every word has one."""
    named = [len(word) > 1 and word[0].isupper() for word in found]
    if not all(named):
        named[0] = named[0] and found[0].isupper()
    return [word for word, is_named in zip(found, named, strict=True) if is_named]


@lru_cache(maxsize=_CACHED_WORDS)
def lexeme_id(lexeme: str) -> int:
    """A lexeme's number, 0 … 2^63 − 1."""
    return int.from_bytes(blake2b(lexeme.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1


_MASK = (1 << 64) - 1


@lru_cache(maxsize=1024)
def _space_number(space: UUID) -> int:
    return int.from_bytes(blake2b(space.bytes, digest_size=8).digest())


def key(space: UUID, lexeme: int) -> int:
    """The signed 64-bit number of (space, lexeme number): the inverted index is cut by space this way.

    SplitMix64's finaliser (Steele, Lea and Flood, 2014) over the lexeme's number, shifted by the space's.
    """
    number = (lexeme + _space_number(space)) & _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    number ^= number >> 31
    return number - (1 << 64) if number >> 63 else number


def keys(space: UUID, lexemes: Iterable[int]) -> list[int]:
    """`key` of each lexeme number, in order."""
    numbers = np.fromiter(lexemes, dtype=np.uint64)
    numbers = numbers + np.uint64(_space_number(space))
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    signed: list[int] = (numbers ^ (numbers >> np.uint64(31))).view(np.int64).tolist()
    return signed


def dimension(lexeme: int) -> int:
    """A lexeme number's place in a sparse vector, 1 … DIMENSIONS."""
    return lexeme % DIMENSIONS + 1


def document_weights(lexemes: Sequence[str]) -> dict[int, float]:
    """Lexeme number → tf / (tf + K), K = k1 · (1 − b + b · length / reference length); each in (0, 1).

    BM25 without its constant factor k1 + 1, which cancels when the score is normalised. Where there are more than
    `MAX_NONZERO` different lexemes the rarest in the text go.
    """
    k = K1 * (1 - B + B * len(lexemes) / REFERENCE_LENGTH)
    return {lexeme_id(lexeme): count / (count + k) for lexeme, count in Counter(lexemes).most_common(MAX_NONZERO)}


def rarest(frequencies: Sequence[int], budget: int) -> int:
    """How many of the lexemes, which come rarest first, choose the rows that are scored: as many as are expected to
    find `budget` rows between them, and one that is found at all."""
    taken = expected = 0
    for frequency in frequencies:
        if expected and expected + frequency > budget:
            break
        taken, expected = taken + 1, expected + frequency
    return taken


def idf(frequency: int, chunks: int) -> float:
    """ln(1 + (N − df + ½) / (df + ½)) > 0; statistics that lag behind (df > N) count as df = N."""
    frequency = min(frequency, chunks)
    return math.log1p((chunks - frequency + 0.5) / (frequency + 0.5))
