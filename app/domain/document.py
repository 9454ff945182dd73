"""What is believed of a document in one period, and the slices that search knows it by."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.domain.dlp.finding import Findings, packed


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """The value of one version: two versions with equal facts are one.

    `etag` is the source's own name for the bytes it was read from; what is fetched again under it need not be parsed.
    """

    content_sha256: bytes
    external_id: str
    title: str
    mime: str
    url: str | None = None
    confidence: float | None = None
    epistemic_status: str = "observed"
    transform_type: str = "ingest"
    tags: tuple[str, ...] = ()
    etag: str | None = field(default=None, compare=False)
    source_created_at: datetime | None = field(default=None, compare=False)
    source_updated_at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its document a slice stands, beyond its text."""

    heading_path: tuple[str, ...] = ()
    page: int | None = None
    sheet: str | None = None
    table: str | None = None
    row_start: int | None = None
    row_end: int | None = None


@dataclass(frozen=True, slots=True)
class SliceFacts:
    """One slice of one content: its text and place, and what the text leg keeps of it."""

    identity: bytes
    text: str
    text_sha256: bytes
    tokens: int
    ordinal: int
    start: int
    end: int
    place: Place
    lexemes: dict[int, float]
    #: What detectors found in the text, and the tag of the policy that `lexemes` were made under.
    findings: Findings = ()
    dlp_tag: str = ""

    @property
    def stored(self) -> bytes:
        """What a stored slice is told from another by: by what is found in it too, since that may come from the text
        around it."""
        return told_apart(self.identity, packed(self.findings))


def told_apart(identity: bytes, findings: Sequence[int] | None) -> bytes:
    """An identity together with findings as they are stored."""
    return identity + b"".join(number.to_bytes(4, "big") for number in findings or ())


def slice_identity(title: str, place: Place, text_sha256: bytes, occurrence: int) -> bytes:
    """What makes a slice the same slice when its document changes: all that search sees of it, and which of several
    equal slices of one content it is."""
    parts = (
        title,
        *place.heading_path,
        place.page,
        place.sheet,
        place.table,
        place.row_start,
        place.row_end,
        occurrence,
    )
    digest = hashlib.sha256()
    for part in parts:
        encoded = b"\x00" if part is None else str(part).encode()
        digest.update(len(encoded).to_bytes(4, "big") + encoded)
    digest.update(text_sha256)
    return digest.digest()


def embedding_text(title: str, heading_path: Sequence[str], text: str) -> str:
    """What is embedded of a slice: the title stands for the rest of the document, which the model cannot see."""
    return f"{title}\n{text}"
