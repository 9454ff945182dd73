"""Which organisations ever had a head, kept beside the folder of heads: so that a head that was removed is missed.

One line an organisation, sealed under its key; lines are only ever added.
"""

import hmac
import os
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from app.domain.chain import MAX_KEY_ID_BYTES
from app.providers.private_file import FILE_MODE, ensure_folder, exclusive

SEAL_TAG = b"muniment/heads/v1\0"


class HeadIndex:
    """The index in the file `path`, for any number of processes; a missing file is an empty index."""

    def __init__(self, path: Path, key_for: Callable[[UUID, str], bytes | None]) -> None:
        self._path = path
        self._key_for = key_for
        self._stamp: tuple[int, int, int] | None = None
        self._lines: dict[UUID, list[tuple[str, bytes]]] = {}
        self._known: set[UUID] = set()

    def holds(self, organisation: UUID) -> bool:
        """Whether the organisation had a head. A line that was made up does not count; one whose key is lost does:
        nobody can say that there was none. `OSError` when the file cannot be read."""
        if organisation not in self._known:
            self._refresh()
            if any(self._stands(organisation, *line) for line in self._lines.get(organisation, ())):
                self._known.add(organisation)
        return organisation in self._known

    def add(self, organisation: UUID, key_id: str) -> None:
        """Says from now on that the organisation has a head; waits for the disk. `LookupError` without its key."""
        if organisation in self._known:
            return
        key = self._key_for(organisation, key_id)
        if key is None:
            raise LookupError("the key of the index is not in the key ring")
        seal = _seal(key, organisation, key_id)
        ensure_folder(self._path.parent)
        with exclusive(self._path):
            self._refresh()
            if (key_id, seal) not in self._lines.get(organisation, ()):
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
                with os.fdopen(os.open(self._path, flags, FILE_MODE), "ab") as file:
                    # A line begins a line, also behind one that a crash cut off.
                    file.write(f"\n{organisation} {key_id} {seal.hex()}\n".encode())
                    file.flush()
                    os.fsync(file.fileno())
        self._known.add(organisation)

    def _stands(self, organisation: UUID, key_id: str, seal: bytes) -> bool:
        key = self._key_for(organisation, key_id)
        return key is None or hmac.compare_digest(_seal(key, organisation, key_id), seal)

    def _refresh(self) -> None:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        except FileNotFoundError:
            self._lines, self._stamp = {}, None
            return
        with os.fdopen(descriptor, "rb") as file:
            state = os.fstat(descriptor)
            stamp = (state.st_ino, state.st_mtime_ns, state.st_size)
            if stamp == self._stamp:
                return
            lines: dict[UUID, list[tuple[str, bytes]]] = {}
            for line in file:
                try:
                    name, key_id, seal = line.decode().split()
                    lines.setdefault(UUID(name), []).append((key_id, bytes.fromhex(seal)))
                except ValueError:
                    continue
        self._lines, self._stamp = lines, stamp


def _seal(key: bytes, organisation: UUID, key_id: str) -> bytes:
    name = key_id.encode()
    if not 1 <= len(name) <= MAX_KEY_ID_BYTES:
        raise ValueError("a key id has 1 to 255 bytes")
    return hmac.digest(key, SEAL_TAG + organisation.bytes + bytes((len(name),)) + name, "sha256")
