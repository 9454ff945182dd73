"""The master keys of the evidence: kept in a private file or the environment, never in the database.

New entries use the current key; the others stay, so that what they made can be checked. Each organisation's key is
derived from a master key with HKDF-SHA-256 (RFC 5869) and is bound to organisation and key id.
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.providers.key_text import KEY_ID, decoded, listed, stamp_of
from app.providers.private_file import (
    PrivateFileError,
    check_folder,
    ensure_folder,
    exclusive,
    read_private,
    replace_private,
)
from app.providers.weak_keys import weakness

PURPOSE = b"muniment/evidence/v1"
KEY_BYTES = 32
FINGERPRINT_TAG = b"muniment/key fingerprint/v1\0"
VARIABLE = "MUNIMENT_KEYS"
_FORMAT = 1
_MAX_FILE_BYTES = 1 << 20


class KeyRingError(ValueError):
    """The key ring cannot be used; the sentence names the file or variable and never holds any of a key."""


class KeyRing:
    """Master keys by id, one of them current. Threads may share it.

    A ring read from a file takes up keys that another process added to that file: when the current id is asked for
    and when a key id is unknown. A key once read stays known as long as the process lives.
    """

    __slots__ = ("_current", "_derived", "_keys", "_path", "_stamp")

    def __init__(
        self,
        keys: dict[str, bytes],
        current: str,
        path: Path | None = None,
        stamp: tuple[int, int, int] | None = None,
    ) -> None:
        self._keys = keys
        self._current = current
        self._path = path
        self._stamp = stamp
        self._derived: dict[tuple[UUID, str], bytes] = {}

    @classmethod
    def load(cls, path: Path) -> "KeyRing":
        """The ring of an existing file; `KeyRingError` when there is none or it cannot be trusted."""
        stamp = stamp_of(path)
        keys, current = _read(path)
        return cls(keys, current, path, stamp)

    @classmethod
    def load_or_create(cls, path: Path) -> "KeyRing":
        """The ring of the file; when there is none, makes one with a fresh key (file mode 600, folder mode 700).

        Several processes may start at once: they get the same key.
        """
        try:
            ensure_folder(path.parent)
            with exclusive(path):
                if not path.exists():
                    name = _new_id(1)
                    _write(path, {name: secrets.token_bytes(KEY_BYTES)}, name)
        except (PrivateFileError, OSError) as error:
            raise KeyRingError(f"the key ring {path} cannot be made: {error}") from None
        return cls.load(path)

    @classmethod
    def restore(cls, path: Path, name: str, encoded: str) -> "KeyRing":
        """A ring of one key (base64) that was kept elsewhere, in the place of a missing file; `KeyRingError` for a weak
        key, and where there is a file."""
        keys = _checked([(name, encoded)], "the import")
        try:
            ensure_folder(path.parent)
            with exclusive(path):
                if path.exists():
                    raise KeyRingError(f"{path} is there already")
                _write(path, keys, name)
        except (PrivateFileError, OSError) as error:
            raise KeyRingError(f"the key ring {path} cannot be made: {error}") from None
        return cls.load(path)

    @classmethod
    def from_environment(cls, value: str) -> "KeyRing":
        """The ring written as `id:base64,id:base64`, oldest first; the last one is current."""
        pairs = listed(value, VARIABLE, KeyRingError)
        keys = _checked(pairs, VARIABLE)
        return cls(keys, pairs[-1][0])

    @property
    def current_id(self) -> str:
        """The id of the key that new entries use."""
        self._refresh()
        return self._current

    @property
    def ids(self) -> tuple[str, ...]:
        """All key ids, oldest first."""
        return tuple(self._keys)

    def rotate(self) -> str:
        """Adds a fresh key, makes it current and returns its id; only for a ring that lives in a file."""
        name = ""

        def rotated(keys: dict[str, bytes], _: str) -> tuple[dict[str, bytes], str]:
            nonlocal name
            name = _new_id(len(keys) + 1)
            return {**keys, name: secrets.token_bytes(KEY_BYTES)}, name

        self._change(rotated)
        return name

    def add(self, name: str, encoded: str) -> None:
        """Adds a key (base64) that was made elsewhere, as the oldest: what it made can be checked from now on, and new
        entries go on using the current one. `KeyRingError` for an id or a key that is held, and for a weak one."""

        def added(keys: dict[str, bytes], current: str) -> tuple[dict[str, bytes], str]:
            listed = [(name, encoded), *((known, base64.b64encode(key).decode()) for known, key in keys.items())]
            return _checked(listed, "the import and the ring"), current

        self._change(added)

    def use(self, name: str) -> None:
        """Makes a key that is held the current one."""

        def chosen(keys: dict[str, bytes], _: str) -> tuple[dict[str, bytes], str]:
            if name not in keys:
                raise KeyRingError(f"the ring holds no key {name!r}")
            return keys, name

        self._change(chosen)

    def forget(self, name: str) -> None:
        """Removes a retired key from the file for ever; what it made is UNVERIFIABLE from then on. Processes that run
        hold it until they end."""

        def left(keys: dict[str, bytes], current: str) -> tuple[dict[str, bytes], str]:
            if name not in keys:
                raise KeyRingError(f"the ring holds no key {name!r}")
            if name == current:
                raise KeyRingError("the current key cannot be forgotten: rotate first")
            return {known: key for known, key in keys.items() if known != name}, current

        self._change(left)
        self._keys = {known: key for known, key in self._keys.items() if known != name}
        self._derived = {place: key for place, key in self._derived.items() if place[1] != name}

    def fingerprint(self, name: str) -> str:
        """16 hexadecimal digits that tell keys apart and say nothing of them."""
        return hashlib.sha256(FINGERPRINT_TAG + self._keys[name]).hexdigest()[:16]

    def export(self, name: str) -> str:
        """A key as `id:base64`, the form that `MUNIMENT_KEYS` takes: the secret itself."""
        if name not in self._keys:
            raise KeyRingError(f"the ring holds no key {name!r}")
        return f"{name}:{base64.b64encode(self._keys[name]).decode()}"

    def _change(self, change: Callable[[dict[str, bytes], str], tuple[dict[str, bytes], str]]) -> None:
        if self._path is None:
            raise KeyRingError(
                f"the keys come from {VARIABLE}: change them there (a new one goes to the end) and start again"
            )
        try:
            with exclusive(self._path):
                _write(self._path, *change(*_read(self._path)))
        except (PrivateFileError, OSError) as error:
            raise KeyRingError(f"the key ring {self._path} cannot be written: {error}") from None
        self._refresh()

    def organisation_key(self, organisation: UUID, key_id: str) -> bytes | None:
        """The organisation's 32-byte key of a key id, None when the ring does not hold it.

        HKDF-SHA-256 without salt, info = "muniment/evidence/v1" | organisation, 16 bytes | key id.
        """
        known = self._derived.get((organisation, key_id))
        if known is not None:
            return known
        master = self._keys.get(key_id)
        if master is None:
            self._refresh()
            master = self._keys.get(key_id)
        if master is None:
            return None
        info = PURPOSE + organisation.bytes + key_id.encode()
        key = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(master)
        self._derived[organisation, key_id] = key
        return key

    def __repr__(self) -> str:
        return f"KeyRing(ids={list(self._keys)}, current={self._current!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key ring is never copied or serialised")

    def _refresh(self) -> None:
        if self._path is None or (stamp := stamp_of(self._path)) in (None, self._stamp):
            return
        keys, current = _read(self._path)
        if any(known != keys.get(name, known) for name, known in self._keys.items()):
            raise KeyRingError(f"{self._path} gives another key to an id that was in use")
        self._keys, self._current, self._stamp = {**self._keys, **keys}, current, stamp


def _new_id(number: int) -> str:
    # The random part keeps the first keys of two deployments from sharing a name.
    return f"k{number}-{secrets.token_hex(4)}"


def _read(path: Path) -> tuple[dict[str, bytes], str]:
    """Keys by id, oldest first, and the current id."""
    try:
        check_folder(path.parent)
        content = read_private(path, _MAX_FILE_BYTES)
    except (PrivateFileError, OSError) as error:
        raise KeyRingError(f"the key ring cannot be read: {error}") from None
    if content is None:
        raise KeyRingError(f"the key ring {path} does not exist")
    fields = _parsed(content)
    if fields is None:
        raise KeyRingError(f"{path} is not a key ring")
    pairs, current = fields
    keys = _checked(pairs, str(path))
    if current not in keys:
        raise KeyRingError(f"{path} names a current key that it does not hold")
    return keys, current


# Answers None instead of raising: a decoding error carries the text that it could not decode.
def _parsed(content: bytes) -> tuple[list[tuple[str, str]], str] | None:
    try:
        fields = json.loads(content)
        pairs = [(key["id"], key["key"]) for key in fields["keys"]]
        if fields["format"] == _FORMAT and all(type(part) is str for pair in pairs for part in pair):
            return pairs, str(fields["current"])
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return None


def _write(path: Path, keys: dict[str, bytes], current: str) -> None:
    listed = [{"id": name, "key": base64.b64encode(key).decode()} for name, key in keys.items()]
    content = json.dumps({"format": _FORMAT, "current": current, "keys": listed}, indent=1)
    replace_private(path, content.encode() + b"\n")


def _checked(pairs: Iterable[tuple[str, str]], origin: str) -> dict[str, bytes]:
    """Keys by id; a bad one is named by its place, since what stands for an id may be a key put in the wrong spot."""
    keys: dict[str, bytes] = {}
    for place, (name, encoded) in enumerate(pairs, start=1):
        if not KEY_ID.fullmatch(name):
            raise KeyRingError(f"key {place} of {origin} has a bad id: 1 to 64 of A-Z a-z 0-9 . _ - are allowed")
        if name in keys:
            raise KeyRingError(f"key {place} of {origin} has the id of an earlier one")
        key = decoded(encoded)
        if key is None:
            raise KeyRingError(f"key {place} of {origin} is not base64")
        reason = weakness(key)
        if reason is not None:
            raise KeyRingError(f"key {place} of {origin} {reason}; make one with: openssl rand -base64 32")
        if key in keys.values():
            raise KeyRingError(f"key {place} of {origin} is the same as an earlier one")
        keys[name] = key
    if not keys:
        raise KeyRingError(f"{origin} holds no key")
    return keys
