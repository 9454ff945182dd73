"""Reports as files: JSON lines with the exact bytes that are chained, or a table for a spreadsheet."""

import csv
import hashlib
import io
import json
from collections.abc import AsyncGenerator, Callable
from enum import StrEnum
from typing import Any
from uuid import UUID

from app.domain.chain import Entry
from app.domain.evidence_tree import leaf
from app.evidence.reports import Filter, wanted_for_operator
from app.evidence.sight import EVERYTHING
from app.storage import reports
from app.storage.engine import Database

#: Records that are read at once. No connection is held between two readings, however slowly they are taken.
PAGE = 500

#: Columns of a table: name, and where in the record it is. What is not there is an empty cell.
COLUMNS: dict[str, tuple[str, ...]] = {
    "category": ("category",),
    "issuedAt": ("issuedAt",),
    "requestId": ("requestId",),
    "attributionId": ("attributionId",),
    "userId": ("userId",),
    "actorType": ("actorType",),
    "spaceId": ("spaceId",),
    "subjectPseudonym": ("subjectPseudonym",),
    "clientId": ("client", "id"),
    "clientName": ("client", "name"),
    "clientVersion": ("client", "version"),
    "sessionId": ("sessionId",),
    "validAt": ("validAt",),
    "knownAt": ("knownAt",),
    "querySha256": ("querySha256",),
    "model": ("model",),
    "responseId": ("responseId",),
    "verdict": ("verdict",),
}
HEADER = ("sequence", "id", *COLUMNS, "chunks", "memories", "keyId", "mac", "payloadSha256")

#: What a spreadsheet takes for the beginning of a formula, full width forms and what it strips before too.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


class ReportFormat(StrEnum):
    """How records are written."""

    CSV = "csv"
    JSONL = "jsonl"


async def report(
    database: Database,
    organisation: UUID,
    format: ReportFormat,
    filter: Filter,
    written: Callable[[int], None] = lambda records: None,
) -> AsyncGenerator[bytes, None]:
    """Every chained record that meets the filter, in the order of the chain and as of now, in constant memory; for who
    may see all of them. `written` is told records as they are handed out."""
    async with database.snapshot(organisation) as session:
        wanted = await reports.stretch(session, await wanted_for_operator(session, filter))
    line = _cells if format is ReportFormat.CSV else _json_line
    if format is ReportFormat.CSV:
        yield _row(HEADER)
    behind = None
    while True:
        async with database.snapshot(organisation) as session:
            rows = await reports.page(session, wanted, EVERYTHING.viewer, newest=False, behind=behind, limit=PAGE)
        if rows:
            yield b"".join([line(organisation, row) for row in rows])
            written(len(rows))
        if len(rows) < PAGE:
            return
        behind = rows[-1].sequence


def _json_line(organisation: UUID, row: Any) -> bytes:
    """The fields of a bundle's record, and the hash of its leaf in the Merkle tree: `payload` is the text that was
    recorded, exactly, so that MAC, leaf and hash can be computed again."""
    entry = Entry(row.sequence, row.key_id, row.previous_mac, row.mac, row.payload)
    record = {
        "organisation": str(organisation),
        "sequence": entry.sequence,
        "keyId": entry.key_id,
        "previousMac": entry.previous_mac.hex(),
        "mac": entry.mac.hex(),
        "leaf": _leaf(organisation, entry),
        "payloadSha256": hashlib.sha256(entry.payload).hexdigest(),
        "payload": entry.payload.decode(),
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _leaf(organisation: UUID, entry: Entry) -> str | None:
    try:
        return leaf(organisation, entry).hex()
    except ValueError:
        # An edited row, that the check of the chain tells of.
        return None


def _cells(_organisation: UUID, row: Any) -> bytes:
    record = json.loads(row.payload)
    return _row(
        (
            str(row.sequence),
            str(row.id),
            *(_found(record, path) for path in COLUMNS.values()),
            _count(record, "chunks"),
            _count(record, "memories"),
            row.key_id,
            row.mac.hex(),
            hashlib.sha256(row.payload).hexdigest(),
        )
    )


def _found(record: Any, path: tuple[str, ...]) -> str:
    for name in path:
        record = record.get(name) if isinstance(record, dict) else None
    return "" if record is None else str(record)


def _count(record: dict[str, Any], name: str) -> str:
    items = record.get(name)
    return str(len(items)) if isinstance(items, list) else ""


def _row(cells: tuple[str, ...]) -> bytes:
    """RFC 4180, UTF-8."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow([defused(cell) for cell in cells])
    return line.getvalue().encode()


def defused(cell: str) -> str:
    """A cell that a spreadsheet shows and does not compute: an apostrophe before what it would take for a formula."""
    return f"'{cell}" if cell.lstrip(" \u00a0\u3000\ufeff").startswith(_FORMULA) else cell
