"""Signed checkpoints of a tree, in the formats of C2SP: `signed-note` and, as its text, `tlog-checkpoint`.

    origin
    tree size
    root hash, base64

    — key name base64(key hash, 4 bytes | signature)

Pure: signatures are made and checked by who calls.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from app.domain.evidence_tree import Root
from app.domain.merkle import HASH_BYTES

MAX_NOTE_BYTES = 1 << 20
MAX_SIGNATURES = 64
ED25519 = b"\x01"
_DASH = "\u2014 "
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")


class NoteError(ValueError):
    """A note is not one, or not to be believed."""


class NoteSignature(NamedTuple):
    """One signature line: the key's name and hash (4 bytes), and what it signed with."""

    name: str
    key_hash: bytes
    signature: bytes


class Note(NamedTuple):
    """A text, ending in a newline, and the signatures under it."""

    text: str
    signatures: tuple[NoteSignature, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a tree was: whose, how many leaves, which root."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"

    @property
    def tree(self) -> Root:
        return Root(self.size, self.root)


def check_name(name: str) -> str:
    """The name of a key, as it is; `NoteError` unless the format allows it."""
    if not name or "+" in name or any(letter.isspace() or letter < " " for letter in name):
        raise NoteError("the name of a key is not empty and holds neither white space nor +")
    return name


def key_hash(name: str, public_key: bytes) -> bytes:
    """The first 4 bytes of SHA-256(name | newline | 0x01 | public key, 32 bytes)."""
    return hashlib.sha256(check_name(name).encode() + b"\n" + ED25519 + public_key).digest()[:4]


def verifier_key(name: str, public_key: bytes) -> str:
    """The key in the one line that tools of the ecosystem take: name+hash+base64(0x01 | public key)."""
    encoded = base64.b64encode(ED25519 + public_key).decode()
    return f"{name}+{key_hash(name, public_key).hex()}+{encoded}"


def signed_note(text: str, signatures: Iterable[NoteSignature]) -> bytes:
    """The note's bytes; `NoteError` for what would not parse again."""
    lines = [f"{_DASH}{item.name} {base64.b64encode(item.key_hash + item.signature).decode()}\n" for item in signatures]
    note = f"{text}\n{''.join(lines)}".encode()
    parse_note(note)
    return note


def parse_note(note: bytes) -> Note:
    """`NoteError` when it is none."""
    if len(note) > MAX_NOTE_BYTES:
        raise NoteError(f"a note has at most {MAX_NOTE_BYTES} bytes")
    try:
        decoded = note.decode()
    except UnicodeDecodeError:
        raise NoteError("a note is UTF-8") from None
    if any(letter < " " and letter != "\n" for letter in decoded):
        raise NoteError("a note holds no control characters")
    text, blank, lines = decoded.rpartition("\n\n")
    if not blank or not text or not lines.endswith("\n"):
        raise NoteError("a note is a text, an empty line, and signature lines")
    found = lines[:-1].split("\n")
    if len(found) > MAX_SIGNATURES:
        raise NoteError(f"a note has at most {MAX_SIGNATURES} signatures")
    return Note(f"{text}\n", tuple(map(_signature, found)))


def _signature(line: str) -> NoteSignature:
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    content = _decoded(encoded)
    if not line.startswith(_DASH) or not space or content is None or len(content) <= 4:
        raise NoteError("a signature line is a dash, the name of a key, and base64")
    return NoteSignature(check_name(name), content[:4], content[4:])


def parse_checkpoint(text: str) -> Checkpoint:
    """The checkpoint that a note's text is; lines of extensions are allowed and not looked at."""
    lines = text.split("\n")
    if len(lines) < 4 or lines.pop() or not all(lines):
        raise NoteError("a checkpoint has at least three lines, none of them empty")
    root = _decoded(lines[2])
    if not _SIZE.fullmatch(lines[1]) or root is None or len(root) != HASH_BYTES:
        raise NoteError("a checkpoint names a size and a root hash of 32 bytes")
    return Checkpoint(lines[0], int(lines[1]), root)


def open_note(
    note: bytes, keys: Mapping[tuple[str, bytes], bytes], genuine: Callable[[bytes, bytes, bytes], bool]
) -> Note:
    """The note, signed by a known key; `NoteError` when none of them signed it, or one's signature is not genuine.

    `keys`: public keys by name and key hash; signatures of others are ignored. `genuine(public key, text, signature)`.
    """
    parsed = parse_note(note)
    text, believed = parsed.text.encode(), False
    for name, hashed, signature in parsed.signatures:
        public_key = keys.get((name, hashed))
        if public_key is None:
            continue
        if not genuine(public_key, text, signature):
            raise NoteError("a signature of a known key does not fit the note")
        believed = True
    if not believed:
        raise NoteError("no known key signed the note")
    return parsed


def _decoded(encoded: str) -> bytes | None:
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    # Padding may hide bits; then two notes would say the same.
    return content if base64.b64encode(content).decode() == encoded else None
