"""What a language brings: how its files are known, which of them hold tests, and how their facts are read."""

from collections.abc import Callable
from dataclasses import dataclass

from app.domain.code import CodeFacts


@dataclass(frozen=True, slots=True)
class Language:
    """`extract` takes a file's text, whole or broken, and gives what can be read of it."""

    name: str
    suffixes: frozenset[str]
    is_test_file: Callable[[str], bool]
    extract: Callable[[str], CodeFacts]
