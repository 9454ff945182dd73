"""Languages of the text index: Snowball stems and stop words."""

import threading
from functools import cache

import Stemmer
from stop_words import safe_get_stop_words

from app.domain.lexical import Analyser, Stem

#: Snowball languages by name (`english`, `german`, …); the outdated variants of two of them left out.
LANGUAGES: frozenset[str] = frozenset(Stemmer.algorithms()) - {"porter", "dutch_porter"}

#: For text in languages that Snowball does not know; scripts without spaces need no stems in any language.
SIMPLE = "simple"

# Only the words that build sentences. The package's English list has 1,300, among them `computer`, `file` and `effect`.
_ENGLISH = """
    a about above after again against all also am an and any are aren as at be because been before being below between
    both but by can could couldn did didn do does doesn doing don down during each few for from further had hadn has
    hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just me more
    most mustn my myself needn no nor not now of off on once only or other ought our ours ourselves out over own same
    she should shouldn so some such than that the their theirs them themselves then there these they this those through
    to too under until up very was wasn we were weren what when where which while who whom why will with won would
    wouldn you your yours yourself yourselves
"""


def _snowball(language: str) -> Stem:
    # A Stemmer object holds state while it stems, so each thread has its own.
    local = threading.local()

    def stem(word: str) -> str:
        try:
            stemmer = local.stemmer
        except AttributeError:
            stemmer = local.stemmer = Stemmer.Stemmer(language)
        stemmed: str = stemmer.stemWord(word)
        return stemmed

    return stem


def _same(word: str) -> str:
    return word


@cache
def analyser(language: str) -> Analyser:
    """The analyser of a Snowball language, or of `simple`; shared by threads. ValueError for any other name."""
    if language == SIMPLE:
        return Analyser(_same)
    if language not in LANGUAGES:
        raise ValueError(f"There is no language {language!r}; there are {', '.join(sorted(LANGUAGES | {SIMPLE}))}.")
    return Analyser(_snowball(language), _ENGLISH.split() if language == "english" else safe_get_stop_words(language))
