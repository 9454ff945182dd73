import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pygit2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pygit2.enums import FileMode, ObjectType

from app.domain.errors import Code, MunimentError
from app.providers.git_history import FileHistory, head, read_blob, read_history

START = 1_700_000_000
LONG = b"".join(b"line %d of a page that is long enough to be known again\n" % n for n in range(30))

Files = dict[str, bytes]


def tree_of(repo: pygit2.Repository, files: Files, modes: dict[str, FileMode] | None = None) -> pygit2.Oid:
    index = pygit2.Index()
    for path, data in files.items():
        mode = (modes or {}).get(path, FileMode.BLOB)
        blob = pygit2.Oid(hex=data.decode()) if mode == FileMode.COMMIT else repo.create_blob(data)
        index.add(pygit2.IndexEntry(path, blob, mode))
    return index.write_tree(repo)


def commit(
    repo: pygit2.Repository,
    files: Files,
    at: int,
    *,
    modes: dict[str, FileMode] | None = None,
    parents: list[pygit2.Oid | str] | None = None,
    ref: str | None = "HEAD",
) -> pygit2.Oid:
    who = pygit2.Signature("Ada Łoś", "ada@example.org", at, 60)
    if parents is None:
        parents = [] if repo.head_is_unborn else [repo.head.target]
    return repo.create_commit(ref, who, who, "change", tree_of(repo, files, modes), parents)


@pytest.fixture
def repo(tmp_path: Path) -> pygit2.Repository:
    return pygit2.init_repository(str(tmp_path / "repo"))


def where(repo: pygit2.Repository) -> Path:
    return Path(repo.path)


def markdown(path: str) -> bool:
    return path.endswith(".md")


def only(histories: list[FileHistory]) -> FileHistory:
    assert len(histories) == 1
    return histories[0]


def test_each_change_of_a_file_is_a_revision(repo: pygit2.Repository) -> None:
    first = commit(repo, {"docs/a.md": b"one", "b.bin": b"x"}, START)
    commit(repo, {"docs/a.md": b"one", "b.bin": b"y"}, START + 10)
    third = commit(repo, {"docs/a.md": b"three"}, START + 20)

    history = only(read_history(where(repo), markdown))

    assert history.path == "docs/a.md"
    assert [(r.commit, r.size, r.author) for r in history.revisions] == [
        (str(first), 3, "Ada Łoś"),
        (str(third), 5, "Ada Łoś"),
    ]
    assert history.revisions[0].at == datetime.fromtimestamp(START, UTC)
    assert [read_blob(where(repo), r.blob_id or "") for r in history.revisions] == [b"one", b"three"]
    assert head(where(repo)) == str(third)


def test_times_are_made_strictly_increasing(repo: pygit2.Repository) -> None:
    for at, text in ((START, b"1"), (START, b"2"), (START - 500, b"3"), (START + 1, b"4")):
        commit(repo, {"a.md": text}, at)
    start = datetime.fromtimestamp(START, UTC)
    tick = timedelta(microseconds=1)
    times = [revision.at for revision in only(read_history(where(repo), markdown)).revisions]
    assert times == [start, start + tick, start + 2 * tick, start + timedelta(seconds=1)]


def test_a_committer_time_beyond_the_calendar_counts_as_going_back(repo: pygit2.Repository) -> None:
    first = commit(repo, {"a.md": b"1"}, START)
    who = f"Ada <ada@example.org> {10**15} +0000"
    raw = f"tree {tree_of(repo, {'a.md': b'2'})}\nparent {first}\nauthor {who}\ncommitter {who}\n\nfar\n"
    repo.set_head(repo.write(ObjectType.COMMIT, raw.encode()))
    before, after = only(read_history(where(repo), markdown)).revisions
    assert after.at - before.at == timedelta(microseconds=1)


def test_a_rename_continues_the_history_with_and_without_an_edit(repo: pygit2.Repository) -> None:
    commit(repo, {"a.md": LONG}, START)
    commit(repo, {"b.md": LONG}, START + 1)
    commit(repo, {"deep/c.md": LONG + b"and one more line\n"}, START + 2)
    history = only(read_history(where(repo), markdown))
    assert history.path == "deep/c.md"
    assert [r.path for r in history.revisions] == ["a.md", "b.md", "deep/c.md"]


