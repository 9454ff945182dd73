"""Checks a bundle of evidence with one public key and nothing else: `python bundle_verifier.py FILE PUBLICKEY`.

This file stands alone so that it can be read in ten minutes, copied and kept: Python and the package `cryptography`
are all it needs. It trusts the given Ed25519 key, RFC 8032, RFC 6962 and SHA-256; nothing in the bundle is believed
before it is checked.

A bundle is a ZIP archive of the members in LAYOUT, in that order, stored without compression, with no other byte:

    README.txt         for people
    records.jsonl      a record a line: sequence, keyId, previousMac and mac (hex), payload (its exact text), proof
    checkpoint.txt     the signed note (C2SP) of the tree that the proofs lead to
    latest.txt         the newest note when the bundle was made
    consistency.json   RFC 6962's proof that the first of these trees is a beginning of the second
    keys.json          public keys, for convenience; not used here
    manifest.json      what was exported, and length and SHA-256 of each member above
    manifest.sig       Ed25519 over "muniment/bundle/v1" NUL | manifest.json, base64

What a VALID bundle shows: the deployment that holds the key exported exactly these records, and each stands at its
place in the tree whose newest root it signed; of a range none is missing. What it does not show: that there are no
other records of a request. Compare latest.txt with a checkpoint that you got on another way to know that all were
shown the same tree.
"""

import base64
import hashlib
import json
import re
import struct
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

FORMAT = "muniment-evidence/1"
RECORDS, MANIFEST, SIGNATURE = "records.jsonl", "manifest.json", "manifest.sig"
LAYOUT = ("README.txt", RECORDS, "checkpoint.txt", "latest.txt", "consistency.json", "keys.json", MANIFEST, SIGNATURE)
SIGNATURE_TAG = b"muniment/bundle/v1\0"
LEAF_TAG = b"muniment/leaf/v1\0"
FIELDS = ["sequence", "keyId", "previousMac", "mac", "payload", "proof"]
MAX_LINE = 1 << 24
MAX_MEMBER = 1 << 20  # of all but the records


class Invalid(Exception):
    """The bundle is not what it should be; `sequence` names the first bad record, when one is to blame."""

    def __init__(self, reason: str, sequence: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sequence = sequence


@dataclass(frozen=True)
class Report:
    """What a check found. `first_bad`: the sequence of the first bad record, where one is to blame."""

    valid: bool
    reason: str
    records: int
    first_bad: int | None = None


def verify_bundle(path: Path, public_key: bytes) -> Report:
    """Check the bundle at `path` against a public key of 32 bytes. Memory does not grow with the bundle."""
    checked = 0
    try:
        with path.open("rb") as file:
            members = _index(file)
            manifest = _manifest(file, members, public_key)
            organisation = UUID(manifest["organisation"])
            checkpoint, latest = _read(file, members, "checkpoint.txt"), _read(file, members, "latest.txt")
            size, root = _note(checkpoint, public_key, organisation, must_be_signed=False)
            newest_size, newest_root = _note(latest, public_key, organisation, must_be_signed=True)
            proof = _hashes(json.loads(_read(file, members, "consistency.json"))["hashes"])
            if not consistent(size, newest_size, proof, root, newest_root):
                raise Invalid("the newest signed tree does not go on from the tree that the proofs lead to")
            for _ in _records(file, members, manifest, organisation, size, root):
                checked += 1
            _digests(file, members, manifest)
            return Report(True, _summary(manifest, newest_size), checked)
    except Invalid as error:
        return Report(False, error.reason, checked, error.sequence)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError, struct.error):
        return Report(False, "a part of the bundle is not written as it must be", checked)


# --- The records ------------------------------------------------------------------------------------------------------


def _records(
    file: BinaryIO, members: "Members", manifest: dict[str, Any], organisation: UUID, size: int, root: bytes
) -> Iterator[int]:
    """Each record's sequence, once it is found good."""
    first, last, request = manifest["first"], manifest["last"], manifest["requestId"]
    previous, mac, count = None, None, 0
    for number, line in enumerate(_lines(file, members[RECORDS]), start=1):
        expected = first if previous is None else previous + 1
        try:
            record = json.loads(line)
            sequence, key_id = record["sequence"], record["keyId"].encode()
            before, own = bytes.fromhex(record["previousMac"]), bytes.fromhex(record["mac"])
            payload, proof = record["payload"].encode(), _hashes(record["proof"])
            exact = list(record) == FIELDS and record_line(record) == line and type(sequence) is int
            if not exact or len(before) != 32 or len(own) != 32 or not 1 <= len(key_id) <= 255:
                raise ValueError
            data = sequence.to_bytes(8, "big") + bytes((len(key_id),)) + key_id + before + own + payload
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise Invalid(f"line {number} of the records is not a record", expected) from None
        if request is None and sequence != expected:
            raise Invalid(f"record {sequence} stands where {expected} belongs", expected)
        if previous is not None and sequence <= previous:
            raise Invalid(f"record {sequence} comes after record {previous}", sequence)
        if request is not None and json.loads(payload).get("requestId") != request:
            raise Invalid(f"record {sequence} is of another request", sequence)
        if previous == sequence - 1 and before != mac:
            raise Invalid(f"record {sequence} does not follow record {previous}", sequence)
        leaf = hashlib.sha256(b"\0" + LEAF_TAG + organisation.bytes + data).digest()
        if not included(sequence - 1, size, leaf, proof, root):
            raise Invalid(f"record {sequence} is not the one in the signed tree", sequence)
        previous, mac, count = sequence, own, count + 1
        yield sequence
    if count != manifest["records"] or (count and previous != last):
        raise Invalid(f"{count} records are there, {manifest['records']} were exported", (previous or first - 1) + 1)


