"""Writing a text together with its blocks, for documents that are not text themselves."""

from dataclasses import replace

from app.providers.parsers.blocks import Block, Unsupported

#: Of one document, in characters; what is larger is a data set, not something that people read.
MAX_TEXT = 20_000_000

_NOWHERE = Block(0, 0, (), "paragraph")


class Output:
    """`text()` and `blocks` of a document, written block by block."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._parts: list[str] = []
        self.length = 0

    def put(self, text: str) -> tuple[int, int]:
        """Text that belongs to the block around it, or between blocks; where it stands."""
        start = self.length
        self._parts.append(text)
        self.length += len(text)
        if self.length > MAX_TEXT:
            raise Unsupported(f"More than {MAX_TEXT} characters of text.")
        return start, self.length

    def block(self, text: str, where: Block = _NOWHERE, end: str = "\n\n") -> tuple[int, int]:
        """A block of this text with everything else as `where` says; blank text makes none."""
        if not text.strip():
            return self.length, self.length
        start, stop = self.put(text)
        self.blocks.append(replace(where, start=start, end=stop))
        self.put(end)
        return start, stop

    def text(self) -> str:
        return "".join(self._parts)
