"""Precision and recall of the detectors, and their speed: `python -m tests.quality.leaks`.

A value counts as found when all of it is masked, a finding as right when it touches a value.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import process_time

from app.providers.redaction.scanner import SCANNER
from tests.quality.sensitive import Labelled, corpus


def measure(documents: list[Labelled]) -> dict[str, tuple[float, float, int]]:
    """(precision, recall, labels) by detector, by language, and of all."""
    right: Counter[str] = Counter()
    given: Counter[str] = Counter()
    held: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    for document in documents:
        found = SCANNER._scan(document.text)
        for item in found:
            touched = any(item.start < label.end and item.end > label.start for label in document.labels)
            for group in ("all", document.language, item.detector.name):
                given[group] += 1
                right[group] += touched
        covered = {place for item in found for place in range(item.start, item.end)}
        for label in document.labels:
            whole = covered.issuperset(range(label.start, label.end))
            for group in ("all", document.language, label.detector.name):
                labels[group] += 1
                held[group] += whole
    return {
        group: (right[group] / given[group] if given[group] else 1.0, held[group] / labels[group], labels[group])
        for group in labels
    }


def speed(texts: Sequence[str]) -> float:
    """Megabytes a second of one processor."""
    started = process_time()
    for text in texts:
        SCANNER._scan(text)
    return sum(len(text.encode()) for text in texts) / 1e6 / (process_time() - started)


def texts_in(folder: Path) -> list[str]:
    """Files, and of JSON lines the text in each."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix == ".jsonl":
            rows = map(json.loads, path.read_text().splitlines())
            found += [row["text"] for row in rows if isinstance(row.get("text"), str)]
        elif path.is_file():
            found.append(path.read_text(errors="replace"))
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--spans", type=int, default=5_000)
    asked.add_argument("--seed", type=int, default=20261130)
    asked.add_argument("--text", type=Path, help="a folder of texts to measure the speed with, and count findings in")
    chosen = asked.parse_args()
    documents = corpus(chosen.spans, chosen.seed)
    figures = measure(documents)
    for group in ("all", *sorted(figures.keys() - {"all"})):
        precision, recall, count = figures[group]
        print(f"{group:12} precision {precision:.4f}  recall {recall:.4f}  of {count}")
    print(f"speed on these texts {speed([document.text for document in documents]):.1f} MB/s")
    if chosen.text:
        texts = texts_in(chosen.text)
        counts = Counter(item.detector.name for text in texts for item in SCANNER.scan(text))
        size = sum(len(text.encode()) for text in texts) / 1e6
        print(f"speed on {chosen.text.name} {speed(texts):.1f} MB/s; found in {size:.1f} MB: {dict(counts)}")


if __name__ == "__main__":
    main()
