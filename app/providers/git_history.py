"""The history of each file of a git repository, read through libgit2: no git program is needed, nothing is written."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, FileMode, ObjectType, RepositoryOpenFlag

from app.domain.errors import Code, MunimentError, bad_input

#: Above this many pairs of a lost and a new file in one commit only renames without an edit are found.
_RENAME_PAIRS = 1_000_000

_TICK = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# The files of another user (a mounted folder, a service account) are only read here, and no hook or filter is run.
pygit2.settings.owner_validation = False


@dataclass(frozen=True, slots=True)
class Revision:
    """A file as one commit left it: `blob_id` None is its deletion, `size` in bytes (None where there is no blob).

    `at` is the committer's time, made 1 µs later than the commit before where it is not later by itself.
    """

    at: datetime
    path: str
    blob_id: str | None
    size: int | None
    commit: str
    author: str


@dataclass(frozen=True, slots=True)
class FileHistory:
    """One file through its renames, oldest revision first; `path` is its last one.

    Two histories may end at one path: a deleted file, and another that was later moved to its place. `origin` tells
    them apart and stays the same while commits are added.
    """

    path: str
    revisions: tuple[Revision, ...]

    @property
    def origin(self) -> str:
        first = self.revisions[0]
        return f"{first.commit}:{first.path}"


def _open(repo: Path) -> pygit2.Repository:
    try:
        # No search upwards: a plain folder inside a repository is not that repository.
        return pygit2.Repository(str(repo), RepositoryOpenFlag.NO_SEARCH)
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise bad_input("The place is not a readable git repository.", "path") from error


def head(repo: Path) -> str | None:
    """The id of the commit that HEAD names, or None in a repository without commits; raises BAD_USER_INPUT."""
    tip = _tip(_open(repo))
    return str(tip.id) if tip else None


def read_blob(repo: Path, blob_id: str) -> bytes:
    """The bytes of one file revision; raises NOT_FOUND where the repository does not hold it (a partial clone)."""
    try:
        kind, data = _open(repo).odb.read(pygit2.Oid(hex=blob_id))
    except (KeyError, ValueError, pygit2.GitError) as error:
        raise MunimentError(Code.NOT_FOUND, f"The repository does not hold blob {blob_id}.") from error
    if kind != ObjectType.BLOB:
        raise MunimentError(Code.NOT_FOUND, f"Object {blob_id} is not a file.")
    return bytes(data)


def unread(repo: Path, accepts: Callable[[str], bool]) -> Iterator[str]:
    """The paths that HEAD holds and `read_history` does not tell of: files that `accepts` refuses, and links."""
    tip = _tip(_open(repo))
    waiting = [(b"", tip.tree)] if tip else []
    while waiting:
        folder, tree = waiting.pop()
        for entry in tree:
            raw_path = folder + (entry.raw_name or b"")
            if isinstance(entry, pygit2.Tree):
                waiting.append((raw_path + b"/", entry))
            elif entry.filemode not in (FileMode.BLOB, FileMode.BLOB_EXECUTABLE) or not accepts(_text(raw_path)):
                yield _text(raw_path)


def _tip(repository: pygit2.Repository) -> pygit2.Commit | None:
    if repository.head_is_unborn:
        return None
    return repository.head.peel(pygit2.Commit)


def _first_parents(repository: pygit2.Repository) -> list[pygit2.Commit]:
    """Oldest first. A shallow clone begins where its commits end."""
    commits: list[pygit2.Commit] = []
    commit = _tip(repository)
    while commit is not None:
        commits.append(commit)
        parents = commit.parent_ids
        parent = repository.get(parents[0]) if parents else None
        commit = parent if isinstance(parent, pygit2.Commit) else None
    return commits[::-1]


def _instants(commits: list[pygit2.Commit]) -> Iterator[datetime]:
    last: datetime | None = None
    for commit in commits:
        try:
            at = _EPOCH + timedelta(seconds=commit.commit_time)
        except OverflowError:
            at = last or _EPOCH
        if last is not None and at <= last:
            at = last + _TICK
        last = at
        yield at


def _text(raw: bytes) -> str:
    # Names are bytes: what is not UTF-8 is shown as \xNN, so that two names never become one.
    return raw.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class _Change:
    old: str | None
    new: str | None
    blob_id: pygit2.Oid | None


def _changes(before: pygit2.Tree | None, after: pygit2.Tree, accepts: Callable[[str], bool]) -> list[_Change]:
    """What one commit did to accepted regular files, by its tree alone: links, submodules and modes do not count."""
    diff = before.diff_to_tree(after) if before else after.diff_to_tree(swap=True)
    kinds = [delta.status for delta in diff.deltas]
    lost, made = kinds.count(DeltaStatus.DELETED), kinds.count(DeltaStatus.ADDED)
    if lost and made:
        exact = DiffFind.FIND_EXACT_MATCH_ONLY if lost * made > _RENAME_PAIRS else DiffFind.FIND_BY_CONFIG
        diff.find_similar(DiffFind.FIND_RENAMES | exact)
    found = []
    for delta in diff.deltas:
        old = _accepted(delta.old_file, accepts) if delta.status != DeltaStatus.ADDED else None
        new = _accepted(delta.new_file, accepts) if delta.status != DeltaStatus.DELETED else None
        same = old == new and delta.old_file.id == delta.new_file.id
        if (old or new) and not same:
            found.append(_Change(old, new, delta.new_file.id if new else None))
    return found


def _accepted(file: pygit2.DiffFile, accepts: Callable[[str], bool]) -> str | None:
    if file.mode not in (FileMode.BLOB, FileMode.BLOB_EXECUTABLE):
        return None
    path = _text(file.raw_path)
    return path if accepts(path) else None


@dataclass(slots=True)
class _Files:
    """The histories while the commits pass by."""

    histories: list[list[Revision]] = field(default_factory=list)
    living: dict[str, list[Revision]] = field(default_factory=dict)
    deleted: dict[str, list[Revision]] = field(default_factory=dict)

    def apply(self, changes: list[_Change], revise: Callable[[str, pygit2.Oid | None], Revision]) -> None:
        # Old names go first: in one commit a file may take the name that another gives up.
        moved = [self.living.pop(change.old, None) if change.old else None for change in changes]
        for change, history in zip(changes, moved, strict=True):
            if change.new is None:
                if history is not None and change.old is not None:
                    history.append(revise(change.old, None))
                    self.deleted[change.old] = history
                continue
            # A file made again where one was deleted is that document after a gap: readers know a page by its path.
            former = self.deleted.pop(change.new, None)
            revisions = history if history is not None else former
            if revisions is None:
                revisions = []
                self.histories.append(revisions)
            revisions.append(revise(change.new, change.blob_id))
            self.living[change.new] = revisions


def read_history(repo: Path, accepts: Callable[[str], bool]) -> list[FileHistory]:
    """The histories of the regular files whose path `accepts`, in order of first appearance; paths are POSIX.

    Walks the first parents of HEAD, one tree comparison a commit; a merge counts as what it brought to that line. A
    move out of the accepted paths is a deletion and a move into them a beginning. Raises BAD_USER_INPUT.
    """
    repository = _open(repo)
    commits = _first_parents(repository)
    files = _Files()
    before: pygit2.Tree | None = None
    for commit, at in zip(commits, _instants(commits), strict=True):
        after = commit.tree
        if before is None or before.id != after.id:
            changes = _changes(before, after, accepts)
            files.apply(changes, _reviser(repository, commit, at))
        before = after
    return [FileHistory(revisions[-1].path, tuple(revisions)) for revisions in files.histories]


def _reviser(
    repository: pygit2.Repository, commit: pygit2.Commit, at: datetime
) -> Callable[[str, pygit2.Oid | None], Revision]:
    commit_id, author = str(commit.id), _text(commit.author.raw_name)

    def revise(path: str, blob_id: pygit2.Oid | None) -> Revision:
        size = _size(repository, blob_id) if blob_id else None
        return Revision(at, path, str(blob_id) if blob_id else None, size, commit_id, author)

    return revise


def _size(repository: pygit2.Repository, blob_id: pygit2.Oid) -> int | None:
    try:
        return int(repository.odb.read_header(blob_id)[1])
    except (KeyError, pygit2.GitError):
        return None
