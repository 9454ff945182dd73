import os
import threading
from pathlib import Path

import pytest

from app.providers.private_file import (
    PrivateFileError,
    check_folder,
    ensure_folder,
    exclusive,
    read_private,
    replace_private,
)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("durable", [True, False])
def test_files_and_folders_are_private_whatever_the_umask(tmp_path: Path, umask: int, durable: bool) -> None:
    before = os.umask(umask)
    try:
        folder = tmp_path / "kept"
        ensure_folder(folder)
        replace_private(folder / "file", b"content", durable)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "file").stat().st_mode & 0o777 == 0o600
    assert read_private(folder / "file", 100) == b"content"
    assert [found.name for found in folder.iterdir()] == ["file"]


def test_a_left_over_of_a_crash_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / ".file.new").write_bytes(b"half of something much longer")
    (tmp_path / ".file.new").chmod(0o644)
    replace_private(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602, 0o610])
def test_a_file_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    path.chmod(mode)
    with pytest.raises(PrivateFileError, match=f"chmod 600 {path}"):
        read_private(path, 100)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720, 0o777])
def test_a_folder_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    folder.chmod(mode)
    for check in (check_folder, ensure_folder):
        with pytest.raises(PrivateFileError, match=f"chmod 700 {folder}"):
            check(folder)


def test_what_is_no_small_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "big").write_bytes(b"x" * 11)
    (tmp_path / "big").chmod(0o600)
    with pytest.raises(PrivateFileError, match="is not a file"):
        read_private(tmp_path / "pipe", 10)
    with pytest.raises(PrivateFileError, match="larger than 10 bytes"):
        read_private(tmp_path / "big", 10)
    assert read_private(tmp_path / "none", 10) is None


def test_one_holder_at_a_time_among_threads(tmp_path: Path) -> None:
    path, inside, most = tmp_path / "file", 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(50):
            with exclusive(path):
                inside += 1
                most = max(most, inside)
                os.sched_yield()
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, inside) == (1, 0)
