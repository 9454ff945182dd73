"""Which language a file is written in. A language more is one module more, and its line here."""

from pathlib import PurePosixPath

from app.domain.code import CodeFacts
from app.providers.code_graph import go, java, javascript, python, rust
from app.providers.code_graph.base import Language
from app.providers.code_graph.parsing import Tangled

_LANGUAGES = (python.LANGUAGE, go.LANGUAGE, java.LANGUAGE, rust.LANGUAGE, *javascript.LANGUAGES)
_BY_SUFFIX = {suffix: language for language in _LANGUAGES for suffix in language.suffixes}

#: What is longer is data or generated; its graph would say little and weigh much.
MAX_CHARACTERS = 2_000_000


def language_of(name: str) -> Language | None:
    """By the name of the file; None where no graph is read."""
    return _BY_SUFFIX.get(PurePosixPath(name.lower()).suffix)


def is_code(name: str) -> bool:
    return language_of(name) is not None


def is_test_file(name: str) -> bool:
    """Whether the file is one in which its language looks for tests."""
    language = language_of(name)
    return language is not None and language.is_test_file(name)


def extract(name: str, text: str) -> CodeFacts | None:
    """The facts of a file; None where its language is not read, or it is too long; none where nobody wrote it."""
    language = language_of(name)
    if language is None or len(text) > MAX_CHARACTERS:
        return None
    try:
        return language.extract(text)
    except Tangled:
        return CodeFacts(language.name, (), (), ())