def test_a_name_given_up_and_taken_in_one_commit_stays_with_the_name(repo: pygit2.Repository) -> None:
    other = b"".join(b"%d is nothing like the first\n" % (n * n) for n in range(30))
    commit(repo, {"a.md": LONG, "b.md": other}, START)
    commit(repo, {"b.md": LONG}, START + 1)
    a, b = read_history(where(repo), markdown)
    assert a.revisions[-1].blob_id is None
    assert [(r.path, read_blob(where(repo), r.blob_id or "")) for r in b.revisions] == [("b.md", other), ("b.md", LONG)]


def test_a_deleted_file_made_again_is_the_same_file_after_a_gap(repo: pygit2.Repository) -> None:
    commit(repo, {"a.md": b"one", "k.md": b"k"}, START)
    commit(repo, {"k.md": b"k"}, START + 1)
    commit(repo, {"a.md": b"wholly different", "k.md": b"k"}, START + 2)
    a = next(h for h in read_history(where(repo), markdown) if h.path == "a.md")
    assert [(r.blob_id is None, r.size) for r in a.revisions] == [(False, 3), (True, None), (False, 16)]


def test_a_file_moved_to_the_place_of_a_deleted_one_stays_apart_from_it(repo: pygit2.Repository) -> None:
    commit(repo, {"old.md": b"short", "page.md": LONG}, START)
    commit(repo, {"page.md": LONG}, START + 1)
    commit(repo, {"old.md": LONG}, START + 2)
    histories = read_history(where(repo), markdown)
    assert [h.path for h in histories] == ["old.md", "old.md"]
    assert len({h.origin for h in histories}) == 2
    assert [h.revisions[-1].blob_id is None for h in histories] == [True, False]


def test_a_move_out_of_the_accepted_paths_is_a_deletion_and_into_them_a_beginning(repo: pygit2.Repository) -> None:
    commit(repo, {"a.md": LONG, "b.txt": LONG[::-1]}, START)
    commit(repo, {"a.txt": LONG, "b.md": LONG[::-1]}, START + 1)
    a, b = read_history(where(repo), markdown)
    assert [(r.path, r.blob_id is None) for r in a.revisions] == [("a.md", False), ("a.md", True)]
    assert [r.path for r in b.revisions] == ["b.md"]


def test_links_submodules_and_modes_do_not_count(repo: pygit2.Repository) -> None:
    start = commit(repo, {"a.md": b"one"}, START)
    files = {"a.md": b"one", "link.md": b"a.md", "module.md": str(start).encode()}
    modes = {"a.md": FileMode.BLOB_EXECUTABLE, "link.md": FileMode.LINK, "module.md": FileMode.COMMIT}
    commit(repo, files, START + 1, modes=modes)
    assert len(only(read_history(where(repo), markdown)).revisions) == 1
    # A file that becomes a link has ended.
    commit(repo, {"a.md": b"elsewhere.md"}, START + 2, modes={"a.md": FileMode.LINK})
    assert only(read_history(where(repo), markdown)).revisions[-1].blob_id is None


def test_a_merge_brings_its_branch_at_the_time_of_the_merge(repo: pygit2.Repository) -> None:
    base = commit(repo, {"a.md": b"base"}, START)
    side = commit(repo, {"a.md": b"side"}, START + 5, parents=[base], ref=None)
    main = commit(repo, {"a.md": b"base", "b.md": b"main"}, START + 10)
    merge = commit(repo, {"a.md": b"side", "b.md": b"main"}, START + 20, parents=[main, side])
    a = next(h for h in read_history(where(repo), markdown) if h.path == "a.md")
    assert [r.commit for r in a.revisions] == [str(base), str(merge)]


def test_an_empty_repository_has_no_head_and_no_history(repo: pygit2.Repository) -> None:
    assert head(where(repo)) is None
    assert read_history(where(repo), markdown) == []


def test_a_detached_head_is_read_from_where_it_stands(repo: pygit2.Repository) -> None:
    first = commit(repo, {"a.md": b"1"}, START)
    commit(repo, {"a.md": b"2"}, START + 1)
    repo.set_head(first)
    assert head(where(repo)) == str(first)
    assert len(only(read_history(where(repo), markdown)).revisions) == 1


