"""What an ingestion did, for people and for exit codes."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from app.ingestion.store import Written


@dataclass(slots=True)
class Report:
    """Counts of what changed, and one line for each file that could not be taken, had to be repaired or
    was never meant to be taken."""

    documents: int = 0
    versions: int = 0
    chunks: int = 0
    seen: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    repairs: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def skipped_kinds(self) -> list[str]:
        """A line for each reason and each kind of file that was skipped for it: a folder may hold many pictures."""
        kinds = Counter((reason, PurePosixPath(path).suffix.lower()) for path, reason in self.skipped.items())
        return [
            f"Skipped {number} {suffix or 'without suffix'}: {reason}"
            for (reason, suffix), number in sorted(kinds.items())
        ]

    def add(self, written: Written) -> None:
        self.documents += written.documents
        self.versions += written.versions
        self.chunks += written.chunks
