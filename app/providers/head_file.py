"""The head of each chain, kept outside the database, so that a shortened chain shows.

Each file is sealed under the organisation's key and cannot be made without it. The seal does not stop someone who may
write the folder from putting back an older file: keep the folder where the database's administrator cannot write. A
process remembers the heads that it saw, and an index beside the folder says who had one, so a file that is removed or
put back while something runs shows, and one that is removed at another time is missed.
"""

import hmac
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import structlog

from app.domain.chain import EMPTY, MAC_BYTES, MAX_KEY_ID_BYTES, MAX_SEQUENCE, Head
from app.providers.head_index import HeadIndex
from app.providers.private_file import ensure_folder, exclusive, replace_private

log = structlog.get_logger()

SEAL_TAG = b"muniment/head/v1\0"
_MAX_FILE_BYTES = 4096


class HeadFileError(ValueError):
    """A head file exists and cannot be believed; what it says of the chain is TAMPERED."""


class HeadKeyMissing(HeadFileError):
    """The seal's key is not held, so the file can be neither believed nor refuted; that is UNVERIFIABLE."""


class HeadLost(HeadFileError):
    """There was a head and there is none now: what is missing at the end of the chain cannot be told."""


class HeadFile:
    """Reads and advances the recorded heads, one file an organisation, for any number of processes.

    `key_for(organisation, key_id)` gives the organisation's key or None. `durable` waits for the disk at each advance;
    without it a crash of the machine may bring back an earlier head, which still is a true lower bound.
    """

    def __init__(self, folder: Path, key_for: Callable[[UUID, str], bytes | None], durable: bool = True) -> None:
        self._folder = folder
        self._key_for = key_for
        self._durable = durable
        self._index = HeadIndex(folder.with_name(f"{folder.name}.index"), key_for)
        self._seen: dict[UUID, Head] = {}

    def path(self, organisation: UUID) -> Path:
        """Where the organisation's head is kept."""
        return self._folder / f"{organisation}.json"

    def read(self, organisation: UUID) -> Head | None:
        """The recorded head, or the later one that this process saw; None when none was ever recorded.

        `HeadLost` when there was one, `HeadFileError` when the file is not as it was sealed. Whether None is right is
        for the caller to say: it is not when the chain holds entries.
        """
        seen = self._seen.get(organisation)
        recorded = self._recorded(organisation)
        if recorded is None and seen is None and self._index.holds(organisation):
            raise HeadLost(f"{self.path(organisation)} was removed")
        if seen is not None and (recorded is None or seen.sequence > recorded.sequence):
            if seen != EMPTY:
                log.error("head_file.put_back", organisation=str(organisation), seen=seen.sequence)
            return seen
        if recorded is None:
            return None
        if seen is not None and seen.sequence == recorded.sequence and seen.mac != recorded.mac:
            raise HeadFileError(f"{self.path(organisation)} records another entry {seen.sequence} than it did")
        self._seen[organisation] = recorded
        return recorded

    def _recorded(self, organisation: UUID) -> Head | None:
        """What the file says."""
        path = self.path(organisation)
        try:
            # Neither a link nor a pipe put in its place may be followed or waited for.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
            with open(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise HeadFileError(f"{path} is not a head file")
                content = file.read(_MAX_FILE_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise HeadFileError(f"{path} cannot be read: {error.strerror}") from error
        return self._opened(path, organisation, content)

    def begin(self, organisation: UUID, key_id: str) -> Head:
        """Records that a chain is empty, before its first entry; errors as those of `advance`. This process remembers
        it even where the folder cannot be written."""
        self._seen.setdefault(organisation, EMPTY)
        return self.advance(organisation, EMPTY, key_id)

    def advance(self, organisation: UUID, head: Head, key_id: str) -> Head:
        """Records `head` unless a later one is recorded; returns the head that is recorded afterwards.

        Whether a first head is right, or one in the place of a file that was removed, is for the caller to say.
        A recorded head of the same sequence with another MAC raises `HeadFileError`, as does a file that cannot be
        believed: neither is ever overwritten. `PrivateFileError` when others may write the folder. Waits for the lock,
        so keep it off the event loop.
        """
        path = self.path(organisation)
        key = self._key(path, organisation, key_id)
        seal = _seal(key, organisation, head, key_id)
        fields = {
            "organisation": str(organisation),
            "sequence": head.sequence,
            "mac": head.mac.hex(),
            "key_id": key_id,
            "seal": seal.hex(),
        }
        ensure_folder(self._folder)
        with exclusive(path):
            recorded = self._recorded(organisation)
            if recorded is not None and recorded.sequence >= head.sequence:
                if recorded.sequence == head.sequence and recorded.mac != head.mac:
                    raise HeadFileError(f"{path} records another entry {head.sequence} of the chain")
                head = recorded
            else:
                replace_private(path, json.dumps(fields).encode() + b"\n", self._durable)
        # After the file: killed in between, a process leaves a head that the index learns of at the next turn, not an
        # index that misses one.
        self._index.add(organisation, key_id)
        self._seen[organisation] = head
        return head

    def _opened(self, path: Path, organisation: UUID, content: bytes) -> Head:
        try:
            fields = json.loads(content)
            owner, sequence, mac = UUID(fields["organisation"]), fields["sequence"], bytes.fromhex(fields["mac"])
            key_id, seal = fields["key_id"], bytes.fromhex(fields["seal"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise HeadFileError(f"{path} is not a head file") from None
        if owner != organisation or type(sequence) is not int or type(key_id) is not str:
            raise HeadFileError(f"{path} is not a head file of this organisation")
        head = Head(sequence, mac)
        key = self._key(path, organisation, key_id)
        try:
            expected = _seal(key, organisation, head, key_id)
        except ValueError:
            raise HeadFileError(f"{path} holds a head that cannot be") from None
        if not hmac.compare_digest(expected, seal):
            raise HeadFileError(f"{path} was changed: its seal does not fit")
        return head

    def _key(self, path: Path, organisation: UUID, key_id: str) -> bytes:
        key = self._key_for(organisation, key_id)
        if key is None:
            raise HeadKeyMissing(f"{path} is sealed with a key that is not in the key ring")
        return key


def _seal(key: bytes, organisation: UUID, head: Head, key_id: str) -> bytes:
    name = key_id.encode()
    if not 0 <= head.sequence <= MAX_SEQUENCE or len(head.mac) != MAC_BYTES or not 1 <= len(name) <= MAX_KEY_ID_BYTES:
        raise ValueError("a head has a sequence of at least 0, a MAC of 32 bytes and a key id of 1 to 255 bytes")
    message = SEAL_TAG + organisation.bytes + head.sequence.to_bytes(8, "big") + bytes((len(name),)) + name + head.mac
    return hmac.digest(key, message, "sha256")
