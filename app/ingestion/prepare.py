"""From bytes to what is stored: parse, redact, chunk, analyse. No lock is held and nothing is written."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from app.domain import lexical
from app.domain.code import ContentGraph
from app.domain.dlp.finding import Findings
from app.domain.dlp.masking import blanked
from app.domain.dlp.policy import tag
from app.domain.dlp.scanning import Scanner
from app.domain.document import Place, SliceFacts, slice_identity
from app.domain.lexical import Analyser
from app.ingestion.chunking import chunk
from app.ingestion.preparing import go_on
from app.providers.code_graph.registry import extract
from app.providers.parsers.blocks import Parsed
from app.providers.redaction.scanner import SCANNER
from app.providers.tokens import Tokens
from app.providers.wordpieces import WordPieces

#: Slices whose words are remembered, as their tokens are.
REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True)
class Content:
    """One parsed content: its title (from the text, else from its name), its slices, and what it points at."""

    sha256: bytes
    text: str
    title: str
    mime: str
    slices: tuple[SliceFacts, ...]
    problems: tuple[str, ...]
    graph: ContentGraph | None = None
    #: Whether the words that search knows are without what detectors found.
    masks: bool = True


@dataclass(frozen=True, slots=True)
class Preparer:
    """Everything that preparing needs; immutable and shared by threads."""

    pieces: WordPieces
    tokens: Tokens
    analyser: Callable[[str], Analyser]
    scanner: Scanner = SCANNER
    _weights: Callable[[str, str], dict[int, float]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A revision of a document shares most of its slices with the one before.
        object.__setattr__(self, "_weights", lru_cache(maxsize=REMEMBERED)(self._weigh))

    def _weigh(self, language: str, words: str) -> dict[int, float]:
        """What the text leg keeps of these words; not to be changed by who is given it."""
        return lexical.document_weights(self.analyser(language).lexemes(words))

    def content(self, name: str, parsed: Parsed, language: str, masks: bool = True) -> Content:
        """`masks`: what detectors find is kept out of the words that search knows. `ScanFailed` when one breaks."""
        title = parsed.title or name.rsplit("/", 1)[-1]
        # As a whole: what is found may begin in one slice and end in the next.
        found = self.scanner.scan(parsed.text)
        slices = chunk(parsed, self.pieces.starts)
        tokens = self.tokens.count_all([item.text for item in slices])
        seen: Counter[tuple[Place, bytes]] = Counter()
        facts: list[SliceFacts] = []
        for item, count in zip(slices, tokens, strict=True):
            go_on()
            place = item.place
            text_sha256 = hashlib.sha256(item.text.encode()).digest()
            identity = slice_identity(title, place, text_sha256, seen[place, text_sha256])
            seen[place, text_sha256] += 1
            findings = self.scanner.scan_slice(item.text, found, item.start, item.end)
            words = self.words(title, item.heading_path, item.text, findings, masks=masks)
            facts.append(
                SliceFacts(
                    identity=identity,
                    text=item.text,
                    text_sha256=text_sha256,
                    tokens=count,
                    ordinal=item.ordinal,
                    start=item.start,
                    end=item.end,
                    place=place,
                    lexemes=self._weights(language, words),
                    findings=findings,
                    dlp_tag=tag(masks),
                )
            )
        return Content(
            sha256=hashlib.sha256(parsed.text.encode()).digest(),
            text=parsed.text,
            title=title,
            mime=parsed.mime,
            slices=tuple(facts),
            problems=parsed.problems,
            graph=_graph(name, parsed),
            masks=masks,
        )

    def words(self, title: str, heading_path: Sequence[str], text: str, found: Findings, *, masks: bool) -> str:
        """What search knows a slice by."""
        if not masks:
            return " ".join((title, *heading_path, text))
        about = [blanked(part, self.scanner.scan(part)) for part in (title, *heading_path)]
        return " ".join((*about, blanked(text, found)))


def _graph(name: str, parsed: Parsed) -> ContentGraph | None:
    code = parsed.code or extract(name, parsed.text)
    if code is not None:
        return ContentGraph(code.language, code)
    return ContentGraph(parsed.mime, links=parsed.links) if parsed.links else None
