"""From the parser's byte offsets to code points."""

import numpy as np


class Offsets:
    """`at(byte)` is the code point at which the byte begins, of one text and its UTF-8 bytes."""

    def __init__(self, text: str, data: bytes) -> None:
        self._points = None
        if len(data) != len(text):
            starts = (np.frombuffer(data, np.uint8) & 0xC0) != 0x80
            self._points = np.concatenate(([0], np.cumsum(starts)))

    def at(self, byte: int) -> int:
        return byte if self._points is None else int(self._points[byte])
