"""The packaged model's word pieces, with their places in the text."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding

from app.providers.embedder.minilm import load_tokenizer

#: A window of this many characters or more ends with the next line: it bounds the memory of one call.
_WINDOW = 65536
#: The tokenizer splits words at a line feed, so the pieces of paragraphs are those of the whole.
_PARAGRAPH = "\n\n"
#: Characters of paragraphs whose pieces are remembered.
_HELD = 4_000_000


def _windows(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(text):
        # The tokenizer splits words at a line feed, so windows that end there yield the same pieces as the whole.
        end = text.find("\n", start + _WINDOW) + 1 or len(text)
        yield start, text[start:end]
        start = end


class WordPieces:
    """Word pieces of any text, without the model's own markers; thread-safe."""

    def __init__(self) -> None:
        self._tokenizer = load_tokenizer()
        self._known: dict[str, NDArray[np.int32]] = {}
        self._held = 0

    def starts(self, text: str) -> list[int]:
        """Where each word piece begins, in code points, in order; pieces of one character may share its place."""
        found: list[NDArray[np.int32]] = []
        begin = 0
        # A revision of a document shares most of its paragraphs with the one before.
        for paragraph in text.split(_PARAGRAPH):
            found.append(self._paragraph(paragraph) + begin)
            begin += len(paragraph) + len(_PARAGRAPH)
        starts: list[int] = np.concatenate(found).tolist()
        return starts

    def _paragraph(self, text: str) -> NDArray[np.int32]:
        known = self._known.get(text)
        if known is not None:
            return known
        found = [start + at for start, window in _windows(text) for at, _ in self._encode(window).offsets]
        starts = np.asarray(found, dtype=np.int32)
        if self._held > _HELD:
            self._known, self._held = {}, 0
        self._known[text] = starts
        self._held += len(text)
        return starts

    def _encode(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def count(self, text: str) -> int:
        """How many word pieces the model would read."""
        return sum(len(self._encode(part)) for _, part in _windows(text))