def record_line(record: dict[str, Any]) -> bytes:
    """A record as it is written."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _lines(file: BinaryIO, member: "Member") -> Iterator[bytes]:
    file.seek(member.offset)
    left = member.size
    while left:
        line = file.readline(min(left, MAX_LINE))
        if not line.endswith(b"\n"):
            raise Invalid("the records end in the middle of a line, or one is too long")
        left -= len(line)
        yield line


# --- Signatures and the tree ------------------------------------------------------------------------------------------


def genuine(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature is the key's over the message."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _manifest(file: BinaryIO, members: "Members", public_key: bytes) -> dict[str, Any]:
    content = _read(file, members, MANIFEST)
    signature = _unbase64(_read(file, members, SIGNATURE).decode().removesuffix("\n"))
    if not genuine(public_key, SIGNATURE_TAG + content, signature):
        raise Invalid("the manifest is not signed by the given key")
    manifest: dict[str, Any] = json.loads(content)
    if manifest["format"] != FORMAT:
        raise Invalid("the bundle has another format than this program knows")
    return manifest


def _note(note: bytes, public_key: bytes, organisation: UUID, must_be_signed: bool) -> tuple[int, bytes]:
    """Size and root of a checkpoint. A signature of the given key must be good; where there need not be one, an older
    key signed, and the proof of consistency vouches for the tree instead."""
    text, blank, lines = note.decode().rpartition("\n\n")
    name, size, encoded, *_extensions = text.split("\n")
    root = _unbase64(encoded)
    if not blank or not re.fullmatch(r"[1-9][0-9]{0,18}", size) or len(root) != 32:
        raise Invalid("a checkpoint is not written as it must be")
    if not name.endswith(f"/{organisation}"):
        raise Invalid("a checkpoint is another organisation's")
    key_hash = hashlib.sha256(name.encode() + b"\n\x01" + public_key).digest()[:4]
    signed = False
    for line in lines.removesuffix("\n").split("\n"):
        dash, signer, signature = line.split(" ")
        content = _unbase64(signature)
        if dash == "\u2014" and signer == name and content[:4] == key_hash:
            if not genuine(public_key, f"{text}\n".encode(), content[4:]):
                raise Invalid("the signature of a checkpoint does not fit it")
            signed = True
    if must_be_signed and not signed:
        raise Invalid("the newest checkpoint is not signed by the given key")
    return int(size), root


def _parent(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def included(index: int, size: int, leaf: bytes, path: list[bytes], root: bytes) -> bool:
    """RFC 9162, section 2.1.3.2."""
    if not 0 <= index < size or any(len(item) != 32 for item in (leaf, root, *path)):
        return False
    first, last, digest = index, size - 1, leaf
    for step in path:
        if last == 0:
            return False
        if first % 2 or first == last:
            digest = _parent(step, digest)
            while first % 2 == 0 and first:
                first, last = first >> 1, last >> 1
        else:
            digest = _parent(digest, step)
        first, last = first >> 1, last >> 1
    return last == 0 and digest == root


def consistent(old: int, new: int, path: list[bytes], old_root: bytes, new_root: bytes) -> bool:
    """RFC 9162, section 2.1.4.2."""
    if not 0 < old <= new:
        return False
    if old == new:
        return not path and old_root == new_root
    steps = [old_root, *path] if old & (old - 1) == 0 else path
    if not steps:
        return False
    first, last = old - 1, new - 1
    while first % 2:
        first, last = first >> 1, last >> 1
    earlier = later = steps[0]
    for step in steps[1:]:
        if last == 0:
            return False
        if first % 2 or first == last:
            earlier, later = _parent(step, earlier), _parent(step, later)
            while first % 2 == 0 and first:
                first, last = first >> 1, last >> 1
        else:
            later = _parent(later, step)
        first, last = first >> 1, last >> 1
    return last == 0 and earlier == old_root and later == new_root


def _hashes(encoded: list[str]) -> list[bytes]:
    hashes = [_unbase64(item) for item in encoded]
    if len(hashes) > 64 or any(len(item) != 32 for item in hashes):
        raise ValueError("a proof has at most 64 hashes of 32 bytes")
    return hashes


def _unbase64(text: str) -> bytes:
    content = base64.b64decode(text, validate=True)
    # Padding may hide bits: then two texts would say the same.
    if base64.b64encode(content).decode() != text:
        raise ValueError("not the only way to write it")
    return content


# --- The archive ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Member:
    """Where a member's bytes are."""

    name: str
    offset: int
    size: int
    crc: int


