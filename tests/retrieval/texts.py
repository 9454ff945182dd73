"""Passages as the store hands them over."""

from datetime import UTC, datetime
from uuid import UUID

from app.storage.passages import Passage

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def passage(chunk: UUID, text: str = "text", tokens: int = 1) -> Passage:
    return Passage(
        chunk_id=chunk,
        text=text,
        tokens=tokens,
        heading_path=[],
        ordinal=0,
        start_offset=0,
        end_offset=len(text),
        page=None,
        sheet=None,
        table_name=None,
        row_start=None,
        row_end=None,
        index_version=1,
        valid_from=None,
        valid_to=None,
        system_from=LONG_AGO,
        version_id=chunk,
        external_id="name",
        title="title",
        url=None,
        confidence=None,
        epistemic_status="observed",
        transform_type="ingest",
        tags=[],
        source_created_at=None,
        source_updated_at=None,
        version_system_from=LONG_AGO,
        source_id=chunk,
    )
