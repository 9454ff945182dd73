"""The files of a folder, in an order that does not depend on the disk."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from app.domain.errors import bad_input

MAX_FILE_BYTES = 5 * 1024 * 1024

_SKIPPED = frozenset({"node_modules", "__pycache__"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A regular file: its POSIX path below the folder, its size in bytes and when it was last written."""

    path: str
    size: int
    modified: datetime
    _location: bytes
    _limit: int

    def read(self) -> bytes:
        """The bytes; raises OSError where the file has since gone, grown above the limit or become something else."""
        # Neither a link nor a pipe put here after the walk may be followed or waited for.
        handle = os.open(self._location, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(errno.EINVAL, "Not a regular file", self.path)
            data = file.read(self._limit + 1)
        if len(data) > self._limit:
            raise OSError(errno.EFBIG, "File too large", self.path)
        return data


@dataclass(frozen=True, slots=True)
class FolderProblem:
    """What could not be taken, and why in one sentence."""

    path: str
    reason: str


#: Told of what is not meant to be taken, and why in one sentence: a file that is not accepted, or no file at all.
Skipped = Callable[[str, str], None]


def _modified(nanoseconds: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return _EPOCH


def walk(
    folder: Path,
    accepts: Callable[[str], bool],
    limit: int | Callable[[str], int] = MAX_FILE_BYTES,
    skipped: Skipped = lambda path, reason: None,
) -> Iterator[FolderFile | FolderProblem]:
    """The regular files below `folder` whose relative POSIX path `accepts`, each folder's entries in order of name.

    Other files, links, pipes, devices, hidden folders and those of installed packages are skipped; a file above `limit`
    (of its path) in bytes or one that may not be read is yielded as a problem. Bytes of a name that are not UTF-8 are
    shown as \\xNN. Raises BAD_USER_INPUT where `folder` is no folder.
    """
    if not folder.is_dir():
        raise bad_input("The place is not a folder.", "path")
    of_path = limit if callable(limit) else lambda path: limit
    return _walk(os.fsencode(folder.resolve()), accepts, of_path, skipped)


def _walk(
    root: bytes, accepts: Callable[[str], bool], limit: Callable[[str], int], skipped: Skipped
) -> Iterator[FolderFile | FolderProblem]:
    waiting: list[tuple[bytes, bytes, bool]] = [(root, b"", True)]
    while waiting:
        location, raw_path, is_folder = waiting.pop()
        path = raw_path.decode("utf-8", "backslashreplace")
        if not is_folder:
            yield _file(location, path, limit(path))
            continue
        try:
            with os.scandir(location) as entries:
                found = sorted(entries, key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            yield FolderProblem(path or ".", f"The folder cannot be read: {error.strerror}.")
            continue
        for entry in found:
            below = raw_path + b"/" + entry.name if raw_path else entry.name
            name = below.decode("utf-8", "backslashreplace")
            reason = _not_meant(entry, name, accepts)
            if reason is None:
                waiting.append((entry.path, below, entry.is_dir(follow_symlinks=False)))
            else:
                skipped(name, reason)


def _not_meant(entry: os.DirEntry[bytes], path: str, accepts: Callable[[str], bool]) -> str | None:
    """Why an entry is not looked at; None where it is."""
    if entry.is_symlink():
        return "Links are not followed."
    if entry.is_dir(follow_symlinks=False):
        if entry.name.startswith(b"."):
            return "Hidden folders are not read."
        installed = entry.name.decode("utf-8", "replace") in _SKIPPED
        return "Folders of installed packages are not read." if installed else None
    if not entry.is_file(follow_symlinks=False):
        return "Not a file: a pipe, socket or device."
    return None if accepts(path) else "No parser reads this kind of file."


def _file(location: bytes, path: str, limit: int) -> FolderFile | FolderProblem:
    try:
        status = os.lstat(location)
    except OSError as error:
        return FolderProblem(path, f"The file cannot be read: {error.strerror}.")
    if status.st_size > limit:
        return FolderProblem(path, f"The file has {status.st_size} bytes; the limit is {limit}.")
    if not os.access(location, os.R_OK):
        return FolderProblem(path, "The file cannot be read: Permission denied.")
    return FolderFile(path, status.st_size, _modified(status.st_mtime_ns), location, limit)
