"""A git repository as a source: every file with the periods in which each of its revisions held.

A revision holds from its commit's time to that of the next commit that touches the file; a deletion ends it. What a
rewritten history no longer tells is no longer believed.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path

from app.domain.temporal import Period
from app.ingestion.report import Report
from app.ingestion.runner import Draft, Revision
from app.providers.git_history import FileHistory, read_blob, read_history, unread
from app.providers.parsers.registry import supported


def git_drafts(repository: Path, known: Iterable[str], report: Report | None = None) -> Iterator[Draft]:
    """One draft a file history, renames followed; then one for each `known` document that the history does not tell
    of. What HEAD has besides is told to the report."""
    told: set[str] = set()
    for history in read_history(repository, supported):
        told.add(history.origin)
        yield Draft(history.origin, tuple(_revisions(repository, history)))
    for origin in known:
        if origin not in told:
            yield Draft(origin, ())
    if report is None:
        return
    for path in unread(repository, supported):
        report.skipped[path] = "A link or submodule." if supported(path) else "No parser reads this kind of file."


def _revisions(repository: Path, history: FileHistory) -> Iterator[Revision]:
    created = history.revisions[0].at
    ends: list[datetime | None] = [later.at for _, later in pairwise(history.revisions)]
    for revision, end in zip(history.revisions, [*ends, None], strict=True):
        if revision.blob_id is not None:
            yield Revision(
                period=Period(revision.at, end),
                external_id=revision.path,
                etag=revision.blob_id,
                created_at=created,
                updated_at=revision.at,
                read=partial(read_blob, repository, revision.blob_id),
            )
