import os
import resource
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.providers.parsers import sandbox
from app.providers.parsers.blocks import Block, Parsed, Unsupported
from app.providers.parsers.registry import MAX_TEXT_BYTES, parse, read
from app.providers.parsers.sandbox import Sandbox
from app.providers.parsers.wire import from_parsed, to_parsed
from tests.providers.parsers.making import pdf, word, workbook

PDF = pdf(["One page."])


@pytest.fixture
def apart() -> Iterator[Sandbox]:
    made = Sandbox()
    yield made
    made.close()


def processes() -> set[str]:
    own = str(os.getpid())
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if (folder / "stat").read_text().rsplit(")", 1)[1].split()[1] == own:
                    found.add(folder.name)
            except OSError:
                continue
    return found


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.pdf", PDF),
        ("a.docx", word(lambda document: document.add_heading("Hello", 1))),
        ("a.xlsx", workbook(lambda book: book.active.append(["a", "b"]))),
        ("a.md", b"# Title\n\n[link](b.md)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"),
    ],
)
def test_another_process_gives_the_same(apart: Sandbox, name: str, data: bytes) -> None:
    assert apart.parse(name, data) == read(name, data)


def test_everything_of_a_document_passes_between_processes() -> None:
    parsed = Parsed("ab", "t", (Block(0, 1, ("é",), "x", 1, "s", "t", 2, 3, (0, 1)),), "m", "l", ("p",), ("k",))
    assert to_parsed(from_parsed(parsed)) == parsed


def test_what_is_not_supported_is_told_by_the_same_sentence(apart: Sandbox) -> None:
    with pytest.raises(Unsupported, match="Damaged: it cannot be opened"):
        apart.parse("a.pdf", b"%PDF-")
    assert apart.parse("a.pdf", PDF).text.strip() == "One page."


def test_a_parser_that_hangs_is_ended_and_the_next_document_is_read(apart: Sandbox) -> None:
    apart.parse("a.pdf", PDF)
    [worker] = apart._idle
    before = worker.process.pid
    os.kill(before, signal.SIGSTOP)  # as good as an endless loop: it answers no more
    apart.seconds = 0.2
    with pytest.raises(Unsupported, match="not parsed within"):
        apart.parse("a.pdf", PDF)
    apart.seconds = 60
    assert apart.parse("a.pdf", PDF).text.strip() == "One page."
    assert str(before) not in processes()


def test_a_parser_that_crashes_takes_nothing_with_it(apart: Sandbox) -> None:
    apart.parse("a.pdf", PDF)
    [worker] = apart._idle
    os.kill(worker.process.pid, signal.SIGSTOP)
    threading.Timer(0.1, os.kill, (worker.process.pid, signal.SIGSEGV)).start()
    threading.Timer(0.2, os.kill, (worker.process.pid, signal.SIGCONT)).start()
    with pytest.raises(Unsupported, match="ended before it was done"):
        apart.parse("a.pdf", PDF)
    assert apart.parse("a.pdf", PDF).text.strip() == "One page."


def test_memory_is_bounded(apart: Sandbox) -> None:
    # A million rows of one letter need some hundred megabytes as rows and blocks; the process may have fewer.
    data = b"a,b\n" + b"x,1\n" * (MAX_TEXT_BYTES // 4 - 1)
    apart.parse("a.pdf", PDF)
    [worker] = apart._idle
    resource.prlimit(worker.process.pid, resource.RLIMIT_AS, (200 * 1024 * 1024, 200 * 1024 * 1024))
    with pytest.raises(Unsupported, match=r"memory|ended before"):
        apart.parse("a.csv", data)
    assert apart.parse("a.pdf", PDF).text.strip() == "One page."


def test_several_threads_share_few_processes(apart: Sandbox) -> None:
    with ThreadPoolExecutor(6) as pool:
        texts = list(pool.map(lambda number: apart.parse("a.pdf", pdf([f"Page {number}"])).text.strip(), range(12)))
    assert texts == [f"Page {number}" for number in range(12)]
    assert 1 <= len(apart._idle) <= sandbox.PROCESSES


def test_closing_ends_every_process() -> None:
    made = Sandbox()
    made.parse("a.pdf", PDF)
    [worker] = made._idle
    made.close()
    assert worker.process.returncode is not None


def test_a_process_ends_when_nobody_can_ask_it() -> None:
    made = Sandbox()
    made.parse("a.pdf", PDF)
    [worker] = made._idle
    assert worker.process.stdin is not None
    worker.process.stdin.close()
    assert worker.process.wait(30) == 0


def test_nothing_secret_is_in_its_environment(apart: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUNIMENT_KEYS", "secret-of-the-test")
    apart.parse("a.pdf", PDF)
    [worker] = apart._idle
    assert b"secret-of-the-test" not in Path(f"/proc/{worker.process.pid}/environ").read_bytes()


def test_what_is_too_large_is_told_before_it_is_looked_at() -> None:
    with pytest.raises(Unsupported, match=f"the limit is {MAX_TEXT_BYTES}"):
        parse("a.md", b"x" * (MAX_TEXT_BYTES + 1))


def test_a_large_text_is_parsed_apart_and_alike() -> None:
    data = b"# Title\n\n" + b"word and word, word and word, word and word, words\n\n" * 25_000
    assert parse("a.md", data) == read("a.md", data)
