"""The deployment's signing keys, Ed25519: kept in a private file or the environment, never in the database.

One key signs; the public halves of earlier ones stay, so that what they signed can be checked. A rotation destroys the
private half that it replaces.
"""

import base64
import json
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

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

KEY_BYTES = 32
VARIABLE = "MUNIMENT_SIGNING_KEYS"
PUBLIC = "public:"
_FORMAT = 1
_MAX_FILE_BYTES = 1 << 20


class SigningKeyError(ValueError):
    """The signing keys cannot be used; the sentence names the file or variable and never holds any of a key."""


@dataclass(frozen=True, slots=True)
class _Key:
    """`seed` None: only what it signed can still be checked."""

    public: bytes
    seed: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Signer:
    """One key: its id, its public half (32 bytes), and what makes its signature of a message: 64 bytes, always the same
    for the same message (RFC 8032)."""

    key_id: str
    public_key: bytes
    sign: Callable[[bytes], bytes] = field(repr=False)


class SigningKeys:
    """Keys by id, oldest first; the last one signs. Threads may share it.

    Where they come from a file, a key that another process put in is taken up when next something is signed.
    """

    __slots__ = ("_keys", "_path", "_signer", "_stamp")

    def __init__(self, keys: dict[str, _Key], path: Path | None = None, stamp: object = None) -> None:
        self._path = path
        self._stamp = stamp
        self._take(keys)

    @classmethod
    def load_or_create(cls, path: Path) -> "SigningKeys":
        """The keys of the file; when there is none, makes one with a fresh key (file mode 600, folder mode 700)."""
        try:
            ensure_folder(path.parent)
            with exclusive(path):
                if not path.exists():
                    _write(path, _fresh({}))
        except (PrivateFileError, OSError) as error:
            raise SigningKeyError(f"the signing keys {path} cannot be made: {error}") from None
        stamp = stamp_of(path)
        return cls(_read(path), path, stamp)

    @classmethod
    def from_environment(cls, text: str) -> "SigningKeys":
        """Keys written as `id:base64,…` (32 bytes each, the last one signs). An earlier one may be kept for checking
        alone, as `id:public:base64` of its public half."""
        pairs = listed(text, VARIABLE, SigningKeyError)
        return cls(_checked(pairs, VARIABLE))

    @property
    def signer(self) -> Signer:
        """The key that signs now. Take it once for what is signed together, since a rotation may come in between."""
        self._refresh()
        return self._signer

    @property
    def public_keys(self) -> dict[str, bytes]:
        """Every public half by key id, oldest first."""
        self._refresh()
        return {name: key.public for name, key in self._keys.items()}

    def jwks(self) -> dict[str, Any]:
        """The public halves as a JWK set (RFC 7517, RFC 8037), oldest first."""
        return {
            "keys": [
                {
                    "kty": "OKP",
                    "crv": "Ed25519",
                    "use": "sig",
                    "alg": "EdDSA",
                    "kid": name,
                    "x": base64.urlsafe_b64encode(public).rstrip(b"=").decode(),
                }
                for name, public in self.public_keys.items()
            ]
        }

    def rotate(self) -> str:
        """Makes a fresh key the one that signs, destroys the private half of the last, and returns the new id; only for
        keys that live in a file."""
        if self._path is None:
            raise SigningKeyError(f"the signing keys come from {VARIABLE}: add a new one at its end and start again")
        try:
            with exclusive(self._path):
                _write(self._path, _fresh(_read(self._path)))
        except (PrivateFileError, OSError) as error:
            raise SigningKeyError(f"the signing keys {self._path} cannot be written: {error}") from None
        return self.signer.key_id

    def __repr__(self) -> str:
        return f"SigningKeys(ids={list(self._keys)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("signing keys are never copied or serialised")

    def _take(self, keys: dict[str, _Key]) -> None:
        name = next(reversed(keys))
        seed = keys[name].seed
        if seed is None:
            raise SigningKeyError("the last signing key is a public one: nothing can be signed with it")
        self._keys = keys
        self._signer = Signer(name, keys[name].public, Ed25519PrivateKey.from_private_bytes(seed).sign)

    def _refresh(self) -> None:
        if self._path is None or (stamp := stamp_of(self._path)) in (None, self._stamp):
            return
        keys = _read(self._path)
        if any(name not in keys or keys[name].public != key.public for name, key in self._keys.items()):
            raise SigningKeyError(f"{self._path} no longer holds a key that was in use")
        self._take(keys)
        self._stamp = stamp


def genuine(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the Ed25519 signature is the key's over the message."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _fresh(keys: dict[str, _Key]) -> dict[str, _Key]:
    seed = secrets.token_bytes(KEY_BYTES)
    # The random part keeps the keys of two deployments from sharing a name.
    name = f"s{len(keys) + 1}-{secrets.token_hex(4)}"
    return {**{old: _Key(key.public, None) for old, key in keys.items()}, name: _Key(_public(seed), seed)}


def _public(seed: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def _read(path: Path) -> dict[str, _Key]:
    try:
        check_folder(path.parent)
        content = read_private(path, _MAX_FILE_BYTES)
    except (PrivateFileError, OSError) as error:
        raise SigningKeyError(f"the signing keys cannot be read: {error}") from None
    if content is None:
        raise SigningKeyError(f"the signing keys {path} do not exist")
    pairs = _parsed(content)
    if pairs is None:
        raise SigningKeyError(f"{path} holds no signing keys")
    return _checked(pairs, str(path))


# Answers None instead of raising: a decoding error carries the text that it could not decode.
def _parsed(content: bytes) -> list[tuple[str, str]] | None:
    try:
        fields = json.loads(content)
        pairs = [(key["id"], key["key"]) for key in fields["keys"]]
        if fields["format"] == _FORMAT and all(type(part) is str for pair in pairs for part in pair):
            return pairs
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return None


def _write(path: Path, keys: dict[str, _Key]) -> None:
    listed = [
        {"id": name, "key": f"{'' if key.seed else PUBLIC}{base64.b64encode(key.seed or key.public).decode()}"}
        for name, key in keys.items()
    ]
    replace_private(path, json.dumps({"format": _FORMAT, "keys": listed}, indent=1).encode() + b"\n")


def _checked(pairs: Iterable[tuple[str, str]], origin: str) -> dict[str, _Key]:
    """Keys by id; a bad one is named by its place, since what stands for an id may be a key put in the wrong spot."""
    keys: dict[str, _Key] = {}
    for place, (name, encoded) in enumerate(pairs, start=1):
        if not KEY_ID.fullmatch(name):
            raise SigningKeyError(f"key {place} of {origin} has a bad id: 1 to 64 of A-Z a-z 0-9 . _ - are allowed")
        if name in keys:
            raise SigningKeyError(f"key {place} of {origin} has the id of an earlier one")
        key = decoded(encoded.removeprefix(PUBLIC))
        if key is None or len(key) != KEY_BYTES:
            raise SigningKeyError(f"key {place} of {origin} is not base64 of {KEY_BYTES} bytes")
        if encoded.startswith(PUBLIC):
            made = _Key(key, None)
        elif (reason := weakness(key)) is not None:
            raise SigningKeyError(f"key {place} of {origin} {reason}; make one with: openssl rand -base64 32")
        else:
            made = _Key(_public(key), key)
        if any(made.public == other.public for other in keys.values()):
            raise SigningKeyError(f"key {place} of {origin} is the same as an earlier one")
        keys[name] = made
    if not keys:
        raise SigningKeyError(f"{origin} holds no key")
    return keys
