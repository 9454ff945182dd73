import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.domain.errors import Code, MunimentError
from app.providers.folder import FolderFile, FolderProblem, walk


def everything(path: str) -> bool:
    return True


def names(folder: Path) -> list[str]:
    return [found.path for found in walk(folder, everything)]


def test_files_come_in_order_of_name_with_size_time_and_bytes(tmp_path: Path) -> None:
    for name in ("b/z.md", "b/a.md", "a.md", "c.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    os.utime(tmp_path / "a.md", ns=(0, 1_700_000_000_123_456_789))
    found = list(walk(tmp_path, everything))
    assert [file.path for file in found] == ["a.md", "b/a.md", "b/z.md", "c.md"]
    first = found[0]
    assert isinstance(first, FolderFile)
    assert (first.size, first.read()) == (4, b"a.md")
    assert first.modified == datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=UTC)


def test_only_accepted_paths_are_taken(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name in ("a.md", "a.bin", "d/b.md"):
        (tmp_path / name).touch()
    assert [f.path for f in walk(tmp_path, lambda path: path.endswith(".md"))] == ["a.md", "d/b.md"]


def test_hidden_and_installed_folders_are_passed_over(tmp_path: Path) -> None:
    for name in (".git", ".venv", ".muniment", "node_modules", "__pycache__", "kept"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").touch()
    assert names(tmp_path) == ["kept/a.md"]


def test_links_pipes_and_sockets_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.md").touch()
    (tmp_path / "link.md").symlink_to("a.md")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s.md"))
        assert names(tmp_path) == ["a.md"]


def test_a_file_above_the_limit_is_reported(tmp_path: Path) -> None:
    (tmp_path / "big.md").write_bytes(b"x" * 11)
    (tmp_path / "fits.md").write_bytes(b"x" * 10)
    big, fits = walk(tmp_path, everything, limit=10)
    assert big == FolderProblem("big.md", "The file has 11 bytes; the limit is 10.")
    assert isinstance(fits, FolderFile)


def test_a_file_that_changed_after_the_walk_is_an_error_of_that_file(tmp_path: Path) -> None:
    for name in ("gone", "grown", "link", "pipe"):
        (tmp_path / name).write_bytes(b"x")
    gone, grown, link, pipe = walk(tmp_path, everything, limit=10)
    (tmp_path / "gone").unlink()
    (tmp_path / "grown").write_bytes(b"x" * 11)
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("grown")
    (tmp_path / "pipe").unlink()
    os.mkfifo(tmp_path / "pipe")
    for file in (gone, grown, link, pipe):
        assert isinstance(file, FolderFile)
        with pytest.raises(OSError, match=r".+"):
            file.read()


def test_what_vanishes_or_may_not_be_read_is_reported_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a/x.md", "b.md", "c.md"):
        (tmp_path / name).touch()
    steps = walk(tmp_path, everything)
    assert next(steps).path == "a/x.md"
    (tmp_path / "b.md").unlink()
    (tmp_path / "c.md").chmod(0)
    missing, closed = steps
    assert isinstance(missing, FolderProblem)
    # The superuser may read every file.
    assert isinstance(closed, FolderFile if os.geteuid() == 0 else FolderProblem)


def test_names_that_are_not_utf8_stay_apart_and_are_readable(tmp_path: Path) -> None:
    for name in (b"caf\xe9.md", b"caf\xe8.md"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(name)
    found = list(walk(tmp_path, everything))
    assert [file.path for file in found] == ["caf\\xe8.md", "caf\\xe9.md"]
    assert all(isinstance(file, FolderFile) and file.read().startswith(b"caf") for file in found)


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "missing", tmp_path / "file"):
        with pytest.raises(MunimentError) as caught:
            walk(path, everything)
        assert caught.value.code == Code.BAD_USER_INPUT
