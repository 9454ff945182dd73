"""What redaction costs a retrieval: `python -m tests.benchmarks.redaction`. Fifty passages, as they are delivered.

Without a database: what is measured is the stage itself, on slices with the findings of their ingest, and on the same
with a tag of other detectors, which are scanned anew.
"""

from dataclasses import replace
from statistics import median
from time import perf_counter
from typing import Any
from uuid import uuid4

from app.domain.dlp.finding import packed
from app.domain.dlp.policy import DEFAULT_POLICY, tag
from app.domain.principal import Source
from app.domain.selection import Selection
from app.providers.redaction.scanner import SCANNER
from app.providers.tokens import Tokens
from app.retrieval.redact import redact
from tests.domain.candidates import candidate
from tests.quality.sensitive import corpus
from tests.retrieval.texts import passage

PASSAGES, ROUNDS = 50, 200


def measure(share: float, dlp_tag: str, count: Any) -> float:
    """Milliseconds of one redaction; `share` of the passages hold something."""
    source = Source(uuid4(), uuid4(), "docs", "filesystem", "s", "internal", "english", 1, None, None)
    texts, kept = {}, []
    for number, document in enumerate(corpus(2_000, 1)[:PASSAGES]):
        text = document.text if number < share * PASSAGES else "Nothing of the kind is said here. " * 20
        item = replace(candidate(number + 1), source_id=source.id)
        found = packed(SCANNER.scan(text)) or None
        texts[item.id] = replace(passage(item.id, text), findings=found, dlp_tag=dlp_tag)
        kept.append(item)
    authorised: Any = type(
        "Authorised", (), {"sources": {source.id: source}, "policy": DEFAULT_POLICY, "scanner": SCANNER}
    )
    taken = []
    for _ in range(ROUNDS):
        started = perf_counter()
        redact(Selection(tuple(kept)), texts, authorised, count)
        taken.append((perf_counter() - started) * 1000)
    return median(taken)


def main() -> None:
    count = Tokens().count
    for name, share, dlp_tag in (
        ("nothing found, scanned at ingest", 0.0, tag(True)),
        ("a tenth masked, scanned at ingest", 0.1, tag(True)),
        ("all masked, scanned at ingest", 1.0, tag(True)),
        ("nothing found, scanned anew", 0.0, ""),
        ("all masked, scanned anew", 1.0, ""),
    ):
        print(f"{PASSAGES} passages, {name}: {measure(share, dlp_tag, count):.2f} ms")


if __name__ == "__main__":
    main()
