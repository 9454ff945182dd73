"""The packaged model's word pieces, with their places in the text."""

from collections.abc import Iterator

from app.providers.embedder.minilm import load_tokenizer

#: A window of this many characters or more ends with the next line: it bounds the memory of one call.
_WINDOW = 65536


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

    def spans(self, text: str) -> list[tuple[int, int]]:
        """[start, end) of each word piece in code points, in order; pieces of one character may share its place."""
        spans: list[tuple[int, int]] = []
        for start, window in _windows(text):
            offsets = self._tokenizer.encode(window, add_special_tokens=False).offsets
            spans.extend(((a + start, b + start) for a, b in offsets) if start else offsets)
        return spans

    def count(self, text: str) -> int:
        """How many word pieces the model would read."""
        return sum(len(self._tokenizer.encode(part, add_special_tokens=False)) for _, part in _windows(text))
