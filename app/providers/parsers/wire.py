"""How a parsed document passes between two processes: JSON in frames."""

from collections.abc import Mapping
from typing import IO, Any

from app.providers.parsers.blocks import Block, Parsed

#: Address space of a process that parses.
MEMORY_BYTES = 1536 * 1024 * 1024
_LENGTH_BYTES = 8


def from_parsed(parsed: Parsed) -> dict[str, Any]:
    """As JSON can hold it. Facts of code stay behind: they follow from the text."""
    return {
        "text": parsed.text,
        "title": parsed.title,
        "blocks": [
            (
                block.start,
                block.end,
                block.heading_path,
                block.kind,
                block.page,
                block.sheet,
                block.table,
                block.row_start,
                block.row_end,
                block.header,
            )
            for block in parsed.blocks
        ],
        "mime": parsed.mime,
        "language": parsed.language,
        "problems": parsed.problems,
        "links": parsed.links,
    }


def to_parsed(answer: Mapping[str, Any]) -> Parsed:
    """Back again; heading paths that are equal become one object."""
    paths: dict[tuple[str, ...], tuple[str, ...]] = {}
    blocks = []
    for start, end, path, kind, page, sheet, table, row_start, row_end, header in answer["blocks"]:
        key = tuple(path)
        span = None if header is None else (header[0], header[1])
        blocks.append(Block(start, end, paths.setdefault(key, key), kind, page, sheet, table, row_start, row_end, span))
    return Parsed(
        answer["text"],
        answer["title"],
        tuple(blocks),
        answer["mime"],
        answer["language"],
        tuple(answer["problems"]),
        tuple(answer["links"]),
    )


def write_frame(stream: IO[bytes], data: bytes) -> None:
    stream.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
    stream.write(data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next frame; None where the other side has ended."""
    length = stream.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        return None
    size = int.from_bytes(length, "big")
    data = stream.read(size)
    return data if len(data) == size else None
