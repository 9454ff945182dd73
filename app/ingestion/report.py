"""What an ingestion did, for people and for exit codes."""

from dataclasses import dataclass, field

from app.ingestion.store import Written


@dataclass(slots=True)
class Report:
    """Counts of what changed, and one line for each file that could not be taken or had to be repaired."""

    documents: int = 0
    versions: int = 0
    chunks: int = 0
    seen: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    repairs: dict[str, str] = field(default_factory=dict)

    def add(self, written: Written) -> None:
        self.documents += written.documents
        self.versions += written.versions
        self.chunks += written.chunks
