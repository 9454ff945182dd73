"""A folder as a source: each file holds since it was last written, and no longer once it is gone."""

import errno
import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

from app.domain.temporal import Period
from app.ingestion.report import Report
from app.ingestion.runner import Draft, Revision
from app.providers.folder import FolderFile, FolderProblem, walk
from app.providers.parsers.registry import largest, supported


def folder_drafts(folder: Path, known: Iterable[str], now: datetime, report: Report) -> Iterator[Draft]:
    """One draft a file; then one for each `known` document whose file is gone. Problems go to the report; what lies
    in a folder that cannot be read is not gone."""
    seen: set[str] = set()
    unread: list[str] = []
    for item in walk(folder, supported, largest, report.skipped.__setitem__):
        seen.add(item.path)
        if isinstance(item, FolderProblem):
            report.failures[item.path] = item.reason
            unread.append("" if item.path == "." else f"{item.path}/")
            continue
        try:
            etag = hashlib.sha256(item.read()).hexdigest()
        except OSError as error:
            report.failures[item.path] = error.strerror or "could not be read"
            continue
        yield Draft(item.path, (_revision(item, etag, now),), read_at=now)
    for path in known:
        if path not in seen and not path.startswith(tuple(unread)):
            yield Draft(path, (), read_at=now)


def _again(item: FolderFile, etag: str) -> bytes:
    """The bytes that were hashed. They are read a second time, so that no folder need fit into memory."""
    data = item.read()
    if hashlib.sha256(data).hexdigest() != etag:
        raise OSError(errno.EAGAIN, "It was changed while it was read; read the folder again")
    return data


def _revision(item: FolderFile, etag: str, now: datetime) -> Revision:
    written = min(item.modified, now)
    return Revision(
        period=Period(written, None),
        external_id=item.path,
        etag=etag,
        created_at=None,
        updated_at=written,
        read=partial(_again, item, etag),
    )
