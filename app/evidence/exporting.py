"""Making a bundle of evidence: records with their exact bytes, and all that it takes to check them with a public key.

What a bundle is, is written in `bundle_verifier.py`, which also checks each bundle before it is handed out."""

import asyncio
import base64
import hashlib
import json
import os
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from app.domain.chain import Entry
from app.domain.checkpoint import verifier_key
from app.domain.errors import Code, MunimentError, bad_input
from app.domain.instant import format_instant
from app.domain.merkle import Node, consistency_parts, inclusion_parts, proof
from app.evidence.bundle_verifier import (
    FORMAT,
    LAYOUT,
    RECORDS,
    SIGNATURE_TAG,
    Member,
    directory,
    local_header,
    record_line,
    verify_bundle,
)
from app.evidence.checkpoints import Checkpointer
from app.evidence.proofs import SignedCheckpoint
from app.providers.private_file import FILE_MODE
from app.providers.signing import Signer
from app.storage import evidence, merkle
from app.storage.engine import Database, Session

#: Records whose proofs are read in one statement.
PAGE = 500
#: Records of one request.
MOST_OF_REQUEST = 10_000
#: A ZIP archive without extensions ends at 4 GiB.
MAX_BYTES = 2**32 - 2**22

_README = """Evidence of what a language model was given, by Muniment.

Check it with the program bundle_verifier.py, which needs Python and the package `cryptography` and trusts nothing but
the key that you give it:

    python bundle_verifier.py FILE PUBLICKEY
    muniment verify-bundle FILE --key PUBLICKEY

Get the public key from the deployment itself, at /.well-known/muniment-keys.json (the field x of the key {key_id}), or
from whoever you trust to know it; not from keys.json in this bundle. As tools for C2SP notes take it:

    {vkey}

records.jsonl has one record a line. `payload` is the text that was recorded, exactly. To check one by hand (RFC 6962):
its leaf is SHA-256 over a zero byte and

    "muniment/leaf/v1" NUL | organisation, 16 bytes | sequence, 8 bytes big endian | length of keyId, 1 byte | keyId |
    previousMac, 32 bytes | mac, 32 bytes | payload

and `proof` is the audit path from there to the root in checkpoint.txt, a signed note; its place in the tree is the
sequence less one. consistency.json proves that this tree is a beginning of the one in latest.txt. manifest.json names
length and SHA-256 of each file, and is signed by manifest.sig.
"""


@dataclass(frozen=True, slots=True)
class Exported:
    """What a bundle holds."""

    records: int
    first: int
    last: int
    key_id: str
    public_key: bytes


async def export_bundle(
    database: Database,
    checkpoints: Checkpointer,
    organisation: UUID,
    target: Path,
    *,
    first: int | None = None,
    last: int | None = None,
    request_id: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Exported:
    """Write the records from `first` to `last` (all by default), or those of one request, to `target`, which appears
    whole or not at all. NOT_FOUND when there are none; CONFLICT when the records do not fit what was signed of them.
    `progress` is told records written and records in all."""
    latest = await checkpoints.sign(organisation)
    signer = checkpoints.keys.signer
    if latest is None:
        async with database.snapshot(organisation) as session:
            empty = not (await evidence.head(session)).sequence
        raise MunimentError(Code.NOT_FOUND, "no records", "organisation") if empty else _misfit()
    if latest.key_id != signer.key_id:
        raise MunimentError(Code.CONFLICT, "the signing key was just changed: export again")
    newest = SignedCheckpoint.of(latest)
    temporary = target.with_name(f".{target.name}.part")
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(temporary, flags, FILE_MODE), "w+b") as file:
            async with database.snapshot(organisation) as session:
                places = await _places(session, newest.checkpoint.size, first, last, request_id)
                covering = await merkle.covering(session, places[-1])
                tree = newest
                if covering is not None and covering.size < latest.size:
                    tree = SignedCheckpoint.of(covering)
                writer = _Writer(file)
                key = verifier_key(newest.checkpoint.origin, signer.public_key)
                writer.add("README.txt", _README.format(key_id=signer.key_id, vkey=key).encode())
                async with aclosing(_lines(session, places, tree.checkpoint.size, progress)) as lines:
                    await writer.add_lines(RECORDS, lines)
                writer.add("checkpoint.txt", tree.stored.note)
                writer.add("latest.txt", latest.note)
                sizes = tree.checkpoint.size, newest.checkpoint.size
                hashes = await _proofs(session, [consistency_parts(*sizes)])
                writer.add("consistency.json", _json({"from": sizes[0], "to": sizes[1], "hashes": hashes[0]}))
            writer.add("keys.json", _json(checkpoints.keys.jwks()))
            _finish(writer, signer, organisation, places, request_id)
            file.flush()
            os.fsync(file.fileno())
        # Nothing is handed out that would not pass.
        report = await asyncio.to_thread(verify_bundle, temporary, signer.public_key)
        if not report.valid:
            raise _misfit()
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return Exported(len(places), places[0], places[-1], signer.key_id, signer.public_key)


