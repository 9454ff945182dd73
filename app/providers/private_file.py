"""Small files that only their owner may read, replaced whole and by one process at a time."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class PrivateFileError(ValueError):
    """A file or folder is not as private as it must be; the sentence names it."""


def ensure_folder(folder: Path) -> None:
    """Makes the folder (mode 700) when there is none; refuses what `check_folder` refuses."""
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    check_folder(folder)


def check_folder(folder: Path) -> None:
    """Refuses a folder in which others may replace files."""
    if folder.stat().st_mode & _OTHERS_WRITE:
        raise PrivateFileError(f"{folder} may be written by others than its owner; run: chmod 700 {folder}")


def read_private(path: Path, limit: int) -> bytes | None:
    """The file's bytes, None when there is none; refuses one that others may read and one of more than `limit`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise PrivateFileError(f"{path} is not a file")
        if os.geteuid() not in {state.st_uid, 0} and state.st_uid != 0:
            raise PrivateFileError(f"{path} belongs to another user")
        if state.st_mode & _OTHERS:
            raise PrivateFileError(f"{path} may be read by others than its owner; run: chmod 600 {path}")
        content = file.read(limit + 1)
    if len(content) > limit:
        raise PrivateFileError(f"{path} is larger than {limit} bytes")
    return content


def replace_private(path: Path, content: bytes, durable: bool = True) -> None:
    """Puts `content` in the file's place in one step, mode 600; hold `exclusive` meanwhile.

    A reader sees the old file or the new one whole. `durable` waits until the disk holds it.
    """
    temporary = path.with_name(f".{path.name}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(temporary, flags, FILE_MODE), "wb") as file:
        os.fchmod(file.fileno(), FILE_MODE)
        file.write(content)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    temporary.replace(path)
    if durable:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Holds the file's lock (`.name.lock` beside it) among all threads and processes; waits for it."""
    lock = path.with_name(f".{path.name}.lock")
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
