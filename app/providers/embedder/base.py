"""What every embedder offers, and the two-thread pool that the in-process ones run on."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.domain.dlp.scanning import Redacted
from app.domain.errors import bad_input
from app.domain.locality import Locality

Vector = NDArray[np.float32]
Vectors = NDArray[np.float32]

#: Texts of one process that are embedded at the same time.
THREADS = 2


class Embedder(Protocol):
    """Text to unit vectors; the same text always yields the same bits.

    `in_process` says that a text stays where it is, `locality` whether it otherwise leaves the deployment. A text with
    nothing but blanks is refused (`BAD_USER_INPUT`), so no zero vector is ever returned. An endpoint takes redacted
    texts only, and so all are; `EndpointError` when it gives no vectors.
    """

    @property
    def model(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def locality(self) -> Locality: ...
    @property
    def in_process(self) -> bool: ...
    @property
    def languages(self) -> frozenset[str] | None:
        """The languages that the model was made for, by their Snowball names; None: any."""
        ...

    def reads(self, text: str) -> bool:
        """Whether the model knows the script of the text, so that the vector says what the text is about."""
        ...

    async def embed_query(self, text: Redacted) -> Vector:
        """One unit vector, shape (dimensions,)."""
        ...

    async def embed_documents(self, texts: Sequence[Redacted]) -> Vectors:
        """Rows of unit length, shape (len(texts), dimensions), in the order of `texts`."""
        ...


def require_text(text: str) -> str:
    """The text itself, or `BAD_USER_INPUT` when it holds nothing but blanks."""
    if not text or text.isspace():
        raise bad_input("A blank text cannot be embedded.")
    return text


class Pool:
    """Runs a text → vector function on two threads.

    A batch never has more than two texts under way, so a query waits for one text of a running batch, not for all.
    """

    def __init__(self, embed_one: Callable[[str], Vector], dimensions: int) -> None:
        self._embed_one = embed_one
        self._dimensions = dimensions
        self._threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="embed")

    async def one(self, text: str) -> Vector:
        """One vector, shape (dimensions,)."""
        require_text(text)
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._embed_one, text)

    async def many(self, texts: Sequence[str]) -> Vectors:
        """Vectors in the order of `texts`, shape (len(texts), dimensions)."""
        for text in texts:
            require_text(text)
        rows = np.empty((len(texts), self._dimensions), dtype=np.float32)
        waiting = iter(range(len(texts)))

        async def work() -> None:
            for position in waiting:
                rows[position] = await self.one(texts[position])

        async with asyncio.TaskGroup() as group:
            for _ in range(min(THREADS, len(texts))):
                group.create_task(work())
        return rows

    def close(self) -> None:
        """Lets running texts finish and takes no more."""
        self._threads.shutdown(wait=True, cancel_futures=True)