def _finish(writer: "_Writer", signer: Signer, organisation: UUID, places: list[int], request_id: str | None) -> None:
    manifest = _json(
        {
            "format": FORMAT,
            "organisation": str(organisation),
            "requestId": request_id,
            "records": len(places),
            "first": places[0],
            "last": places[-1],
            "keyId": signer.key_id,
            "exportedAt": format_instant(datetime.now(UTC)),
            "files": writer.digests,
        }
    )
    writer.add("manifest.json", manifest)
    writer.add("manifest.sig", base64.b64encode(signer.sign(SIGNATURE_TAG + manifest)) + b"\n")
    writer.end()


async def _places(
    session: Session, size: int, first: int | None, last: int | None, request_id: str | None
) -> "list[int]":
    if request_id is not None:
        if first is not None or last is not None:
            raise bad_input("a range or a request, not both", "requestId")
        rows = await evidence.find_request(session, request_id, MOST_OF_REQUEST)
        places = [row.sequence for row in rows if row.sequence is not None and row.sequence <= size]
    else:
        places = list(range(max(first or 1, 1), min(size if last is None else last, size) + 1))
    if not places:
        raise MunimentError(Code.NOT_FOUND, "no such records")
    return places


async def _lines(
    session: Session, places: list[int], size: int, progress: Callable[[int, int], None]
) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(places), PAGE):
        page = places[start : start + PAGE]
        entries = await _entries(session, page)
        proofs = await _proofs(session, [inclusion_parts(place - 1, size) for place in page])
        for entry, path in zip(entries, proofs, strict=True):
            yield record_line(_record(entry, path))
        progress(start + len(page), len(places))


async def _entries(session: Session, page: list[int]) -> list[Entry]:
    entries: list[Entry] = []
    spans = [(page[0], page[-1])] if page[-1] - page[0] == len(page) - 1 else [(place, place) for place in page]
    for span in spans:
        async with aclosing(evidence.stream(session, *span)) as batches:
            entries.extend([entry async for batch in batches for entry in batch])
    if [entry.sequence for entry in entries] != page:
        raise _misfit()
    return entries


def _record(entry: Entry, path: list[str]) -> dict[str, Any]:
    try:
        payload = entry.payload.decode()
    except UnicodeDecodeError:
        raise _misfit() from None
    return {
        "sequence": entry.sequence,
        "keyId": entry.key_id,
        "previousMac": entry.previous_mac.hex(),
        "mac": entry.mac.hex(),
        "payload": payload,
        "proof": path,
    }


async def _proofs(session: Session, wanted: list[tuple[tuple[Node, ...], ...]]) -> list[list[str]]:
    """Base64 hashes of each proof, in one statement."""
    found = await merkle.nodes(session, {node for parts in wanted for part in parts for node in part})
    try:
        return [[base64.b64encode(item).decode() for item in proof(parts, found.__getitem__)] for parts in wanted]
    except KeyError:
        raise _misfit() from None


def _misfit() -> MunimentError:
    return MunimentError(Code.CONFLICT, "the records do not fit what was signed of them: verify the chain")


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode() + b"\n"


class _Writer:
    """Writes members in the order of the layout."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._members: list[Member] = []
        self.digests: dict[str, dict[str, Any]] = {}

    def add(self, name: str, content: bytes) -> None:
        self._file.write(local_header(name, len(content), zlib.crc32(content)))
        offset = self._file.tell()
        self._file.write(content)
        self._added(Member(name, offset, len(content), zlib.crc32(content)), hashlib.sha256(content).hexdigest())

    async def add_lines(self, name: str, lines: AsyncGenerator[bytes, None]) -> None:
        """The same for content that comes line by line: what stands before it is written last."""
        start = self._file.tell()
        self._file.write(local_header(name, 0, 0))
        offset, digest, crc = self._file.tell(), hashlib.sha256(), 0
        async for line in lines:
            self._file.write(line)
            digest.update(line)
            crc = zlib.crc32(line, crc)
            if self._file.tell() > MAX_BYTES:
                raise bad_input("a bundle has at most 4 GiB: export a shorter range", "to")
        end = self._file.tell()
        self._file.seek(start)
        self._file.write(local_header(name, end - offset, crc))
        self._file.seek(end)
        self._added(Member(name, offset, end - offset, crc), digest.hexdigest())

    def _added(self, member: Member, digest: str) -> None:
        self._members.append(member)
        self.digests[member.name] = {"bytes": member.size, "sha256": digest}

    def end(self) -> None:
        assert [member.name for member in self._members] == list(LAYOUT)
        self._file.write(directory(self._members))
