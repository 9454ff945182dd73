"""The head of each chain, kept outside the database, so that a shortened chain shows.

Each file is sealed under the organisation's key and cannot be made without it. The seal does not stop someone who may
write the folder from putting back an older file: keep the folder where the database's administrator cannot write. A
process remembers the heads that it saw, and an index beside the folder says who had one, so a file that is removed or
put back while something runs shows, and one that is removed at another time is missed.

A head that an operator vouched for carries, under its seal, the time of that: a process believes it against what it
saw before, since it cannot be an older file.
"""

import hmac
import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import structlog

from app.domain.chain import EMPTY, MAC_BYTES, MAX_KEY_ID_BYTES, MAX_SEQUENCE, Head
from app.providers.head_index import HeadIndex
from app.providers.private_file import ensure_folder, exclusive, replace_private

log = structlog.get_logger()

SEAL_TAG = b"muniment/head/v1\0"
ADOPTED_TAG = b"muniment/head/v2\0"
_MAX_FILE_BYTES = 4096


class HeadFileError(ValueError):
    """A head file exists and cannot be believed; what it says of the chain is TAMPERED."""


class HeadKeyMissing(HeadFileError):
    """The seal's key is not held, so the file can be neither believed nor refuted; that is UNVERIFIABLE."""


class HeadLost(HeadFileError):
    """There was a head and there is none now: what is missing at the end of the chain cannot be told."""


class _Recorded(NamedTuple):
    """What a file says; `adopted`: when an operator vouched for the chain, in microseconds since 1970, 0 for never."""

    head: Head
    adopted: int


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
        self._seen: dict[UUID, _Recorded] = {}

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
        if seen is not None and (recorded is None or _order(seen) > _order(recorded)):
            if seen.head != EMPTY:
                log.error("head_file.put_back", organisation=str(organisation), seen=seen.head.sequence)
            return seen.head
        if recorded is None:
            return None
        if seen is not None and _order(seen) == _order(recorded) and seen != recorded:
            raise HeadFileError(f"{self.path(organisation)} records another entry {seen.head.sequence} than it did")
        self._seen[organisation] = recorded
        return recorded.head

    def _recorded(self, organisation: UUID) -> _Recorded | None:
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
        self._seen.setdefault(organisation, _Recorded(EMPTY, 0))
        return self.advance(organisation, EMPTY, key_id)

    def advance(self, organisation: UUID, head: Head, key_id: str) -> Head:
        """Records `head` unless a later one is recorded; returns the head that is recorded afterwards.

        Whether a first head is right, or one in the place of a file that was removed, is for the caller to say.
        A recorded head of the same sequence with another MAC raises `HeadFileError`, as does a file that cannot be
        believed: neither is ever overwritten. `PrivateFileError` when others may write the folder. Waits for the lock,
        so keep it off the event loop.
        """
        return self._write(organisation, head, key_id, 0)

    def adopt(self, organisation: UUID, head: Head, key_id: str) -> Head:
        """The same where no head is recorded and an operator vouches for the chain as it is: whoever saw a later head
        gives it up. Errors as those of `advance`."""
        return self._write(organisation, head, key_id, time.time_ns() // 1000)

    def _write(self, organisation: UUID, head: Head, key_id: str, adopted: int) -> Head:
        path = self.path(organisation)
        key = self._key(path, organisation, key_id)
        seen = self._seen.get(organisation)
        ensure_folder(self._folder)
        with exclusive(path):
            recorded = self._recorded(organisation)
            earlier = recorded or seen
            made = _Recorded(head, max(adopted, earlier.adopted if earlier is not None else 0))
            seal = _seal(key, organisation, made, key_id)
            if recorded is not None and recorded.head.sequence >= head.sequence:
                if recorded.head.sequence == head.sequence and recorded.head.mac != head.mac:
                    raise HeadFileError(f"{path} records another entry {head.sequence} of the chain")
                made = recorded
            else:
                fields = {
                    "organisation": str(organisation),
                    "sequence": head.sequence,
                    "mac": head.mac.hex(),
                    "key_id": key_id,
                    **({"adopted": made.adopted} if made.adopted else {}),
                    "seal": seal.hex(),
                }
                replace_private(path, json.dumps(fields).encode() + b"\n", self._durable)
        # After the file: killed in between, a process leaves a head that the index learns of at the next turn, not an
        # index that misses one.
        self._index.add(organisation, key_id)
        self._seen[organisation] = made
        return made.head

    def _opened(self, path: Path, organisation: UUID, content: bytes) -> _Recorded:
        try:
            fields = json.loads(content)
            owner, sequence, mac = UUID(fields["organisation"]), fields["sequence"], bytes.fromhex(fields["mac"])
            key_id, seal = fields["key_id"], bytes.fromhex(fields["seal"])
            adopted = fields.get("adopted", 0)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise HeadFileError(f"{path} is not a head file") from None
        if owner != organisation or type(sequence) is not int or type(adopted) is not int or type(key_id) is not str:
            raise HeadFileError(f"{path} is not a head file of this organisation")
        recorded = _Recorded(Head(sequence, mac), adopted)
        key = self._key(path, organisation, key_id)
        try:
            expected = _seal(key, organisation, recorded, key_id)
        except ValueError:
            raise HeadFileError(f"{path} holds a head that cannot be") from None
        if not hmac.compare_digest(expected, seal):
            raise HeadFileError(f"{path} was changed: its seal does not fit")
        return recorded

    def _key(self, path: Path, organisation: UUID, key_id: str) -> bytes:
        key = self._key_for(organisation, key_id)
        if key is None:
            raise HeadKeyMissing(f"{path} is sealed with a key that is not in the key ring")
        return key


def _order(recorded: _Recorded) -> tuple[int, int]:
    return recorded.adopted, recorded.head.sequence


def _seal(key: bytes, organisation: UUID, recorded: _Recorded, key_id: str) -> bytes:
    head, name = recorded.head, key_id.encode()
    if not 0 <= head.sequence <= MAX_SEQUENCE or len(head.mac) != MAC_BYTES or not 1 <= len(name) <= MAX_KEY_ID_BYTES:
        raise ValueError("a head has a sequence of at least 0, a MAC of 32 bytes and a key id of 1 to 255 bytes")
    if not 0 <= recorded.adopted <= MAX_SEQUENCE:
        raise ValueError("it is vouched for at an instant")
    tag = ADOPTED_TAG + recorded.adopted.to_bytes(8, "big") if recorded.adopted else SEAL_TAG
    message = tag + organisation.bytes + head.sequence.to_bytes(8, "big") + bytes((len(name),)) + name + head.mac
    return hmac.digest(key, message, "sha256")
