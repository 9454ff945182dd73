"""Checkpoints outside the database: a file an organisation, only ever appended to. What an edit of the tables cannot
reach shows that the tables were edited.

One JSON object a line: `issuedAt`, and `note` with the signed note. Copy it, or the notes in it, where the database's
administrator cannot write.
"""

import json
import os
from datetime import datetime
from pathlib import Path
from uuid import UUID

from app.domain.instant import format_instant
from app.providers.private_file import FILE_MODE, ensure_folder, exclusive

#: Bytes from the end of a file that are read: some hundred checkpoints. The newest says the most.
_TAIL = 1 << 16


class CheckpointLog:
    """Any number of processes may append. `durable` waits for the disk."""

    def __init__(self, folder: Path, durable: bool = True) -> None:
        self._folder = folder
        self._durable = durable

    def path(self, organisation: UUID) -> Path:
        """Where the organisation's checkpoints are kept."""
        return self._folder / f"{organisation}.log"

    def append(self, organisation: UUID, note: bytes, issued_at: datetime) -> None:
        """Append a note unless it is among the newest there. Waits for lock and disk: keep it off the event loop."""
        path = self.path(organisation)
        ensure_folder(self._folder)
        with exclusive(path):
            if note in self.newest(organisation):
                return
            line = json.dumps({"issuedAt": format_instant(issued_at), "note": note.decode()}, ensure_ascii=False)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            with os.fdopen(os.open(path, flags, FILE_MODE), "r+b", buffering=0) as file:
                size = file.seek(0, os.SEEK_END)
                # A line that was torn by a crash stays alone, and the new one is whole.
                torn = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
                file.write(b"\n" * torn + line.encode() + b"\n")
                if self._durable:
                    os.fsync(file.fileno())

    def newest(self, organisation: UUID) -> list[bytes]:
        """The newest notes, latest last, as they were written: none of them is checked here. Lines that are none are
        left out."""
        try:
            descriptor = os.open(self.path(organisation), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        except FileNotFoundError:
            return []
        with os.fdopen(descriptor, "rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - _TAIL)
            file.seek(start)
            lines = file.read(_TAIL).split(b"\n")
        return [note for line in lines[1 if start else 0 :] if (note := _note(line)) is not None]


def _note(line: bytes) -> bytes | None:
    try:
        return str(json.loads(line)["note"]).encode()
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
