"""Ten headings of this repository's own pages, asked of a running server: found now, and from their commit on.

The demo reads the repository with its history; without one (an exported archive) it reads the folder, and each file
holds since it was last written.
"""

import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.instant import format_instant
from app.ingestion.chunking import Slice, chunk
from app.ingestion.folder_source import folder_drafts
from app.ingestion.git_source import git_drafts
from app.ingestion.report import Report
from app.ingestion.runner import Draft, Revision
from app.providers.parsers.registry import parse
from app.providers.stemmer import analyser
from app.providers.wordpieces import WordPieces
from tests.fixtures.server import ROOT

HEADINGS = 10
TICK = timedelta(microseconds=1)
WIDE = {"topK": 50, "maxPerLevel": 50, "maxPassagesPerDocument": 50, "tokenBudget": None}

RETRIEVE = """
    query Retrieve($input: RetrieveInput!) {
        retrieve(input: $input) {
            passages { text validFrom citation { externalId headingPath } }
            limitations { code }
        }
    }
"""


@dataclass(frozen=True)
class Heading:
    """A section of a page as it stands, and since when it has stood there."""

    page: str
    path: str
    text: str
    since: datetime

    @property
    def question(self) -> str:
        """The heading in its document's terms: below what it stands, and the three words that its text says most."""
        said = Counter(word.lower() for word in re.findall(r"[A-Za-z]{5,}", self.text))
        often = sorted(said, key=lambda word: (-said[word], word))[:3]
        return " ".join([*self.path.split(" > "), *often])


class Pages:
    """The Markdown pages of this repository, read as the demo reads them."""

    def __init__(self) -> None:
        self._pieces = WordPieces()

    @staticmethod
    def drafts() -> list[Draft]:
        found = (
            git_drafts(ROOT, ()) if (ROOT / ".git").exists() else folder_drafts(ROOT, (), datetime.now(UTC), Report())
        )
        return [draft for draft in found if draft.revisions and draft.revisions[-1].external_id.endswith(".md")]

    def slices(self, revision: Revision) -> list[Slice]:
        return chunk(parse(revision.external_id, revision.read()), self._pieces.starts)

    def since(self, draft: Draft, wanted: Slice) -> datetime:
        """When the text came to stand under its heading for good."""
        start = draft.revisions[-1].period.start
        for revision in reversed(draft.revisions):
            held = {(item.heading_path, item.text) for item in self.slices(revision)}
            if (wanted.heading_path, wanted.text) not in held or (revision.period.end not in (None, start)):
                break
            start = revision.period.start
        assert start is not None
        return start

    def headings(self) -> dict[str, list[Heading]]:
        """By page: sections that a few words lead to, each by the first part of its text."""
        found: dict[str, list[Heading]] = defaultdict(list)
        for draft in self.drafts():
            last = draft.revisions[-1]
            if last.period.end is not None:
                continue
            firsts = {item.heading_path: item for item in reversed(self.slices(last))}
            for item in sorted(firsts.values(), key=lambda item: item.ordinal):
                telling = analyser("english").query_terms(" ".join(item.heading_path))
                if sum(weight >= 1 for weight in telling.values()) >= 2:
                    path = " > ".join(item.heading_path)
                    found[last.external_id].append(Heading(last.external_id, path, item.text, self.since(draft, item)))
        return found


@pytest.fixture(scope="module")
def headings() -> list[Heading]:
    """Ten, in turn from each page."""
    by_page = {page: list(found) for page, found in sorted(Pages().headings().items())}
    chosen: list[Heading] = []
    while len(chosen) < HEADINGS and any(by_page.values()):
        chosen += [waiting.pop(0) for waiting in by_page.values() if waiting]
    chosen = chosen[:HEADINGS]
    assert len(chosen) == HEADINGS
    assert len({heading.page for heading in chosen}) > 1
    return chosen


@pytest.fixture(scope="module")
def ask(live_server):
    """Passages for a question, once every text of the demo has its embedding."""
    token = live_server.token
    deadline = time.monotonic() + 120

    def asked(query: str, **options) -> list[dict]:
        while True:
            answer = live_server.ask(RETRIEVE, {"input": {"query": query, "spaceKey": "muniment", **options}}, token)
            assert "errors" not in answer, answer
            if all(item["code"] != "STALE_EMBEDDINGS" for item in answer["data"]["retrieve"]["limitations"]):
                return answer["data"]["retrieve"]["passages"]
            assert time.monotonic() < deadline, "the demo was not embedded in time"
            time.sleep(0.2)

    return asked


def place(passages: list[dict], heading: Heading) -> int | None:
    """Where the section ranks, from 1."""
    cited = [(item["citation"]["externalId"], item["citation"]["headingPath"]) for item in passages]
    return cited.index((heading.page, heading.path)) + 1 if (heading.page, heading.path) in cited else None


def test_a_heading_asked_for_is_among_the_first_three(ask, headings):
    places = {heading.path: place(ask(heading.question), heading) for heading in headings}
    assert all(rank is not None and rank <= 3 for rank in places.values()), places
    assert sum(rank == 1 for rank in places.values()) > HEADINGS / 2, places


def test_a_text_is_found_from_its_commit_on_and_not_a_microsecond_before(ask, headings):
    for heading in headings:
        at = ask(heading.question, asOf=format_instant(heading.since), **WIDE)
        assert heading.text in [item["text"] for item in at], heading
        before = ask(heading.question, asOf=format_instant(heading.since - TICK), **WIDE)
        assert heading.text not in [item["text"] for item in before], heading
        now = next(item for item in ask(heading.question, **WIDE) if item["text"] == heading.text)
        assert now["validFrom"] == format_instant(heading.since)
