"""Documents and questions to load and to ask: the evaluation data where it is there, else this repository's texts."""

import json
import os
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("MUNIMENT_TEST_DATA", ROOT.parent / "shared" / "data"))
COLLECTIONS = ("scifact", "cosqa", "cranfield")
SUFFIXES = {".md", ".py", ".ts", ".css", ".toml"}


class Document(NamedTuple):
    """A name that is never used twice, a title, a text."""

    name: str
    title: str
    text: str


def questions(number: int) -> list[str]:
    """Real questions, titles where there are none."""
    folders = [DATA / "ir" / name for name in COLLECTIONS]
    if not folders[0].is_dir():
        return [title for _, title, _ in _own()][:number]
    rows = [json.loads(line)["text"] for line in (folders[0] / "queries.jsonl").read_text("utf-8").split("\n") if line]
    return rows[:: max(1, len(rows) // number)][:number]


def mixed_questions(number: int) -> list[str]:
    """Real questions of every collection in equal parts, titles where there are none."""
    if not (DATA / "ir" / COLLECTIONS[0]).is_dir():
        return titles(number)
    found = []
    for collection in COLLECTIONS:
        lines = (DATA / "ir" / collection / "queries.jsonl").read_text("utf-8").split("\n")
        rows = [json.loads(line)["text"] for line in lines if line]
        found += _spread(rows, number // len(COLLECTIONS))
    return found


def titles(number: int) -> list[str]:
    """Titles of documents of two words and more, as somebody would type them who remembers one."""
    texts = _evaluation() if (DATA / "ir" / COLLECTIONS[0]).is_dir() else _own()
    return _spread([title for _, title, _ in texts if " " in title], number)


def _spread(items: list[str], number: int) -> list[str]:
    return items[:: max(1, len(items) // number)][:number]


def documents() -> Iterator[Document]:
    """Without end: each round through the texts gives them fresh names."""
    texts = list(_evaluation() if (DATA / "ir" / COLLECTIONS[0]).is_dir() else _own())
    for turn in count():
        for name, title, text in texts:
            yield Document(f"{turn}/{name}", title, text)


def _evaluation() -> Iterator[Document]:
    for collection in COLLECTIONS:
        for line in (DATA / "ir" / collection / "corpus.jsonl").read_text("utf-8").split("\n"):
            if line and (row := json.loads(line))["text"].strip():
                yield Document(f"{collection}/{row['_id']}", row["title"] or row["_id"], row["text"])


def _own() -> Iterator[Document]:
    """Pieces of about a thousand characters of every text file that git knows, or that lies here."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    paths = [ROOT / name for name in listed] or sorted((ROOT / "app").rglob("*.py"))
    for path in paths:
        if path.suffix in SUFFIXES and path.is_file():
            text = path.read_text("utf-8", errors="replace")
            for start in range(0, len(text), 1000):
                piece = text[start : start + 1000]
                words = piece.split()
                if words:
                    yield Document(f"{path.relative_to(ROOT)}#{start}", " ".join(words[:8]), piece)