Members = dict[str, Member]
_HEADER_BYTES = 30
# Version 2.0, no flags, stored, 1980-01-01 00:00.
_FIXED = (20, 0, 0, 0, 0x21)


def local_header(name: str, size: int, crc: int) -> bytes:
    """What stands before a member."""
    return struct.pack("<IHHHHHIIIHH", 0x04034B50, *_FIXED, crc, size, size, len(name), 0) + name.encode()


def directory(members: list[Member]) -> bytes:
    """What stands behind the last member."""
    entries = b"".join(
        struct.pack("<IH", 0x02014B50, 20)
        + struct.pack("<HHHHHIIIHHHHHII", *_FIXED, item.crc, item.size, item.size, len(item.name), 0, 0, 0, 0, 0, start)
        + item.name.encode()
        for item in members
        for start in (item.offset - _HEADER_BYTES - len(item.name),)
    )
    last = members[-1]
    count, start = len(members), last.offset + last.size
    return entries + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(entries), start, 0)


def _index(file: BinaryIO) -> Members:
    """Where the members are. Nothing is unpacked, and no name is taken from the file: what is not byte for byte the
    layout is refused, be it a name with dots, something compressed, or a comment."""
    end = file.seek(0, 2)
    position, found = 0, []
    for name in LAYOUT:
        file.seek(position)
        header = file.read(_HEADER_BYTES + len(name))
        if len(header) != _HEADER_BYTES + len(name):
            raise Invalid("the file is no bundle, or it was cut")
        crc, size = struct.unpack_from("<II", header, 14)
        position += len(header) + size
        if header != local_header(name, size, crc) or position > end or (name != RECORDS and size > MAX_MEMBER):
            raise Invalid(f"the archive does not hold {name} as it must")
        found.append(Member(name, position - size, size, crc))
    file.seek(position)
    expected = directory(found)
    if file.read(len(expected) + 1) != expected:
        raise Invalid("the directory of the archive is not as it must be")
    return {item.name: item for item in found}


def _read(file: BinaryIO, members: Members, name: str) -> bytes:
    file.seek(members[name].offset)
    return file.read(members[name].size)


def _digests(file: BinaryIO, members: Members, manifest: dict[str, Any]) -> None:
    files = manifest["files"]
    if list(files) != list(LAYOUT[:-2]):
        raise Invalid("the manifest names other files")
    for name, member in members.items():
        file.seek(member.offset)
        digest, crc, left = hashlib.sha256(), 0, member.size
        while left:
            block = file.read(min(left, 1 << 20))
            digest.update(block)
            crc = zlib.crc32(block, crc)
            left -= len(block)
        if crc != member.crc:
            raise Invalid(f"the checksum of {name} does not fit")
        if name in files and files[name] != {"bytes": member.size, "sha256": digest.hexdigest()}:
            raise Invalid(f"{name} is not what was exported")


# --- Use --------------------------------------------------------------------------------------------------------------


def _summary(manifest: dict[str, Any], newest: int) -> str:
    count, first, last = manifest["records"], manifest["first"], manifest["last"]
    what = f"of request {manifest['requestId']}" if manifest["requestId"] else f"{first} to {last}"
    return f"{count} records ({what}) of organisation {manifest['organisation']} stand in its signed tree of {newest}."


def read_key(text: str) -> bytes:
    """A public key of 32 bytes from base64, base64url, a C2SP verifier key (name+hash+key) or PEM; `ValueError` when it
    is none of these."""
    text = text.strip()
    if text.startswith("-----BEGIN"):
        key = load_pem_public_key(text.encode())
        if not isinstance(key, Ed25519PublicKey):
            raise ValueError("the key is no Ed25519 key")
        return key.public_bytes_raw()
    parts = re.fullmatch(r"[^+\s]+\+([0-9a-f]{8})\+(\S+)", text)
    encoded = (parts[2] if parts else text).replace("-", "+").replace("_", "/")
    content = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    if parts and content[:1] == b"\x01":
        content = content[1:]
    if len(content) != 32:
        raise ValueError("a public key has 32 bytes")
    return content


def main(arguments: list[str]) -> int:
    """0 for VALID, 1 for INVALID, 2 when it was not called as it must be."""
    try:
        path, key = arguments
        public_key = read_key(Path(key).read_text() if Path(key).is_file() else key)
        report = verify_bundle(Path(path), public_key)
    except (ValueError, OSError) as error:
        print(f"bundle_verifier.py FILE PUBLICKEY: {error}", file=sys.stderr)
        return 2
    print("VALID" if report.valid else "INVALID")
    print(report.reason)
    if report.first_bad is not None:
        print(f"First bad record: {report.first_bad}")
    return 0 if report.valid else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