def test_a_bare_repository_and_a_working_tree_read_alike(tmp_path: Path) -> None:
    read = []
    for name, bare in (("bare.git", True), ("tree", False)):
        repo = pygit2.init_repository(str(tmp_path / name), bare=bare)
        commit(repo, {"a.md": b"1"}, START)
        read.append(read_history(tmp_path / name, markdown))
    assert read[0] == read[1]
    assert len(read[0]) == 1


@pytest.mark.parametrize("declared", [True, False])
def test_a_shallow_clone_begins_where_its_commits_end(repo: pygit2.Repository, declared: bool) -> None:
    lost = commit(repo, {"a.md": b"1"}, START)
    second = commit(repo, {"a.md": b"2"}, START + 1)
    third = commit(repo, {"a.md": b"3"}, START + 2)
    (where(repo) / "objects" / str(lost)[:2] / str(lost)[2:]).unlink()
    if declared:
        (where(repo) / "shallow").write_text(f"{second}\n")
    assert [r.commit for r in only(read_history(where(repo), markdown)).revisions] == [str(second), str(third)]


def test_a_blob_that_is_not_there_is_reported_by_code(repo: pygit2.Repository) -> None:
    commit(repo, {"a.md": b"1"}, START)
    blob = only(read_history(where(repo), markdown)).revisions[0].blob_id or ""
    (where(repo) / "objects" / blob[:2] / blob[2:]).unlink()
    assert only(read_history(where(repo), markdown)).revisions[0].size is None
    for wanted in (blob, "0" * 40, "no id", str(repo.head.target)):
        with pytest.raises(MunimentError) as caught:
            read_blob(where(repo), wanted)
        assert caught.value.code == Code.NOT_FOUND


def test_a_folder_inside_a_repository_is_not_that_repository(repo: pygit2.Repository, tmp_path: Path) -> None:
    (tmp_path / "repo" / "inner").mkdir()
    for folder in (tmp_path / "repo" / "inner", tmp_path / "missing", tmp_path):
        with pytest.raises(MunimentError) as caught:
            read_history(folder, markdown)
        assert caught.value.code == Code.BAD_USER_INPUT


def test_a_repository_of_another_user_is_readable(repo: pygit2.Repository, tmp_path: Path) -> None:
    commit(repo, {"a.md": b"1"}, START)
    if os.geteuid() == 0:
        for path in (tmp_path / "repo", *(tmp_path / "repo").rglob("*")):
            os.chown(path, 65534, 65534)
    assert not pygit2.settings.owner_validation
    assert len(read_history(tmp_path / "repo", markdown)) == 1


def test_names_that_are_not_utf8_stay_apart(repo: pygit2.Repository) -> None:
    blob = repo.create_blob(b"text").raw
    entries = (b"100644 " + name + b"\0" + blob for name in (b"caf\xc3\xa9.md", b"caf\xe8.md", b"caf\xe9.md"))
    who = pygit2.Signature("Ada", "ada@example.org", START, 0)
    repo.create_commit("HEAD", who, who, "names", repo.write(ObjectType.TREE, b"".join(entries)), [])
    assert {h.path for h in read_history(where(repo), markdown)} == {"caf\\xe9.md", "caf\\xe8.md", "café.md"}


STATES = st.lists(
    st.dictionaries(st.sampled_from(["a.md", "b.md", "d/c.md", "d/e.md"]), st.sampled_from([LONG, LONG[::-1], b"x"])),
    min_size=1,
    max_size=6,
)


@given(STATES)
@settings(max_examples=40, deadline=None)
def test_what_is_alive_after_each_commit_is_the_tree_of_that_commit(
    tmp_path_factory: pytest.TempPathFactory, states: list[Files]
) -> None:
    repo = pygit2.init_repository(str(tmp_path_factory.mktemp("walk")), bare=True)
    commits = [str(commit(repo, state, START + number)) for number, state in enumerate(states)]
    histories = read_history(where(repo), markdown)
    for number, state in enumerate(states):
        until = set(commits[: number + 1])
        last = [[r for r in history.revisions if r.commit in until][-1:] for history in histories]
        alive = {r.path: r.blob_id for found in last for r in found if r.blob_id}
        assert alive == {path: str(repo.create_blob(data)) for path, data in state.items()}
        assert sum(bool(found and found[0].blob_id) for found in last) == len(state)
    for history in histories:
        times = [r.at for r in history.revisions]
        assert times == sorted(set(times))
    assert len({history.origin for history in histories}) == len(histories)
