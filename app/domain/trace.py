"""The trace of one retrieval: every candidate with its signals and its fate, and how it is kept as bytes.

Bytes: the length of the header (4 bytes, big-endian), the header (JSON), the ids (16 bytes each), the numbers (float64,
little-endian, NaN for none), the query's vector (float32, little-endian). Every number comes back bit for bit.
"""

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.domain.selection import Reason

FORMAT = 1

#: The stage of a candidate that no stage removed.
DELIVERED = "delivered"
#: The stage of what matched and was not in force.
NEAR_MISS = "near_miss"

#: Numbers of a passage, in the order in which they are kept; another order is another format.
PASSAGE_NUMBERS = ("vector", "text", "cosine", "bm25", "level_weight", "rerank", "score")
#: Numbers of a memory; `cosine` is None where it was compared with nothing.
MEMORY_NUMBERS = ("similarity", "recency", "importance", "frequency", "cosine", "age_days", "score")


class Kind(StrEnum):
    """What a candidate is."""

    PASSAGE = "passage"
    RELATED = "related"
    MEMORY = "memory"
    GROUP_MEMORY = "group_memory"


@dataclass(frozen=True, slots=True)
class Traced:
    """A candidate and what became of it. `index` is its number in the answer, from 1; None when it was excluded.

    `item` is a chunk, or a version of a memory; `whole` its document, or the memory. `source` is None for a memory.
    `rank` is its place, from 1, when everything gathered was in order; None for what joined later. `numbers` are those
    of `PASSAGE_NUMBERS` or `MEMORY_NUMBERS`, in that order.
    """

    kind: Kind
    item: UUID
    whole: UUID
    source: UUID | None
    space: UUID
    numbers: tuple[float | None, ...]
    rank: int | None
    index: int | None
    stage: str = DELIVERED
    reason: Reason | None = None

    @property
    def signals(self) -> dict[str, float | None]:
        """Its numbers by name."""
        return dict(zip(_names(self.kind), self.numbers, strict=True))

    @property
    def score(self) -> float:
        return self.numbers[-1] or 0.0


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A document that matched, but was not in force at the point of both clocks that was read."""

    document: UUID
    source: UUID
    space: UUID
    reason: Reason


@dataclass(frozen=True, slots=True)
class Trace:
    """`facts` is plain JSON: query, clocks, parameters, limitations, timings, degraded stages."""

    facts: Mapping[str, Any]
    vector: NDArray[np.float32] | None
    candidates: tuple[Traced, ...]
    near_misses: tuple[NearMiss, ...] = ()


def encode(trace: Trace) -> bytes:
    """As bytes that `decode` turns back into the same trace."""
    places: dict[tuple[UUID | None, UUID], int] = {}
    fates: dict[tuple[str, Reason | None], int] = {}
    rows: list[tuple[int, int, int, int, int]] = []
    numbers: list[float | None] = []
    ids: list[bytes] = []
    kinds = {kind: number for number, kind in enumerate(Kind)}
    for item in trace.candidates:
        place = places.setdefault((item.source, item.space), len(places))
        fate = fates.setdefault((item.stage, item.reason), len(fates))
        rows.append((kinds[item.kind], place, fate, item.rank or 0, item.index or 0))
        numbers.extend(item.numbers)
        ids += (item.item.bytes, item.whole.bytes)
    near = []
    for miss in trace.near_misses:
        near.append((places.setdefault((miss.source, miss.space), len(places)), miss.reason.value))
        ids.append(miss.document.bytes)
    header = {
        "format": FORMAT,
        "facts": trace.facts,
        "places": [[None if source is None else source.hex, space.hex] for source, space in places],
        "fates": [[stage, None if reason is None else reason.value] for stage, reason in fates],
        "candidates": rows,
        "nearMisses": near,
        "numbers": len(numbers),
        "dimensions": None if trace.vector is None else len(trace.vector),
    }
    head = json.dumps(header, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    vector = b"" if trace.vector is None else np.asarray(trace.vector, dtype="<f4").tobytes()
    return b"".join(
        (struct.pack(">I", len(head)), head, *ids, np.array(numbers, dtype="<f8").tobytes(), vector),
    )


def decode(payload: bytes) -> Trace:
    """ValueError for bytes of another format."""
    (length,) = struct.unpack_from(">I", payload)
    header = json.loads(payload[4 : 4 + length])
    if header["format"] != FORMAT:
        raise ValueError(f"a trace of format {header['format']} cannot be read")
    places = [(None if source is None else UUID(source), UUID(space)) for source, space in header["places"]]
    fates = [(stage, None if reason is None else Reason(reason)) for stage, reason in header["fates"]]
    kinds = list(Kind)
    rows, near = header["candidates"], header["nearMisses"]
    position = 4 + length
    ids = [UUID(bytes=payload[at : at + 16]) for at in range(position, position + 16 * (2 * len(rows) + len(near)), 16)]
    position += 16 * len(ids)
    values = np.frombuffer(payload, "<f8", header["numbers"], position).tolist()
    position += 8 * len(values)
    candidates, start = [], 0
    for number, (kind, place, fate, rank, index) in enumerate(rows):
        source, space = places[place]
        stage, reason = fates[fate]
        own = values[start : (start := start + len(_names(kinds[kind])))]
        candidates.append(
            Traced(
                kind=kinds[kind],
                item=ids[2 * number],
                whole=ids[2 * number + 1],
                source=source,
                space=space,
                numbers=tuple(None if math.isnan(value) else value for value in own),
                rank=rank or None,
                index=index or None,
                stage=stage,
                reason=reason,
            )
        )
    dimensions = header["dimensions"]
    return Trace(
        facts=header["facts"],
        vector=None if dimensions is None else np.frombuffer(payload, "<f4", dimensions, position),
        candidates=tuple(candidates),
        near_misses=tuple(
            NearMiss(ids[2 * len(rows) + number], source, places[place][1], Reason(reason))
            for number, (place, reason) in enumerate(near)
            if (source := places[place][0]) is not None
        ),
    )


def _names(kind: Kind) -> tuple[str, ...]:
    return MEMORY_NUMBERS if kind in (Kind.MEMORY, Kind.GROUP_MEMORY) else PASSAGE_NUMBERS
